"""The ledger's page: sums, filters in the address, attempts with what was applied to them."""

import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from batchboard.models import Batch, Limits, User
from batchboard.pricing import Usage
from dispatch import recorder
from dispatch.outcome import Outcome
from tests.factories import admit, finished, live_worker, queued, task_version

pytestmark = pytest.mark.django_db
PAGE = reverse("costs_ledger")


def run(
    person: User | None, model: str = "claude-haiku-5-5", items: int = 3, **fields: Any
) -> Batch:
    worker = live_worker(seconds=10**8)
    fields.setdefault("usage", Usage(1_000, 100))
    outcome = fields.pop("outcome", Outcome.OK)
    version = task_version(model)
    batch = queued(items, by=person, version=version, unpriced_ok=True, name=f"Pile of {model}")
    ended = [finished(call, outcome, **fields) for call in admit(worker).calls]
    recorder.settle(worker.pk, ended, admits=False)
    return batch


def text(client: Client, query: str = "") -> str:
    return re.sub(r"\s+", " ", client.get(PAGE + query).content.decode())


@pytest.fixture
def signed_in(client: Client, viewer: User, clock: Any, announced: Any) -> Client:
    """Somebody who may only look."""
    Limits.objects.current().change(concurrency=500)
    client.force_login(viewer)
    return client


def test_everybody_signed_in_may_see_it_and_nobody_else(signed_in: Client) -> None:
    assert signed_in.get(PAGE).status_code == 200
    assert Client().get(PAGE).status_code == 302
    assert Client().get(reverse("costs_ledger_csv")).status_code == 302


def test_an_empty_ledger_says_what_will_stand_there(signed_in: Client) -> None:
    assert "No attempt has ended yet" in text(signed_in)


def test_attempts_show_what_was_applied_to_them(signed_in: Client, person: User) -> None:
    batch = run(person)
    page = text(signed_in)
    assert "$0.10 in" in page
    assert "$0.50 out" in page
    assert "genai-prices" in page
    assert "$0.000150" in page
    assert reverse("item", args=[batch.public_id, "k0"]) in page
    assert "Sat, Nov 21, 2026" in page


def test_a_group_lists_its_own_attempts(signed_in: Client, person: User) -> None:
    run(person)
    run(None, "claude-sonnet-5")
    whole = text(signed_in, "?by=model")
    assert "Pile of claude-haiku-5-5" in whole
    assert "group=claude-haiku-5-5" in whole
    page = text(signed_in, "?by=model&group=claude-haiku-5-5")
    assert "Attempts: haiku-5.5" in page
    assert "Pile of claude-sonnet-5" not in page
    by_owner = text(signed_in, "?by=owner")
    assert "Mara Voss" in by_owner or str(person) in by_owner
    assert "Command line" in by_owner


def test_the_filter_stands_in_the_address(
    signed_in: Client, person: User, viewer: User, clock: Any
) -> None:
    run(person)
    clock.advance(timedelta(days=40).total_seconds())
    signed_in.force_login(viewer)
    run(None, "claude-sonnet-5")
    assert "Pile of claude-haiku-5-5" not in text(signed_in), "the last 30 days at first"
    assert "Pile of claude-haiku-5-5" in text(signed_in, "?since=")
    old = text(signed_in, "?since=2026-11-01&until=2026-11-30&mode=single")
    assert "Pile of claude-haiku-5-5" in old
    assert "Pile of claude-sonnet-5" not in old
    assert "fits the filter" in text(signed_in, "?mode=cached")


@pytest.mark.parametrize(
    "query",
    [
        "?since=x&until=99-1-1&type=y&owner=-1&by=z&after=abc",
        "?since=2026-12-01&until=2026-11-01",
        "?type=99999999999999999999", "?by=day&group=nothing", "?by=type&group=x",
        "?model=%00&group=%00", "?after=9223372036854775807", "?since=0001-01-01&until=9999-12-31",
    ],
)  # fmt: skip
def test_any_address_is_answered(signed_in: Client, person: User, query: str) -> None:
    run(person)
    assert signed_in.get(PAGE + query).status_code == 200
    file = signed_in.get(reverse("costs_ledger_csv") + query)
    assert b"".join(file.streaming_content).startswith(b"time,batch,")  # type: ignore[attr-defined]


def test_an_unknown_cost_shows_its_bound_and_unpriced_shows_that_it_is(
    signed_in: Client, person: User
) -> None:
    run(person, usage=None, outcome=Outcome.REFUSED, text=None)
    run(person, "own-model")
    page = text(signed_in)
    assert "at most $" in page
    assert "3 attempts, without a bound" in page
    assert "no price known" in page
    assert "$0.00</b>" not in page, "nothing that is unknown shows as 0"


def test_names_that_others_wrote_are_shown_and_never_obeyed(
    signed_in: Client, person: User
) -> None:
    run(person, "<script>x</script>\u202e")
    page = text(signed_in, "?by=model")
    assert "<script>x" not in page
    assert "⟨U+202E⟩" in page


def test_pages_of_attempts_follow_each_other(signed_in: Client, person: User) -> None:
    run(person, items=60)
    first = text(signed_in)
    (rest,) = re.findall(r'href="(\?[^"]*after=\d+)#attempts"', first)
    second = text(signed_in, rest.replace("&amp;", "&"))
    found = [set(re.findall(r"/items/(k\d+)", page)) for page in (first, second)]
    assert [len(keys) for keys in found] == [50, 10]
    assert not found[0] & found[1]


def test_the_number_of_queries_does_not_grow_with_the_ledger(
    signed_in: Client, person: User
) -> None:
    run(person, items=60)
    with CaptureQueriesContext(connection) as few:
        text(signed_in, "?by=owner")
    for _ in range(4):
        run(person, items=60)
    with CaptureQueriesContext(connection) as many:
        text(signed_in, "?by=owner")
    assert len(many) == len(few)


def test_the_file_holds_what_the_page_counts(signed_in: Client, person: User) -> None:
    run(person)
    run(None, "claude-sonnet-5")
    answer = signed_in.get(reverse("costs_ledger_csv") + "?by=model&group=claude-sonnet-5")
    lines = b"".join(answer.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
    assert len(lines) == 4
    assert all("claude-sonnet-5" in line for line in lines[1:])
    assert answer["Content-Disposition"] == 'attachment; filename="ledger.csv"'
    assert Decimal("0.003") == sum(Decimal(line.split(",")[-3]) for line in lines[1:]) / 3
