"""Pictures of every page, of a real installation whose batches really ran, against the simulator.

    python -m tests.screenshots FOLDER [--only TEXT …] [--whole] [--readme DOCS]

writes FOLDER/page-size-scheme.png, in two to four minutes. `--only` takes pages whose name contains
one of the texts, `--whole` takes pages in their full height. `--readme` writes just the README's
four pictures, small, into DOCS.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.acceptance.installation import Installation
from tests.screenshots.pages import SCHEMES, Shot, moving, still
from tests.screenshots.png import small
from tests.screenshots.story import Story
from tests.servers import until

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
LIMITS = {
    "DISPATCH_CONCURRENCY": "20", "DISPATCH_HEADROOM": "0.8", "DISPATCH_RPM": "1000",
    "DISPATCH_ITPM": "2000000", "DISPATCH_OTPM": "400000", "DISPATCH_BUDGET_USD": "25",
}  # fmt: skip
README = {
    "board": "light", "batch-running": "dark", "review": "light", "costs-experiment": "light",
}  # fmt: skip
NOT_QUIET = "[aria-busy=true], .htmx-request, .htmx-swapping, .htmx-settling"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.screenshots")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--readme", type=Path, metavar="DOCS")
    given = parser.parse_args()
    camera = Camera(given.folder, given.only, given.whole, given.readme)
    with tempfile.TemporaryDirectory(prefix="shots-") as folder:
        place = Path(folder)
        with Installation(place, **LIMITS) as bb, sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=CHROMIUM, args=["--no-sandbox", "--font-render-hinting=none"]
            )
            story = Story(bb, browser, place)
            story.prepare()
            story.run()
            camera.take(moving(story))
            camera.take(still(story))
            browser.close()


class Camera:
    def __init__(self, folder: Path, only: list[str], whole: bool, readme: Path | None) -> None:
        self._folder, self._only, self._whole, self._readme = folder, only, whole, readme
        self._folder.mkdir(parents=True, exist_ok=True)

    def take(self, shots: Iterable[Shot]) -> None:
        for shot in shots:
            for size in shot.sizes:
                for scheme in SCHEMES:
                    if self._wants(shot.name, size, scheme):
                        self._take(shot, size, scheme)

    def _wants(self, name: str, size: str, scheme: str) -> bool:
        if self._readme:
            return size == "wide" and README.get(name) == scheme
        return any(text in f"{name}-{size}-{scheme}" for text in self._only)

    def _take(self, shot: Shot, size: str, scheme: str) -> None:
        path = self._folder / f"{shot.name}-{size}-{scheme}.png"
        with shot.who.page(size, scheme) as page:
            page.goto(shot.path)
            if shot.first:
                shot.first(page)
            _settle(page)
            page.screenshot(path=path, full_page=self._whole)
            wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        if wide > 0:
            print(f"{path.name}: {wide} px wider than the screen", flush=True)
        if self._readme:
            self._readme.mkdir(parents=True, exist_ok=True)
            name = shot.name.removesuffix("-running")
            (self._readme / f"{name}-{scheme}.png").write_bytes(small(path.read_bytes()))


def _settle(page: Page) -> None:
    """Until nothing is fetched or swapped; the stream of live updates never ends by itself."""
    page.wait_for_load_state("load")
    page.evaluate("document.fonts.ready")
    until(lambda: not page.locator(NOT_QUIET).count(), 5, "the end of what is fetched")
    time.sleep(0.15)


if __name__ == "__main__":
    started = time.monotonic()
    main()
    print(f"{time.monotonic() - started:.0f} s")
