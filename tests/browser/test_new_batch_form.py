"""The form of a new batch while it is filled in: what is typed is kept, only a button starts."""

from collections.abc import Callable

from playwright.sync_api import Route, expect

from tests.acceptance.installation import Installation
from tests.browser.person import Person

ROWS = [{"name": "rows.csv", "mimeType": "text/csv", "buffer": b"name,text\na,one\nb,two\n"}]


def give_rows(someone: Person) -> None:
    someone.page.set_input_files("#file", ROWS)
    expect(someone.page.get_by_text("2 rows, 2 columns")).to_be_visible()


def test_a_start_that_was_refused_is_not_made_good_by_what_is_typed_later(
    place: Installation, sit: Callable[..., Person]
) -> None:
    someone = sit("Operator")
    page = someone.page
    before = len(place.batch("list"))
    page.goto("/new/")
    give_rows(someone)
    page.locator("#f-task_type").select_option("write")
    page.locator("#f-d-name").fill("Typed later")
    page.locator("#f-d-model").select_option("claude-haiku-5-5")
    page.locator("#f-d-prompt").fill("Item {{ name }}: {{ text }}")
    expect(page.locator("#foot-note")).to_have_text("Still needed: Most output tokens")

    page.keyboard.press("Control+Enter")
    expect(page.locator("#f-d-max_tokens")).to_be_focused()
    with page.expect_response(lambda answer: answer.request.method == "POST") as sent:
        page.keyboard.type("200")

    assert sent.value.url.endswith("/form")
    expect(page.locator("#start")).not_to_have_attribute("aria-disabled", "true")
    expect(page.locator("main")).to_have_count(1)
    assert len(place.batch("list")) == before
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="Typed later")).to_be_visible()


def test_a_field_stays_itself_when_what_stood_before_it_goes(sit: Callable[..., Person]) -> None:
    page = sit("Operator").page
    page.goto("/account/")
    kept = page.evaluate("""() => {
        const part = (html) => {
            const part = document.createElement("div");
            part.innerHTML = html;
            return part;
        };
        const field = "<label>Name <input name=name></label>";
        const shown = part(`<p id="gone">Mend this.</p> ${field}`);
        const before = shown.querySelector("input");
        before.value = "typed";
        htmx.steady(shown, part(field));
        const after = shown.querySelector("input");
        return [after === before, after.value, shown.children.length];
    }""")
    assert kept == [True, "typed", 1]


def test_a_choice_made_while_the_file_is_sent_stays(sit: Callable[..., Person]) -> None:
    someone = sit("Operator")
    page = someone.page
    page.goto("/new/")
    give_rows(someone)
    page.goto("/new/")
    expect(page.get_by_text("Unfinished:")).to_be_visible()
    answered: list[tuple[Route, object]] = []
    page.route("**/items", lambda route: answered.append((route, route.fetch())))
    page.set_input_files("#file", ROWS)
    while not answered:
        page.wait_for_timeout(20)

    page.locator("#f-task_type").select_option("write")
    route, answer = answered[0]
    route.fulfill(response=answer)

    expect(page.locator("#f-d-prompt")).to_be_visible()
    expect(page.locator("#f-task_type")).to_have_value("write")
