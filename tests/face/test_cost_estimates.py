"""How far estimates were off: for which batches, how certain, and what is left out."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from batchboard.models import Batch
from tests.face.conftest import MakeBatch

pytestmark = pytest.mark.django_db
JUNE = datetime(2026, 6, 1, 9, 0, tzinfo=UTC)


@pytest.fixture
def ended(make_batch: MakeBatch) -> Any:
    """A batch that ended, with what was estimated and what it cost."""

    def end(estimated: str, cost: str, **columns: Any) -> Batch:
        number = Batch.objects.count()
        at = JUNE + timedelta(days=number)
        given = {"estimate_expected": estimated, "cost": cost, "mode": "cached"}
        return make_batch(
            "released", succeeded=1, name=f"[Batch] Number {number}", started_at=at,
            finished_at=at + timedelta(minutes=5), **(given | columns),
        )  # fmt: skip

    return end


def text_of(page: Client) -> str:
    return page.get(reverse("costs_estimates")).content.decode()


def test_estimates_that_are_too_high_are_said_to_be(page: Client, ended: Any) -> None:
    for cost in ("0.78", "0.80", "0.82"):
        ended("1", cost)
    text = text_of(page)
    assert "Batches cost 20\u202f% less than estimated (" in text
    assert "over all 3 batches" in text
    assert ">Too high</span>" in text
    assert "3 cost as much as estimated or less, 0 more." in text


def test_a_doubled_and_a_halved_cost_are_no_error_together(page: Client, ended: Any) -> None:
    ended("1", "2")
    ended("1", "0.5")
    text = text_of(page)
    assert "No error found in estimates" in text
    assert ">1.00</td>" in text


def test_groups_are_by_task_type_and_mode(page: Client, ended: Any) -> None:
    ended("1", "1.1")
    ended("1", "1.2")
    ended("1", "0.9", mode="single")
    text = text_of(page)
    assert text.index("<td>cached</td>") < text.index("<td>single</td>"), "the most first"
    assert ">Too few to tell</span>" in text


def test_an_unknown_cost_counts_at_its_bound(page: Client, ended: Any) -> None:
    ended("1", "0.5", unknown_cost="0.5")
    assert "1.00</td>" in text_of(page)


@pytest.mark.parametrize(
    "columns",
    [
        {"finished_at": None},
        {"trial": True},
        {"estimate_expected": None},
        {"estimate_expected": "0"},
        {"cost": "0"},
        {"state": "cancelled"},
        {"cancelled": 1, "total": 2},
    ],
)
def test_what_did_not_do_all_that_was_estimated_tells_nothing(
    page: Client, ended: Any, columns: dict[str, Any]
) -> None:
    batch = ended("1", "1")
    Batch.objects.filter(pk=batch.pk).update(**columns)
    assert "No estimate to hold against what it cost" in text_of(page)


def test_one_batch_has_no_interval_and_no_plot(page: Client, ended: Any) -> None:
    ended("1", "0.9")
    text = text_of(page)
    assert "One batch so far: it cost 10\u202f% less than estimated." in text
    assert 'role="img"' not in text


def test_it_asks_the_same_however_many_there_are(
    page: Client, ended: Any, django_assert_num_queries: Any
) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    ended("1", "0.9")
    with CaptureQueriesContext(connection) as queries:
        text_of(page)
    for _ in range(30):
        ended("1", "0.9")
    with django_assert_num_queries(len(queries)):
        text = text_of(page)
    assert text.count('class="ratio-name"') == 21, "one group, and the latest twenty"


def test_names_are_text(page: Client, ended: Any) -> None:
    batch = ended("1", "0.9")
    Batch.objects.filter(pk=batch.pk).update(name="<b>x\u202e")
    text = text_of(page)
    assert "&lt;b&gt;x⟨U+202E⟩" in text
    assert "<b>x" not in text
