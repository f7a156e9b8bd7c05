"""The ledger: its sums are the attempts' own, and every attempt is found by them."""

import csv
import io
from collections import defaultdict
from datetime import UTC, date, timedelta
from decimal import Decimal
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from batchboard import ledger
from batchboard.ledger import By, Chosen, Total
from batchboard.ledger_export import ledger_csv
from batchboard.models import Attempt, Limits, StoredPrice, Worker
from batchboard.pricing import Usage
from dispatch import recorder, rescue
from dispatch.outcome import Outcome
from tests.factories import admit, finished, live_worker, person, queued, task_version

pytestmark = pytest.mark.django_db
tokens = st.integers(0, 5_000)
used = st.one_of(st.none(), st.builds(Usage, tokens, tokens, tokens, tokens, tokens))
outcomes = st.sampled_from([Outcome.OK, Outcome.REFUSED, Outcome.SERVER, Outcome.LOST])


def added_up(chosen_attempts, by):
    """What the roll-up should say, from the attempts themselves."""
    sums = defaultdict(Total)
    for one in chosen_attempts:
        batch = one.batch
        key = {
            By.DAY: one.ended_at.astimezone(UTC).date(),
            By.TYPE: batch.version.task_type_id,
            By.MODEL: one.model,
            By.MODE: one.mode,
            By.OWNER: batch.owner_id or ledger.NOBODY,
        }[by]
        unpriced = one.cost is None and one.price_id is None
        unknown = one.cost is None and not unpriced
        sums[str(key)].add(
            Total(
                1, int(unknown), int(unpriced), one.input_tokens or 0, one.output_tokens or 0,
                one.cache_write_5m_tokens or 0, one.cache_write_1h_tokens or 0,
                one.cache_read_tokens or 0, one.cost or Decimal(0),
                one.reserved if unknown else Decimal(0),
            )
        )  # fmt: skip
    return dict(sums)


def check_equal():
    attempts = list(Attempt.objects.ended().select_related("batch__version"))
    for by in By:
        found = ledger.sums(Chosen(), by)
        assert {group.key: group.total for group in found.groups} == added_up(attempts, by), by
        assert found.total.attempts == len(attempts)
    newest = [one.pk for one in ledger.newest(Chosen(), 1_000)]
    assert sorted(newest) == sorted(one.pk for one in attempts)


def run(worker, batch, usage=None, outcome=Outcome.OK):
    """Every call that may be made now ends so."""
    calls = admit(worker).calls
    ended = [finished(call, outcome, usage=usage) for call in calls if call.batch == batch.pk]
    recorder.settle(worker.pk, ended, admits=False)
    return len(ended)


@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_the_sums_are_those_of_the_attempts_however_they_ended(clock, announced, data):
    worker = live_worker(seconds=10**8)
    people = [None, person("Ada"), person("Grace")]
    versions = [task_version(), task_version("claude-sonnet-5"), task_version("own-model")]
    for number in range(data.draw(st.integers(1, 4))):
        version = data.draw(st.sampled_from(versions))
        batch = queued(
            data.draw(st.integers(1, 4)), by=data.draw(st.sampled_from(people)), version=version,
            name=f"Pile {number}", unpriced_ok=True,
            mode=data.draw(st.sampled_from(["single", "cached"])),
        )  # fmt: skip
        for _ in range(3):
            run(worker, batch, data.draw(used), data.draw(outcomes))
            clock.advance(data.draw(st.integers(0, 30 * 3_600)))
    admit(worker)
    Worker.objects.filter(pk=worker.pk).update(lease_until=clock.now)
    rescue.sweep(Limits.objects.current(), clock.now)
    check_equal()


@pytest.fixture
def piles(clock, announced):
    """Two owners, two models, two modes, three days: of each batch what its name says."""
    worker = live_worker(seconds=10**8)
    ada, grace = person("Ada"), person("Grace")
    made = {}
    for name, by, model, mode, days in (
        ("first", ada, "claude-haiku-5-5", "single", 0),
        ("second", grace, "claude-sonnet-5", "single", 1),
        ("third", None, "claude-haiku-5-5", "cached", 1),
    ):
        clock.now = clock.now.replace(hour=12) + timedelta(days=days)
        version = task_version(model, system="s" * 8_000, shared_tokens=2_000)
        made[name] = queued(4, by=by, name=name, version=version, mode=mode)
        while run(worker, made[name], Usage(100, 10, 0, 0, 900)):
            pass
    return made


def keys(chosen, count=100, after=None):
    return [(one.batch.name, one.item.key) for one in ledger.newest(chosen, count, after)]


