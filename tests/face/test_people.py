"""People: who may sign in and what they may do, and throttled sign-in."""

import re
from typing import Any

import pytest
from django.core import signing
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from batchboard.known_device import COOKIE, SALT
from batchboard.models import Event, SignInTries, User
from batchboard.roles import Role
from batchboard.states import MoveRefused
from tests.face.conftest import PASSWORD

pytestmark = pytest.mark.django_db


@pytest.fixture
def boss(client: Client, admin: User) -> Client:
    client.force_login(admin)
    return client


def sign_in(client: Client, name: str = "mara", password: str = "no", **extra: Any) -> Any:
    return client.post(reverse("sign-in"), {"username": name, "password": password}, **extra)


def sign_in_and_out(client: Client, name: str = "mara") -> None:
    """Make the device known; only cookies stay."""
    assert sign_in(client, name, PASSWORD).status_code == 302
    client.post(reverse("sign-out"))


class TestThrottling:
    def test_after_five_failures_the_next_try_waits_even_with_the_right_password(
        self, client: Client, person: User, clock: Any
    ) -> None:
        for _ in range(5):
            assert sign_in(client).status_code == 200
        answer = sign_in(client, password=PASSWORD)
        assert answer.status_code == 429
        assert int(answer["Retry-After"]) <= 6
        assert "Wait 6 s, then try again." in answer.content.decode()
        clock.advance(6)
        assert sign_in(client, password=PASSWORD).status_code == 302

    def test_waits_grow_and_a_name_is_never_locked_for_longer_than_a_minute(
        self, client: Client, person: User, clock: Any
    ) -> None:
        waits = []
        for _ in range(12):
            answer = sign_in(client, REMOTE_ADDR=f"10.0.0.{len(waits)}")
            waits.append(int(answer.get("Retry-After", 0)))
            clock.advance(waits[-1])
        assert [wait for wait in waits if wait] == sorted(wait for wait in waits if wait)
        assert max(waits) <= 61

    def test_an_unknown_name_is_treated_as_a_known_one(
        self, client: Client, person: User, clock: Any
    ) -> None:
        def tries(name: str, address: str) -> list[tuple[int, str]]:
            answers = [sign_in(client, name, REMOTE_ADDR=address) for _ in range(7)]
            return [(a.status_code, re.sub(r"\d+ s", "", said(a))) for a in answers]

        assert tries("mara", "10.0.0.1") == tries("nobody", "10.0.0.2")

    def test_one_name_does_not_stop_another(self, client: Client, person: User, clock: Any) -> None:
        for _ in range(6):
            sign_in(client, "somebody")
        assert sign_in(client, password=PASSWORD).status_code == 302

    def test_an_address_that_tries_many_names_waits(self, client: Client, clock: Any) -> None:
        codes = [sign_in(client, f"name{n}").status_code for n in range(22)]
        assert codes == [200] * 20 + [429] * 2

    def test_success_forgets_the_failures_of_the_name(
        self, client: Client, person: User, clock: Any
    ) -> None:
        for _ in range(4):
            sign_in(client)
        assert sign_in(client, password=PASSWORD).status_code == 302
        assert not SignInTries.objects.filter(kind="name").exists()
        assert SignInTries.objects.get(kind="address").failures == 4

    def test_failures_are_forgotten_after_an_hour(
        self, client: Client, person: User, clock: Any
    ) -> None:
        for _ in range(5):
            sign_in(client)
        clock.advance(3_700)
        assert [sign_in(client).status_code for _ in range(4)] == [200] * 4

    def test_the_answer_says_how_many_seconds_are_left(
        self, client: Client, person: User, clock: Any
    ) -> None:
        for _ in range(5):
            sign_in(client)
        answer = sign_in(client)
        clock.advance(2)
        later = sign_in(client)
        assert re.findall(r"Wait (\d+) s, then", said(answer) + said(later)) == ["6", "4"]

    def test_a_known_device_does_not_wait_for_what_others_tried(
        self, client: Client, person: User, clock: Any
    ) -> None:
        """Neither for tries at the name from elsewhere, nor for those from its own address."""
        sign_in_and_out(client)
        attacker = Client()
        for number in range(40):
            sign_in(attacker, "mara" if number < 9 else f"name{number}")
        assert sign_in(attacker, password=PASSWORD).status_code == 429
        assert sign_in(client, password=PASSWORD).status_code == 302

    def test_a_known_device_has_a_count_of_its_own(
        self, client: Client, person: User, clock: Any
    ) -> None:
        sign_in_and_out(client)
        codes = [sign_in(client).status_code for _ in range(6)]
        assert codes == [200] * 5 + [429]
        assert "from this device. Wait 6 s" in said(sign_in(client))
        assert sign_in(Client(), password=PASSWORD, REMOTE_ADDR="10.0.0.9").status_code == 302

    def test_success_on_a_known_device_forgives_nobody_else(
        self, client: Client, person: User, clock: Any
    ) -> None:
        sign_in_and_out(client)
        for _ in range(6):
            sign_in(Client())
        sign_in(client, password=PASSWORD)
        assert SignInTries.objects.get(kind="name").failures == 5

    def test_a_device_is_known_for_the_names_that_signed_in_from_it_alone(
        self, client: Client, person: User, clock: Any
    ) -> None:
        User.objects.create_user("other", password=PASSWORD)
        sign_in_and_out(client, "other")
        for _ in range(6):
            sign_in(client)
        assert sign_in(client, password=PASSWORD).status_code == 429
        assert SignInTries.objects.get(kind="name").failures == 5

    @pytest.mark.parametrize("forged", ["x", "WyJpIiwgW11d:1:forged", ""])
    def test_a_forged_device_is_no_device(
        self, client: Client, person: User, clock: Any, forged: str
    ) -> None:
        client.cookies[COOKIE] = forged
        for _ in range(6):
            answer = sign_in(client)
        assert answer.status_code == 429
        assert not SignInTries.objects.filter(kind="device").exists()

    def test_the_device_s_cookie_names_nobody_and_no_script_reads_it(
        self, client: Client, person: User, clock: Any
    ) -> None:
        cookie = sign_in(client, password=PASSWORD).cookies[COOKIE]
        assert cookie["httponly"]
        assert cookie["samesite"] == "Lax"
        assert "mara" not in str(signing.loads(cookie.value, salt=SALT))

    def test_no_name_is_kept_as_text(self, client: Client, clock: Any) -> None:
        sign_in(client, "my secret password")
        assert "secret" not in str(list(SignInTries.objects.values()))


