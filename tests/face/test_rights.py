"""No address that acts can be used without the right to it, whoever forges the request."""

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from batchboard.models import Batch, User
from tests.face.conftest import MakeBatch

pytestmark = pytest.mark.django_db

ONE_S_OWN = {"sign-in", "sign-out", "password", "account"}
"""What everybody does for themselves."""

METHODS = ("post", "put", "patch", "delete")


def addresses() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every named address and the parameters that it takes."""

    def walk(resolver: URLResolver) -> Iterator[URLPattern]:
        for entry in resolver.url_patterns:
            if isinstance(entry, URLResolver):
                yield from walk(entry)
            else:
                yield entry

    for pattern in walk(get_resolver()):
        yield str(pattern.name), tuple(pattern.pattern.converters)


def given(batch: Batch, person: User) -> dict[str, object]:
    """A value for each parameter of an address; a new one has to be added here."""
    return {
        "public_id": batch.public_id,
        "key": "item-000",
        "pk": person.pk,
        "slug": "ticket-triage",
        "id": batch.version.task_type_id,
        "format_": "csv",
        "number": 1,
        "position": 0,
    }


@pytest.mark.parametrize(("name", "parameters"), sorted(set(addresses())))
def test_a_viewer_acts_nowhere(
    client: Client,
    viewer: User,
    person: User,
    make_batch: MakeBatch,
    name: str,
    parameters: tuple[str, ...],
) -> None:
    if name in ONE_S_OWN:
        return
    batch = make_batch("running", waiting=2, dead=1)
    values = given(batch, person)
    address = reverse(name, kwargs={one: values[one] for one in parameters})
    client.force_login(viewer)
    for method in METHODS:
        answer = getattr(client, method)(address)
        assert answer.status_code in {403, 405}, f"{method} {address}: {answer.status_code}"
    before = Batch.objects.filter(pk=batch.pk).values().get()
    assert before["state"] == "running"
    assert not batch.events.exclude(verb="batch.arrive").exists()


def test_a_refusal_is_a_page_that_says_who_may(
    client: Client, viewer: User, make_batch: MakeBatch
) -> None:
    batch = make_batch("draft", waiting=3)
    client.force_login(viewer)
    answer = client.post(reverse("batch-run", args=[batch.public_id]))
    assert answer.status_code == 403
    text = answer.content.decode()
    assert "Only an operator or an administrator may start" in text
    assert "viewer" in text


def test_a_fragment_is_refused_in_one_plain_sentence(
    client: Client, viewer: User, make_batch: MakeBatch
) -> None:
    batch = make_batch("draft", waiting=3, name="<b>Pile")
    client.force_login(viewer)
    answer = client.post(
        reverse("batch-run", args=[batch.public_id]), headers={"HX-Request": "true"}
    )
    assert answer.status_code == 403
    assert answer["Content-Type"].startswith("text/plain")
    assert answer.content.decode().startswith("Only an operator or an administrator may start")


@pytest.mark.parametrize("name", ["people"])
def test_the_people_page_is_for_administrators(client: Client, person: User, name: str) -> None:
    client.force_login(person)
    answer = client.get(reverse(name))
    assert answer.status_code == 403
    assert "Only an administrator may see" in answer.content.decode()


@pytest.mark.parametrize("format_", ["csv", "jsonl", "xlsx"])
def test_a_viewer_gets_no_file(
    client: Client, viewer: User, make_batch: MakeBatch, format_: str
) -> None:
    batch = make_batch("released", succeeded=2)
    client.force_login(viewer)
    answer = client.get(reverse("batch-export", args=[batch.public_id, format_]))
    assert answer.status_code == 403
    assert "a reviewer or an administrator may export" in answer.content.decode()
    assert not batch.events.filter(verb="results.exported").exists()


def test_a_viewer_s_page_offers_neither_files_nor_a_comment(
    client: Client, viewer: User, make_batch: MakeBatch
) -> None:
    batch = make_batch("released", succeeded=2)
    client.force_login(viewer)
    text = client.get(reverse("batch", args=[batch.public_id])).content.decode()
    assert "export.csv" not in text
    assert "comment-form" not in text
    assert "Only an operator, a reviewer or an administrator may export them" in text


@pytest.mark.parametrize(
    "name", ["board", "costs", "limits", "account", "task-types", "recurrings"]
)
def test_no_browser_keeps_a_page_for_whoever_comes_next(page: Client, name: str) -> None:
    answer = page.get(reverse(name))
    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]
    assert "private" in answer["Cache-Control"]


MORE_DIGITS_THAN_A_NUMBER_MAY_HAVE = "9" * 5_000


@pytest.mark.parametrize(
    "digits", [MORE_DIGITS_THAN_A_NUMBER_MAY_HAVE, "9" * 19, "٣", "²", "-1", ""]
)
def test_digits_that_are_the_number_of_no_row_are_none(
    client: Client, admin: User, make_batch: MakeBatch, digits: str
) -> None:
    batch = make_batch("review", succeeded=3)
    task_type = reverse("task-type-edit", args=[batch.version.task_type_id])
    client.force_login(admin)
    assert client.get(task_type, {"version": digits}).status_code == 200
    assert client.get(reverse("new-batch", args=["p_new"]), {"task_type": digits}).status_code < 500
    for name, arguments, data in (
        ("task-type-trials", [batch.version.task_type_id], {"version": digits}),
        ("task-type-file", [], {"of": digits}),
        ("new-form", ["p_new"], {"task_type": digits}),
        ("experiment-form", ["p_new"], {"task_type": digits}),
        ("batch-second-try", [batch.public_id], {"item": digits}),
        ("review-rejection", [batch.public_id], {"version": digits, "rerun": "bad"}),
    ):
        assert client.post(reverse(name, args=arguments), data).status_code < 500, name