def test_a_filter_finds_what_it_names_and_no_more(piles):
    def names(**chosen):
        return {name for name, _ in keys(Chosen(**chosen))}

    assert names() == {"first", "second", "third"}
    assert names(mode="cached") == {"third"}
    assert names(model="claude-haiku-5-5") == {"first", "third"}
    assert names(owner=piles["second"].owner_id) == {"second"}
    assert names(owner=ledger.NOBODY) == {"third"}
    assert names(type=piles["first"].version.task_type_id) == {"first"}
    assert names(since=date(2026, 11, 22), until=date(2026, 11, 22)) == {"second"}
    assert names(until=date(2026, 11, 20)) == set()


def test_a_page_goes_on_where_the_last_one_ended(piles):
    whole, found, after = keys(Chosen()), [], None
    assert len(whole) == 12
    for _ in count():
        page = ledger.newest(Chosen(), 5, after)
        if not page:
            break
        found += [(one.batch.name, one.item.key) for one in page]
        after = page[-1].pk
    assert found == whole


def test_a_page_reads_no_more_the_more_there_is(piles, django_assert_max_num_queries):
    with django_assert_max_num_queries(5):
        assert len(ledger.newest(Chosen(), 12)) == 12


def test_a_share_is_that_of_the_known_cost(piles):
    found = ledger.sums(Chosen(), By.MODEL)
    assert [group.label for group in found.groups] == ["claude-sonnet-5", "claude-haiku-5-5"]
    assert sum(found.share(group) for group in found.groups) == pytest.approx(1)
    assert ledger.sums(Chosen(until=date(2020, 1, 1)), By.DAY).total == Total()


def read(chosen):
    text = b"".join(ledger_csv(chosen)).decode()
    return list(csv.DictReader(io.StringIO(text)))


def test_the_file_has_a_row_for_each_attempt_with_what_was_applied(piles):
    lines = read(Chosen())
    assert len(lines) == 12
    assert (
        sum(Decimal(line["cost_usd"]) for line in lines) == ledger.sums(Chosen(), By.DAY).total.cost
    )
    line = next(line for line in lines if line["batch"] == piles["first"].public_id)
    assert (line["item"], line["model"], line["mode"], line["outcome"], line["version"]) == (
        "k3", "claude-haiku-5-5", "single", "ok", "1"
    )  # fmt: skip
    assert (line["input_tokens"], line["cache_read_tokens"], line["output_tokens"]) == (
        "100", "900", "10"
    )  # fmt: skip
    assert (line["input_usd_per_million"], line["output_usd_per_million"]) == ("0.1", "0.5")
    assert line["price_source"].startswith("genai-prices")
    assert line["cost_usd"] == "0.000024"
    assert line["bound_usd"] == ""
    assert line["time"].startswith("2026-11-21T")


def test_an_unknown_cost_is_empty_in_the_file_with_its_bound_beside_it(clock, announced):
    worker, batch = live_worker(seconds=10**8), queued(1)
    run(worker, batch, None, Outcome.REFUSED)
    (line,) = read(Chosen())
    assert line["cost_usd"] == ""
    assert Decimal(line["bound_usd"]) == Attempt.objects.get().reserved > 0


def test_an_unpriced_attempt_has_no_cost_no_bound_and_no_price_in_the_file(clock, announced):
    worker = live_worker(seconds=10**8)
    batch = queued(1, version=task_version("own-model"), unpriced_ok=True)
    run(worker, batch, Usage(10, 10))
    (line,) = read(Chosen())
    assert [line[name] for name in ("cost_usd", "bound_usd", "price_source")] == ["", "", ""]
    assert line["input_usd_per_million"] == ""


def test_no_cell_of_the_file_runs_as_a_formula(clock, announced):
    worker = live_worker(seconds=10**8)
    batch = queued(1, version=task_version("=cmd|x"), unpriced_ok=True)
    batch.items.update(key="=1+1")
    type(batch.version.task_type).objects.update(name="@SUM(A1)")
    run(worker, batch, Usage(10, 10))
    (line,) = read(Chosen())
    assert (line["item"], line["task_type"], line["model"]) == ("'=1+1", "'@SUM(A1)", "'=cmd|x")


def test_a_long_file_is_read_in_pieces_without_losing_one(piles, monkeypatch):
    monkeypatch.setattr(ledger, "ROWS_AT_ONCE", 3)
    assert len({(line["batch"], line["item"]) for line in read(Chosen())}) == 12


def test_an_entered_price_is_recorded_with_each_attempt_that_it_was_applied_to(clock, announced):
    boss = person("Boss", roles=["admin"])
    StoredPrice.objects.enter("own-model", {"input": Decimal(2), "output": Decimal(8)}, by=boss)
    worker, batch = live_worker(seconds=10**8), queued(1, version=task_version("own-model"))
    run(worker, batch, Usage(1_000, 100))
    (line,) = read(Chosen())
    assert line["cost_usd"] == "0.0028"
    assert line["cache_read_usd_per_million"] == "0.2"
    assert line["price_source"] == f"entered by {boss}, valid from 2026-11-21 12:00 UTC"
