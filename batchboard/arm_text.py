"""An arm of an experiment as people write it: `cached`, `packed:k=5`, `session:S=8,N=4`."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from batchboard.models import Mode
from batchboard.models.run_options import GROUP_SIZES, mode_words

MOST_ARMS = 8
LARGEST_GROUP = 1_000
LARGEST_N = 10_000
GROUP_LETTERS = {Mode.PACKED: "k", Mode.SESSION: "S"}
"""What the size of a group is called, in the modes that have groups."""


class ArmTextError(ValueError):
    """The text names no arm; str() is a whole sentence that says what would."""


@dataclass(frozen=True)
class ArmPlan:
    """How an arm runs its items; `concurrency` None is the whole cap, `group_size` None where
    each item goes by itself."""

    mode: str
    group_size: int | None = None
    concurrency: int | None = None

    def __post_init__(self) -> None:
        if self.group_size is None:
            object.__setattr__(self, "group_size", GROUP_SIZES.get(Mode(self.mode)))

    @property
    def label(self) -> str:
        letter = GROUP_LETTERS.get(Mode(self.mode))
        group = [f"{letter}={self.group_size}"] if letter else []
        at_once = [f"N={self.concurrency}"] if self.concurrency else []
        return " ".join([mode_words(self.mode), *group, *at_once])


def read_arm(text: str) -> ArmPlan:
    """Raises ArmTextError."""
    mode, colon, options = text.strip().partition(":")
    if mode not in Mode.values:
        near = get_close_matches(mode, Mode.values, n=1)
        hint = f"did you mean {near[0]}?" if near else f"the modes are {', '.join(Mode.values)}."
        raise ArmTextError(f"{mode[:60]!r} is not a mode: {hint}")
    given: dict[str, int] = {}
    for part in options.split(",") if colon else []:
        name, value = _option(mode, part)
        if name in given:
            raise ArmTextError(f"{name} is given twice in {text.strip()[:80]!r}.")
        given[name] = value
    at_once = given.pop("N", None)
    return ArmPlan(mode, next(iter(given.values()), None), at_once)


def labels_of(arms: Sequence[ArmPlan]) -> list[str]:
    """The labels, told apart where two arms are alike: to run one way twice shows how much chance
    alone does."""
    found: list[str] = []
    for arm in arms:
        same = sum(arm.label == earlier.label for earlier in arms[: len(found)])
        found.append(f"{arm.label} ({same + 1})" if same else arm.label)
    return found


def _option(mode: str, part: str) -> tuple[str, int]:
    name, equals, value = (piece.strip() for piece in part.partition("="))
    letter = GROUP_LETTERS.get(Mode(mode))
    names = {known.lower(): known for known in ("N", letter) if known}
    known = names.get(name.lower())
    if known is None or not equals:
        ways = " and ".join(f"{one}=…" for one in sorted(names.values()))
        raise ArmTextError(f"{part.strip()[:60]!r} is not an option of {mode}: it takes {ways}.")
    most = LARGEST_N if known == "N" else LARGEST_GROUP
    if not value.isascii() or not value.isdigit() or not 1 <= int(value[:10]) <= most:
        raise ArmTextError(
            f"{known} of {mode} is a whole number from 1 to {most:,}, not {value[:60]!r}."
        )
    return known, int(value)