def said(answer: Any) -> str:
    found = re.search(r'role="alert".*?</div>', answer.content.decode(), re.DOTALL)
    return found.group() if found else ""


def test_the_session_gets_a_new_name_at_sign_in(client: Client, person: User) -> None:
    client.cookies["sessionid"] = "chosen-by-somebody-else"
    sign_in(client, password=PASSWORD)
    assert client.cookies["sessionid"].value != "chosen-by-somebody-else"


@pytest.mark.parametrize("target", ["https://elsewhere.example/", "//elsewhere.example", "/\\x.y"])
def test_signing_in_leads_nowhere_else(client: Client, person: User, target: str) -> None:
    answer = client.post(
        reverse("sign-in"), {"username": "mara", "password": PASSWORD, "next": target}
    )
    assert answer["Location"] == reverse("board")


def test_a_person_is_added_with_a_password_that_is_shown_once(boss: Client, admin: User) -> None:
    answer = boss.post(reverse("people"), {"username": "ben", "roles": ["operator", "reviewer"]})
    shown = re.search(r'class="secret">([^<]+)<', answer.content.decode())
    assert shown is not None
    ben = User.objects.get(username="ben")
    assert ben.check_password(shown.group(1))
    assert ben.must_change_password
    assert ben.roles == [Role.OPERATOR, Role.REVIEWER]
    assert "no-store" in answer["Cache-Control"]
    assert shown.group(1) not in boss.get(reverse("people")).content.decode()
    event = Event.objects.get(verb="person.added")
    assert (event.actor, event.detail) == (
        admin, {"person": "ben", "roles": ["operator", "reviewer"]},
    )  # fmt: skip


