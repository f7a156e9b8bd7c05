"""Signing in, a password of one's own, and that nothing is shown to a stranger."""

import pytest
from django.test import Client
from django.urls import reverse

from batchboard.models import User
from tests.face.conftest import PASSWORD, MakeBatch

pytestmark = pytest.mark.django_db


def test_the_right_password_leads_to_the_board(client: Client, person: User) -> None:
    answer = client.post(reverse("sign-in"), {"username": "mara", "password": PASSWORD})
    assert answer.status_code == 302
    assert answer["Location"] == reverse("board")


def test_signing_in_leads_back_to_the_page_that_was_asked_for(client: Client, person: User) -> None:
    sign_in = client.get("/batches/b_x/")["Location"]
    answer = client.post(
        sign_in, {"username": "mara", "password": PASSWORD, "next": "/batches/b_x/"}
    )
    assert answer["Location"] == "/batches/b_x/"


def test_a_wrong_password_says_what_to_do(client: Client, person: User) -> None:
    answer = client.post(reverse("sign-in"), {"username": "mara", "password": "no"})
    assert "Check both" in answer.content.decode()
    assert 'role="alert"' in answer.content.decode()


def test_password_managers_know_the_fields(client: Client, person: User) -> None:
    text = client.get(reverse("sign-in")).content.decode()
    assert 'autocomplete="username"' in text
    assert 'autocomplete="current-password"' in text


def test_signing_out_takes_a_post(page: Client) -> None:
    assert page.get(reverse("sign-out")).status_code == 405
    assert page.post(reverse("sign-out"))["Location"] == reverse("sign-in")
    assert page.get(reverse("board")).status_code == 302


class TestOneTimePassword:
    @pytest.fixture
    def newcomer(self, client: Client, db: None) -> Client:
        user = User.objects.create_user("new", password="once-only", must_change_password=True)
        client.force_login(user)
        return client

    def test_every_page_leads_to_setting_a_password(self, newcomer: Client) -> None:
        for address in ("/", "/board/columns", "/batches/b_x/"):
            assert newcomer.get(address)["Location"] == reverse("password")

    def test_a_fragment_takes_the_whole_page_there(self, newcomer: Client) -> None:
        answer = newcomer.get("/board/columns", headers={"HX-Request": "true"})
        assert answer["HX-Redirect"] == reverse("password")

    def test_the_old_one_is_not_asked_for_and_the_flag_is_cleared(self, newcomer: Client) -> None:
        text = newcomer.get(reverse("password")).content.decode()
        assert "old_password" not in text
        assert 'autocomplete="new-password"' in text
        new = "correct horse battery"
        answer = newcomer.post(reverse("password"), {"new_password1": new, "new_password2": new})
        assert answer["Location"] == reverse("board")
        user = User.objects.get(username="new")
        assert not user.must_change_password
        assert user.check_password(new)
        assert newcomer.get("/").status_code == 200

    def test_a_weak_password_is_refused_and_the_flag_stays(self, newcomer: Client) -> None:
        answer = newcomer.post(
            reverse("password"), {"new_password1": "password", "new_password2": "password"}
        )
        assert "too common" in answer.content.decode()
        assert 'aria-invalid="true"' in answer.content.decode()
        assert User.objects.get(username="new").must_change_password


def test_whoever_has_a_password_of_their_own_gives_it_to_change_it(page: Client) -> None:
    assert "old_password" in page.get(reverse("password")).content.decode()


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("get", "board"), ("get", "board-columns"), ("get", "board-limits"), ("get", "batch"),
        ("get", "batch-live"), ("post", "batch-run"), ("post", "batch-pause"),
        ("post", "batch-resumption"), ("post", "batch-cancellation"), ("post", "batch-second-try"),
        ("get", "live"), ("get", "password"), ("post", "sign-out"),
    ],
)  # fmt: skip
def test_a_stranger_is_sent_to_sign_in(
    client: Client, make_batch: MakeBatch, method: str, name: str
) -> None:
    batch = make_batch("draft", waiting=3)
    arguments = [batch.public_id] if name.startswith("batch") else []
    answer = getattr(client, method)(reverse(name, args=arguments))
    assert answer.status_code == 302
    assert answer["Location"].startswith(reverse("sign-in"))
    batch.refresh_from_db()
    assert batch.state == "draft"


def test_a_fragment_of_a_session_that_ended_takes_the_whole_page_to_sign_in(client: Client) -> None:
    answer = client.get(
        "/board/columns",
        headers={"HX-Request": "true", "HX-Current-URL": "http://testserver/?ended"},
    )
    assert answer["HX-Redirect"] == "/sign-in/?next=%2F%3Fended"


def test_health_is_public(client: Client) -> None:
    answer = client.get(reverse("healthz"))
    assert answer.status_code == 200
    assert answer.json() == {"ok": True}
