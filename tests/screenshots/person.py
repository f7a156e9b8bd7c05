"""Somebody who uses an installation through its pages: forms are fetched, filled and sent."""

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urljoin

from playwright.sync_api import APIResponse, Browser, BrowserContext, Page

from tests.servers import until

PASSWORD = "a long enough pass phrase"
SIZES = {"wide": (1440, 900), "phone": (390, 844), "huge": (2560, 1440)}


class Person:
    def __init__(self, browser: Browser, address: str, name: str = "", password: str = "") -> None:
        self._browser, self._address = browser, address
        self._context = browser.new_context(base_url=address)
        if name:
            self.send("/sign-in/", username=name, password=password)
            self.send("/password/", new_password1=PASSWORD, new_password2=PASSWORD)

    def get(self, path: str) -> APIResponse:
        return self._context.request.get(path)

    def send(self, path: str, /, files: Mapping[str, Path] | None = None, **fields: object) -> str:
        """Send a form to `path` as the page's own form would be; returns the address it led to."""
        if not self._token():
            self.get("/sign-in/")
        form = {"csrfmiddlewaretoken": self._token()} | {k: str(v) for k, v in fields.items()}
        headers = {"Origin": self._address}
        if files:
            whole = form | {
                name: {"name": file.name, "mimeType": "text/csv", "buffer": file.read_bytes()}
                for name, file in files.items()
            }
            answer = self._context.request.post(path, multipart=whole, headers=headers)
        else:
            answer = self._context.request.post(path, form=form, headers=headers)
        self.answer = answer.text()
        assert answer.ok, (path, answer.status, self.answer[-2000:])
        return answer.url.removeprefix(self._address)

    def add(self, username: str, first_name: str, *roles: str) -> "Person":
        """A new person, who signs in with the one-time password and sets one of their own."""
        chosen = {"roles": roles[0]} if roles else {}
        self.send("/people/", username=username, first_name=first_name, **chosen)
        found = re.search(r'class="secret">([^<]+)<', self.answer)
        assert found, self.answer
        return Person(self._browser, self._address, username, found[1])

    def write_task_type(self, file: Path, address: str = "/task-types/new/", **changed: str) -> str:
        """Store the file's task type with `changed` texts; at the address of one that exists, as
        its next version. Returns its address."""
        with self.page("wide") as page:
            page.goto(address)
            page.set_input_files("#toml", file)
            page.click("text=Fill the form")
            page.wait_for_selector(".banner.tone-wait")
            for name, text in changed.items():
                page.fill(f"#f-d-{name}", text)
            page.click(".panel-foot .is-main")
            page.wait_for_url(re.compile(r"/task-types/\d+/$"))
            return page.url.removeprefix(self._address)

    def prepare(self, items: Path, task_type: str, **fields: object) -> str:
        """Fill the form of a new batch and leave it there; returns its path."""
        path = self.get("/new/").url.removeprefix(self._address)
        self.send(f"{path}items", files={"file": items})
        version = self._version(path, task_type)
        until(lambda: "No bad rows" in self.get(path).text(), 20, "the file", every=0.1)
        self.send(f"{path}form", task_type=version, **fields)
        return path

    def create(self, items: Path, task_type: str, start: bool = True, **fields: object) -> str:
        """A batch; returns its id."""
        path = self.prepare(items, task_type, **fields)
        fields |= {"task_type": self._version(path, task_type)}
        self.send(f"{path}start", **fields, **({"start": ""} if start else {"draft": ""}))
        found = until(
            lambda: re.search(r"/batches/([^/]+)/$", self.get(path).url), 30, "it", every=0.1
        )
        return found[1]

    def experiment(
        self, items: Path, task_type: str, fields: Mapping[str, object], start: bool
    ) -> str:
        """An experiment over the rows of a file; returns its path."""
        path = self.get("/experiments/new/").url.removeprefix(self._address)
        self.send(f"{path}items", files={"file": items})
        chosen = {"task_type": self._version(path, task_type), **fields}
        until(lambda: "No bad rows" in self.get(path).text(), 20, "the file", every=0.1)
        self.send(f"{path}start", **chosen, **({"start": ""} if start else {"draft": ""}))
        made = until(
            lambda: re.search(r"/experiments/e_[^/]+/$", self.get(path).url), 30, "it", every=0.1
        )
        return made[0]

    def judge(self, batch: str, *verdicts: str) -> None:
        """Judge drawn results one by one; a verdict that is not "pass" is a fail's note."""
        review = f"/batches/{batch}/review/"
        path = review
        for verdict in verdicts:
            text = self.get(path).text()
            found = re.search(r'name="item" value="([^"]+)"', text)
            assert found, (path, text[-6000:])
            given = {"verdict": "pass"} if verdict == "pass" else {"verdict": "fail"}
            note = "" if verdict == "pass" else verdict
            path = self.send(f"{review}verdict", item=found[1], note=note, **given)

    def page(self, size: str, scheme: str = "light") -> "Sight":
        width, height = SIZES[size]
        context = self._browser.new_context(
            base_url=self._address,
            storage_state=self._context.storage_state(),
            viewport={"width": width, "height": height},
            color_scheme=scheme,  # type: ignore[arg-type]
            has_touch=size == "phone",
            is_mobile=size == "phone",
            reduced_motion="reduce",
        )
        return Sight(context)

    def _version(self, path: str, task_type: str) -> str:
        options = re.findall(r'<option value="(\d+)"[^>]*>([^<]*)<', self.get(path).text())
        found = [value for value, text in options if text.strip().startswith(task_type)]
        assert found, (task_type, options)
        return found[-1]

    def _token(self) -> str:
        cookies = self._context.cookies(urljoin(self._address, "/"))
        return next((c["value"] for c in cookies if c["name"] == "csrftoken"), "")


class Sight:
    """A page at one size, for as long as it is wanted."""

    def __init__(self, context: BrowserContext) -> None:
        self._context = context

    def __enter__(self) -> Page:
        return self._context.new_page()

    def __exit__(self, *_: object) -> None:
        self._context.close()
