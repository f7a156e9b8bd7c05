"""The plots of a batch: drawn from attempts, in few queries however many there are."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from batchboard.models import Attempt, Batch, Event
from batchboard.plot_data import Counted, Course, lanes, latencies, wave_starts, width_for
from tests.face.conftest import MakeBatch

KINDS = ["throughput", "cost", "latency", "attempts"]


@pytest.fixture(autouse=True)
def _empty_cache() -> None:
    cache.clear()


def plotted(page: Client, batch: Batch, kind: str) -> str:
    return page.get(f"/batches/{batch.public_id}/plot?plot={kind}").content.decode()


@pytest.fixture
def batch(make_batch: MakeBatch) -> Batch:
    """Three attempts: 0–10 s, 0–20 s, and one in flight since 5 s."""
    began = timezone.now() - timedelta(seconds=60)
    batch = make_batch("running", succeeded=1, dead=1, running=1, waiting=1, started_at=began,
                       estimate_expected=1, cost="0.5")  # fmt: skip
    for attempt, start, end in zip(
        Attempt.objects.filter(batch=batch).order_by("id"), (0, 0, 5), (10, 20, None), strict=True
    ):
        Attempt.objects.filter(pk=attempt.pk).update(
            started_at=began + timedelta(seconds=start),
            ended_at=None if end is None else began + timedelta(seconds=end),
            latency_ms=None if end is None else (end - start) * 1000,
            cost=None if end is None else "0.25",
        )
    return batch


@pytest.mark.django_db
class TestPlots:
    @pytest.mark.parametrize("kind", KINDS)
    def test_each_is_drawn_in_few_queries(
        self, page: Client, batch: Batch, kind: str, django_assert_max_num_queries: Any
    ) -> None:
        with django_assert_max_num_queries(14):
            text = plotted(page, batch, kind)
        assert "<svg" in text
        assert "Show numbers" in text

    def test_throughput_says_how_many_were_in_flight(self, page: Client, batch: Batch) -> None:
        text = plotted(page, batch, "throughput")
        assert "3 at the most, 1 at the end, 1 results." in text

    def test_cost_is_held_against_the_estimate(self, page: Client, batch: Batch) -> None:
        text = plotted(page, batch, "cost")
        assert "$0.50, 50\u202f% of the estimate of $1.00" in text

    def test_latency_says_what_half_of_the_calls_took(self, page: Client, batch: Batch) -> None:
        assert "How long 2 calls took: half of them up to 10.1 s" in plotted(page, batch, "latency")

    def test_what_was_counted_once_is_not_counted_again(self, page: Client, batch: Batch) -> None:
        for _ in range(3):
            text = plotted(page, batch, "throughput")
        assert "3 at the most, 1 at the end" in text

    def test_a_cut_of_the_cap_and_its_pause_are_drawn(self, page: Client, batch: Batch) -> None:
        Event.objects.record(
            "limits.cut", before=20, after=16, model=batch.version.model, seconds=8
        )
        text = plotted(page, batch, "throughput")
        assert "429: all wait 8 s" in text
        page_text = page.get(f"/batches/{batch.public_id}/").content.decode()
        assert "429 with retry-after 8 s" in page_text

    def test_second_tries_stand_out(self, page: Client, batch: Batch, worker: Any) -> None:
        item = batch.items.get(position=1)
        now = timezone.now()
        Attempt.objects.create(
            item=item, batch=batch, worker=worker, model="m", mode="cached", call=77, max_tokens=1,
            reserved=0, granted_at=now, started_at=now, ended_at=now, outcome="ok",
        )  # fmt: skip
        text = plotted(page, batch, "attempts")
        assert text.count("plot-try") == 4
        assert text.count("is-again") == 2  # the bar, and the key that explains it

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_batch_without_a_call_has_nothing_to_draw(
        self, page: Client, make_batch: MakeBatch, kind: str
    ) -> None:
        assert "Nothing to draw yet" in plotted(page, make_batch("draft", waiting=2), kind)


class TestArithmetic:
    def test_spans_stay_few(self) -> None:
        for seconds in (1, 60, 3_600, 7 * 86_400):
            assert seconds / width_for(seconds) <= 300

    def test_in_flight_is_what_began_less_what_ended(self) -> None:
        course = Course(width=1)
        course.add([Counted(0, 2, 5, 5, 10), Counted(1, 3, 2, 0, 4)])
        assert course.in_flight(5) == [(0, 0), (1, 5), (2, 7), (3, 2), (4, 0), (5, 0)]
        assert course.spent(4, 2)[-1] == (4, 7)
        assert course.results(5) == [(2, 3, 5)]

    def test_widening_loses_nothing(self) -> None:
        course = Course(width=0.125)
        course.add([Counted(n, n + 8, 1, 1, 1) for n in range(100)])
        course.widen(300)
        assert course.width == 1
        assert sum(course.good.values()) == 100
        assert max(level or 0 for _, level in course.in_flight(300)) in range(8, 17)

    def test_lanes_are_slots(self) -> None:
        assert lanes([(0, 10), (0, 5), (5, 8), (6, 7), (10, 11)]) == [0, 1, 1, 2, 0]

    def test_a_wave_begins_where_nothing_is_in_flight(self) -> None:
        assert wave_starts([(0, 5), (0, 6), (6, 9), (7, 8), (9, 10)]) == [0, 6, 9]

    def test_latencies_have_a_middle_and_a_slow_end(self) -> None:
        found = latencies({9: 50, 19: 45, 99: 5})
        assert found is not None
        assert (found.median, found.slow) == (pytest.approx(0.95), pytest.approx(1.95))
        assert latencies({}) is None
