"""A button that leads to another page acts once, however often it is pressed."""

from pathlib import Path

from playwright.sync_api import Browser, Route

ONCE = (Path(__file__).parents[2] / "static/js/once.js").read_text()
PAGE = f"""<form method="post" action="/act"><button name="a">Again</button><button name="b">Other
</button></form><form method="get" action="/look"><button>Look</button></form>
<script>{ONCE}</script>"""


def test_a_double_click_sends_a_form_once(chromium: Browser) -> None:
    page = chromium.new_page()
    sent: list[str] = []

    def answer(route: Route) -> None:
        if route.request.url.endswith("/page"):
            route.fulfill(content_type="text/html", body=PAGE)
            return
        sent.append(f"{route.request.method} {route.request.post_data}")
        route.fulfill(status=204)

    page.route("**/*", answer)
    page.goto("http://localhost/page")
    page.get_by_role("button", name="Again").dblclick()
    page.get_by_role("button", name="Again").click()
    page.get_by_role("button", name="Other").click()
    page.get_by_role("button", name="Look").dblclick()
    page.wait_for_timeout(300)
    assert sent.count("POST a=") == 1
    assert sent.count("POST b=") == 1
    assert any(one.startswith("GET") for one in sent)
    page.close()