@pytest.mark.parametrize("name", ["", "boss", "BOSS", "two words"])
def test_a_name_that_cannot_be_is_refused_and_what_was_typed_stays(boss: Client, name: str) -> None:
    answer = boss.post(reverse("people"), {"username": name, "first_name": "Ben"})
    assert answer.status_code == 422
    assert 'value="Ben"' in answer.content.decode()
    assert User.objects.count() == 1


def test_roles_are_changed_and_told(boss: Client, person: User) -> None:
    boss.post(reverse("person-roles", args=[person.pk]), {"roles": ["admin"]})
    person = User.objects.get(pk=person.pk)
    assert person.roles == [Role.ADMIN]
    text = boss.get(reverse("person", args=[person.pk])).content.decode()
    assert "made mara administrator, before: operator and reviewer" in text


def test_whoever_is_switched_off_is_signed_out_at_once(boss: Client, person: User) -> None:
    theirs = Client()
    theirs.force_login(person)
    assert theirs.get("/").status_code == 200
    boss.post(reverse("person-access", args=[person.pk]), {"may": "no"})
    assert theirs.get("/").status_code == 302
    assert sign_in(Client(), password=PASSWORD).status_code == 200
    boss.post(reverse("person-access", args=[person.pk]), {"may": "yes"})
    assert sign_in(Client(), password=PASSWORD).status_code == 302


def test_a_new_one_time_password_ends_the_old_one_and_open_sessions(
    boss: Client, person: User
) -> None:
    theirs = Client()
    theirs.force_login(person)
    answer = boss.post(reverse("person-password", args=[person.pk]))
    assert 'class="secret"' in answer.content.decode()
    assert theirs.get("/").status_code == 302
    assert sign_in(Client(), password=PASSWORD).status_code == 200


@pytest.mark.parametrize(
    ("name", "data"), [("person-roles", {"roles": ["operator"]}), ("person-access", {"may": "no"})]
)
def test_the_last_administrator_stays(
    boss: Client, admin: User, name: str, data: dict[str, Any]
) -> None:
    answer = boss.post(reverse(name, args=[admin.pk]), data, follow=True)
    assert "is the only administrator" in answer.content.decode()
    admin = User.objects.get(pk=admin.pk)
    assert (admin.is_active, admin.roles) == (True, [Role.ADMIN])


def test_one_who_is_switched_off_does_not_count_as_another_administrator(admin: User) -> None:
    other = User.objects.create_superuser("root")
    other.switch_off()
    with pytest.raises(MoveRefused, match="only administrator"):
        admin.change_roles([Role.VIEWER])
    other.switch_on()
    assert admin.change_roles([Role.VIEWER])
    with pytest.raises(MoveRefused, match="only administrator"):
        other.change_roles([])


def test_the_page_asks_the_same_however_many_people_there_are(boss: Client) -> None:
    def asked() -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            boss.get(reverse("people"))
        return len(queries)

    before = asked()
    for n in range(20):
        User.objects.add_person(f"p{n}", [Role.OPERATOR])
    assert asked() == before


def test_single_keys_are_turned_off_for_oneself(page: Client, person: User) -> None:
    assert "data-keys" not in page.get("/").content.decode()
    page.post(reverse("account"), {})
    assert '<body class="frame is-still" data-now=' in page.get("/").content.decode()
    assert 'data-keys="off"' in page.get("/").content.decode()
    page.post(reverse("account"), {"single_keys": "on"})
    assert 'data-keys="off"' not in page.get("/").content.decode()
