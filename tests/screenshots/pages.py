"""Which pages are taken, of what, as whom, and what is done there first."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from playwright.sync_api import Page

from tests.screenshots.person import Person
from tests.screenshots.story import BROKEN, Story

SCHEMES = ("light", "dark")


@dataclass(frozen=True)
class Shot:
    name: str
    path: str
    who: Person
    sizes: tuple[str, ...] = ("wide", "phone")
    first: Callable[[Page], None] | None = None


def moving(story: Story) -> Iterator[Shot]:
    """Pages of what is under way; taken first, while it is."""
    yield Shot("board", "/", story.operator, ("wide", "phone", "huge"))
    yield Shot("batch-running", story.shown["running"], story.operator)
    yield Shot("limits", "/limits/", story.admin)


def still(story: Story) -> Iterator[Shot]:
    shown, operator, reviewer = story.shown, story.operator, story.reviewer
    key = BROKEN.lower().replace(" ", "-")
    yield Shot("review", f"{shown['review']}review/", reviewer)
    yield Shot("review-decision", f"{shown['judged']}review/", reviewer, first=_ask("approval"))
    yield Shot("review-rejection", f"{shown['judged']}review/", reviewer, first=_ask("rejection"))
    yield Shot("review-released", f"{shown['released']}review/", reviewer)
    yield Shot("review-viewer", f"{shown['fresh']}review/", story.viewer)
    for name in ("draft", "queued", "paused", "blocked", "released", "rejected", "fresh"):
        yield Shot(f"batch-{name}", shown[name], operator)
    yield Shot("item-failed", shown["running"], operator, first=_open(key))
    yield Shot("item", f"{shown['released']}items/fernway", operator)
    yield Shot("batch-settings", shown["blocked"], operator, first=_settings)
    yield Shot("new-empty", "/new/", operator)
    yield Shot("new-filled", shown["new filled"], operator)
    yield Shot("experiments", "/experiments/", operator)
    yield Shot("experiment-draft", shown["experiment draft"], operator)
    yield Shot("experiment", shown["experiment"], operator)
    yield Shot(
        "costs-experiment", f"/costs/?experiment={shown['experiment'].split('/')[2]}", operator
    )
    yield Shot("experiment-new", "/experiments/new/?type=1&items=30", operator)
    yield Shot("task-types", "/task-types/", operator)
    yield Shot("task-type", shown["task type"], operator)
    yield Shot("task-type-diff", f"{shown['task type']}?from=2&to=3", operator)
    yield Shot("task-type-edit", f"{shown['task type']}edit", operator)
    yield Shot("costs", "/costs/", operator)
    yield Shot("costs-estimates", "/costs/estimates/", operator)
    yield Shot("recurrings", "/recurring/", operator)
    yield Shot("recurring", shown["recurring"], operator)
    yield Shot("recurring-viewer", shown["recurring"], story.viewer)
    yield Shot(
        "recurring-new", f"/recurring/new/?batch={shown['released'].split('/')[2]}", operator
    )
    yield Shot("batch-again", shown["released"], operator, first=_again)
    yield Shot("limits-refused", "/limits/", story.admin, first=_too_low)
    yield Shot("limits-prices", "/limits/", story.admin, first=_prices)
    yield Shot("ledger", "/costs/ledger/?by=type", operator)
    yield Shot("ledger-group", "/costs/ledger/?by=mode&group=cached", operator)
    yield Shot("people", "/people/", story.admin)
    yield Shot("account", "/account/", story.admin)
    yield Shot("password", "/password/", operator)
    yield Shot("sign-in", "/sign-in/", story.nobody)
    yield Shot("sign-in-wrong", "/sign-in/", story.nobody, first=_sign_in_wrong)
    yield Shot("403", "/new/", story.viewer)
    yield Shot("404", "/batches/none/", operator)


def _ask(what: str) -> Callable[[Page], None]:
    def ask(page: Page) -> None:
        page.locator(f'a[href$="/review/{what}"]').last.dispatch_event("click")
        page.wait_for_selector("#sheet[open] h2")

    return ask


def _open(key: str) -> Callable[[Page], None]:
    def open_(page: Page) -> None:
        page.locator(f'a[href*="/items/{key}"]').first.click()
        page.wait_for_selector("#drawer[open] h2")

    return open_


def _again(page: Page) -> None:
    page.locator("#batch-menu summary").click()
    page.locator('[data-opens="again"]').click()
    page.wait_for_selector("#again[open] h2")


def _settings(page: Page) -> None:
    page.locator('a[href$="/settings"]').first.click()
    page.wait_for_selector("#settings[open] h2")


def _too_low(page: Page) -> None:
    page.fill('#limits-form [name="budget"]', "0.01")
    page.click("#limits-form .button.is-main")
    page.wait_for_selector("#limits-form .is-wrong")


def _prices(page: Page) -> None:
    page.fill('#limits-prices [name="model"]', "our-own-model")
    page.click("#limits-prices .button.is-main")
    page.wait_for_selector("#limits-prices .errors")


def _sign_in_wrong(page: Page) -> None:
    page.fill('[name="username"]', "operator")
    page.fill('[name="password"]', "not this one")
    page.click(".entrance .button.is-main")
    page.wait_for_selector(".error, [role=alert]")
