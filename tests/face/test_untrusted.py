"""Text that others wrote is shown and never obeyed, and the pages' policy holds."""

import re

import pytest
from django.test import Client

from batchboard.templatetags.untrusted import visible
from tests.face.conftest import MakeBatch

HOSTILE = '<script>alert(1)</script>"onload=x'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain key-1", "plain key-1"),
        ("Grüße 東京 שלום", "Grüße 東京 שלום"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("a\u2066b\u2069", "a⟨U+2066⟩b⟨U+2069⟩"),
        ("a\u200fb", "a⟨U+200F⟩b"),
        ("a\u200bb", "a⟨U+200B⟩b"),
        ("a\x00b\x1b[31m", "a⟨U+0000⟩b⟨U+001B⟩[31m"),
        ("a\nb\tc", "a⟨U+000A⟩b⟨U+0009⟩c"),
        ("a\u2028b", "a⟨U+2028⟩b"),
        ("a\ud800b", "a⟨U+D800⟩b"),
        ("a\u3000b", "a\u3000b"),
        (7, "7"),
    ],
)
def test_hidden_characters_are_spelled_out(text: object, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.django_db
class TestPages:
    def test_hostile_text_is_escaped_everywhere(self, page: Client, make_batch: MakeBatch) -> None:
        batch = make_batch(
            "running", dead=1, keys=[HOSTILE, "right\u202eleft"], name=HOSTILE,
            blocked="budget", blocked_detail=HOSTILE,
        )  # fmt: skip
        batch.items.filter(position=0).update(problem=HOSTILE)
        for address in (
            "/",
            f"/batches/{batch.public_id}/",
            f"/batches/{batch.public_id}/?find={HOSTILE}",
        ):
            text = page.get(address).content.decode()
            assert "<script>alert" not in text
            assert "&lt;script&gt;alert(1)&lt;/script&gt;&quot;onload=x" in text
        text = page.get(f"/batches/{batch.public_id}/").content.decode()
        assert "right⟨U+202E⟩left" in text
        assert "\u202e" not in text

    def test_no_page_holds_inline_style_or_script(
        self, page: Client, make_batch: MakeBatch, client: Client
    ) -> None:
        batch = make_batch("running", dead=1, succeeded=2, running=3, waiting=70)
        for address in ("/", "/?ended", f"/batches/{batch.public_id}/", "/password/", "/sign-in/"):
            text = page.get(address, follow=True).content.decode()
            assert not re.search(r"\sstyle=|<style|\son\w+=|hx-on|javascript:", text)
            for script in re.findall(r"<script([^>]*)>(.*?)</script>", text, re.DOTALL):
                assert "src=" in script[0]
                assert not script[1].strip()

    def test_the_policy_allows_this_site_alone(self, page: Client) -> None:
        policy = page.get("/")["Content-Security-Policy"]
        assert "script-src 'self'" in policy
        assert "style-src 'self'" in policy
        assert "unsafe" not in policy

    def test_everything_that_a_page_loads_is_ours(self, page: Client) -> None:
        text = page.get("/").content.decode()
        loaded = re.findall(r'<(?:script|link)[^>]*(?:src|href)="([^"]+)"', text)
        assert loaded
        assert all(address.startswith("/static/") for address in loaded)
