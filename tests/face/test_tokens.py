"""The colours hold their contrast, in both schemes, on every ground that they stand on."""

import math
import re
from pathlib import Path

import pytest

CSS = Path(__file__).resolve().parents[2] / "static" / "css"
COLOUR = r"oklch\(([\d.]+)% ([\d.]+) ([\d.]+)\)"
FOUND = {
    name: (tuple(map(float, values[:3])), tuple(map(float, values[3:])))
    for name, *values in re.findall(
        rf"--([\w-]+): light-dark\({COLOUR}, {COLOUR}\);", (CSS / "tokens.css").read_text()
    )
}
GROUNDS = ("canvas", "surface", "raised", "sunken")
STATES = ("wait", "run", "ok", "dead", "hold", "person")
SCHEMES = ("light", "dark")


def luminance(colour: tuple[float, ...]) -> float:
    """Relative luminance of an OKLCH colour, by the matrices of the OKLab definition."""
    lightness, chroma, hue = colour[0] / 100, colour[1], math.radians(colour[2])
    a, b = chroma * math.cos(hue), chroma * math.sin(hue)
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    red = 4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short
    green = -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short
    blue = -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short
    red, green, blue = (min(1.0, max(0.0, part)) for part in (red, green, blue))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str, scheme: str) -> float:
    index = SCHEMES.index(scheme)
    bright, dim = sorted((luminance(FOUND[name][index]) for name in (one, other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("text", ["ink", "ink-2", "ink-3", *(f"{s}-text" for s in STATES[1:])])
def test_text_is_read_on_every_ground(text: str, ground: str, scheme: str) -> None:
    assert contrast(text, ground, scheme) >= 4.7


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("state", STATES)
def test_text_of_a_state_is_read_on_its_tint(state: str, scheme: str) -> None:
    text = "ink-2" if state == "wait" else f"{state}-text"
    assert contrast(text, f"{state}-tint", scheme) >= 4.7


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("ground", ["surface", "raised"])
@pytest.mark.parametrize("fill", [*STATES, "control"])
def test_fills_and_borders_are_seen(fill: str, ground: str, scheme: str) -> None:
    assert contrast(fill, ground, scheme) >= 3


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(("kind", "number"), [("token-read", "ink"), ("token-input", "on-ink")])
def test_tokens_by_kind_are_seen_and_their_numbers_read(
    kind: str, number: str, scheme: str
) -> None:
    assert contrast(kind, "surface", scheme) >= 3
    assert contrast(number, kind, scheme) >= 4.7


def test_no_colour_is_written_outside_the_tokens() -> None:
    for file in CSS.glob("*.css"):
        if file.name == "tokens.css":
            continue
        found = re.findall(
            r"#[0-9a-f]{3,8}\b(?! path)|rgba?\(|hsla?\(|oklch\([\d.]", file.read_text()
        )
        assert not found, (file.name, found)
