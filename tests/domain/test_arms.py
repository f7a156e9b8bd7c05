"""What ways of working did and cost, collected from what is stored."""

from datetime import timedelta
from decimal import Decimal

import pytest

from batchboard.arms import Past, modes_that_ran, past_arms
from batchboard.compare import Verdict, compare
from batchboard.compare.effects import total
from batchboard.models import Attempt, Batch, Item, Limits, Tally
from batchboard.models.tallying import measured
from batchboard.money import units
from batchboard.pricing import Usage, rates
from dispatch import recorder, rescue
from dispatch.deciding import deciding
from dispatch.outcome import Outcome
from tests.factories import (
    MODEL,
    START,
    admit,
    arm_of,
    draft,
    finished,
    in_review,
    judge_all,
    live_worker,
    new_version,
    queued,
    task_version,
)

pytestmark = pytest.mark.django_db

COLD = Usage(input=1_000, output=100)
WARM = Usage(input=100, output=100, cache_read=900)


@pytest.fixture(autouse=True)
def _quiet(announced, clock):
    """No broker, and time moves only where a test moves it."""


def run(batch, usage=COLD, clock=None, seconds=0, outcome=Outcome.OK, worker=None):
    """Every call of the batch ends alike, after so many seconds."""
    if batch.state == "draft":
        batch.start()
    worker = worker or live_worker()
    while calls := admit(worker).calls:
        began = START if clock is None else clock.now
        if clock:
            clock.advance(seconds)
        recorder.settle(
            worker.pk,
            [finished(call, outcome, usage=usage, started_at=began, latency=1.5) for call in calls],
            admits=False,
        )
    batch.refresh_from_db()
    return batch


def cost(usage):
    return rates(MODEL, START).cost(usage)


def past_arm(task_type, past, label=""):
    (arm,) = past_arms(task_type, [(past, label)])
    return arm


def invariants(arm):
    """What the tasks cost is what the attempts did."""
    assert arm.cost == total(arm.money) + arm.unknown
    assert arm.attempts >= arm.items
    assert total(arm.failed_money) <= total(arm.money)
    assert arm.spread == arm.costs


def test_an_arm_has_its_items_with_all_that_they_cost():
    batch = run(draft(4))
    arm = arm_of([batch], "single")
    assert [(task.key, task.cost, task.ok) for task in arm.tasks] == [
        (f"k{n}", cost(COLD), True) for n in range(4)
    ]
    assert (arm.items, arm.succeeded, arm.calls, arm.attempts) == (4, 4, 4, 4)
    assert arm.usage == Usage(input=4_000, output=400)
    assert (arm.mode, arm.model, arm.group) == ("single", MODEL, None)
    assert arm.detail == "every item a call of its own, nothing shared"
    invariants(arm)


def test_money_is_told_apart_by_kind_of_token_with_the_prices_applied():
    arm = arm_of([run(draft(3, mode="cached"), WARM)], "cached")
    applied = rates(MODEL, START)
    assert arm.money == Usage(
        input=300 * applied.input,
        output=300 * applied.output,
        cache_read=2_700 * applied.cache_read,
    )
    assert arm.cost == 3 * cost(WARM)


def test_failed_and_regenerated_attempts_count_with_their_item():
    batch = queued(1)
    worker = live_worker()
    (call,) = admit(worker).calls
    recorder.settle(worker.pk, [finished(call, Outcome.CONTRACT, usage=COLD)], admits=False)
    run(batch, worker=worker)
    arm = arm_of([batch], "single")
    assert [(task.cost, task.ok) for task in arm.tasks] == [(2 * cost(COLD), True)]
    assert (arm.attempts, arm.failed_attempts) == (2, 1)
    assert (arm.failed_usage, total(arm.failed_money)) == (COLD, cost(COLD))
    invariants(arm)


def test_a_dead_item_counts_with_its_cost_and_without_a_result():
    arm = arm_of([in_review(5, bad=2)], "single")
    assert [task.ok for task in arm.tasks].count(False) == 2
    assert all(task.cost for task in arm.tasks)
    assert (arm.dead, arm.failed_attempts) == (2, 2)
    invariants(arm)


def test_a_lost_attempt_counts_at_its_bound(clock):
    batch = queued(1)
    worker = live_worker(seconds=10)
    (call,) = admit(worker).calls
    clock.advance(60)
    with deciding() as made:
        assert rescue.sweep(made.limits, made.now) == 1
    run(batch)
    arm = arm_of([batch], "single")
    (task,) = arm.tasks
    assert (task.cost, task.unknown) == (cost(COLD) + call.reserved, call.reserved)
    assert (arm.lost, arm.unknown, arm.unknown_attempts) == (1, call.reserved, 1)
    assert arm.unpriced == 0
    invariants(arm)


def test_an_answer_without_a_price_is_no_cost_of_nothing():
    batch = run(draft(2))
    Attempt.objects.update(cost=None, reserved=Decimal(0))
    Item.objects.update(cost=0)
    Tally.objects.all().delete()
    assert arm_of([batch], "single").unpriced == 2


def test_live_attempts_and_items_that_still_wait_are_left_out():
    batch = queued(3)
    worker = live_worker()
    first, second, _ = admit(worker).calls
    recorder.settle(
        worker.pk,
        [finished(first, usage=COLD), finished(second, Outcome.SERVER, usage=COLD)],
        admits=False,
    )
    batch.refresh_from_db()
    assert Attempt.objects.live().count() == 1
    arm = arm_of([batch], "single")
    assert [task.key for task in arm.tasks] == [first.parts[0].key]
    assert (arm.attempts, arm.failed_attempts) == (1, 0)
    invariants(arm)


def test_a_cancelled_item_is_no_task():
    batch = run(draft(3))
    other = queued(2)
    other.cancel()
    other.refresh_from_db()
    assert arm_of([batch, other], "both").items == 3


def test_items_of_several_batches_have_keys_of_their_own():
    arm = arm_of([run(draft(2)), run(draft(2))], "single")
    assert len({task.key for task in arm.tasks}) == 4
    invariants(arm)


def test_a_batch_is_summed_up_when_it_ends_and_again_when_it_ended_anew():
    batch = in_review(10, bad=1)
    task_type = batch.version.task_type
    (stored,) = Tally.objects.sums_of([batch])
    assert [stored] == measured([batch])
    first = past_arm(task_type, Past())
    batch.retry()
    assert not Tally.objects.exists()
    run(batch)
    again = past_arm(task_type, Past())
    assert (first.dead, again.dead, again.attempts) == (1, 0, 11)
    assert Tally.objects.sums_of([batch]) == measured([batch])


def test_a_page_over_batches_that_ended_reads_no_item(django_assert_num_queries):
    version = task_version()
    for _ in range(3):
        run(draft(4, version=version))
    with django_assert_num_queries(4) as asked:
        assert past_arm(version.task_type, Past()).items == 12
    read = [query["sql"] for query in asked.captured_queries if "sampleditem" not in query["sql"]]
    assert not [sql for sql in read if "batchboard_item" in sql or "batchboard_attempt" in sql]


def test_a_cancelled_batch_is_summed_up_once_the_last_of_its_calls_ended():
    batch = queued(4)
    worker = live_worker()
    first, second, *_ = admit(worker, room=2).calls
    recorder.settle(worker.pk, [finished(first, usage=COLD)], admits=False)
    batch.cancel()
    assert Tally.objects.catch_up() == 0, "a call is in flight"
    assert past_arm(batch.version.task_type, Past()).items == 1
    recorder.settle(worker.pk, [finished(second, usage=COLD)], admits=False)
    assert Tally.objects.catch_up() == 1
    assert Tally.objects.catch_up() == 0
    batch.refresh_from_db()
    assert Tally.objects.sums_of([batch]) == measured([batch])


def test_nothing_is_stored_of_a_batch_that_was_sent_back_to_work_while_it_was_summed_up(
    monkeypatch,
):
    batch = in_review(3, bad=1)
    Tally.objects.all().delete()

    def slow(batches):
        found = measured(batches)
        batch.retry()
        return found

    monkeypatch.setattr("batchboard.models.tally.measured", slow)
    Tally.objects.catch_up()
    assert not Tally.objects.exists()


def test_a_batch_under_way_is_left_out_and_told_by_its_number():
    batch = queued(2)
    worker = live_worker()
    first, second = admit(worker).calls
    recorder.settle(worker.pk, [finished(first)], admits=False)
    task_type = batch.version.task_type
    arm = past_arm(task_type, Past())
    assert (arm.items, arm.under_way) == (0, 1)
    recorder.settle(worker.pk, [finished(second)], admits=False)
    arm = past_arm(task_type, Past())
    assert (arm.items, arm.under_way) == (2, 0)


def test_an_arm_without_batches_is_empty():
    arm = arm_of([], "nothing")
    assert (arm.items, arm.attempts, arm.seconds, arm.latency_median_ms) == (0, 0, 0, None)


def test_verdicts_of_the_review_are_counted():
    batch = in_review(20)
    judge_all(batch, fails=2)
    arm = arm_of([batch], "single")
    assert (arm.judged, arm.passed) == (5, 3)


def test_verdicts_of_a_closed_review_are_void():
    batch = in_review(20, bad=1)
    judge_all(batch)
    batch.retry()
    batch.refresh_from_db()
    assert arm_of([batch], "single").judged == 0


def test_time_counts_while_calls_are_in_flight(clock):
    batch = run(draft(3, concurrency=1), clock=clock, seconds=2)
    clock.advance(3_600)
    later = run(draft(1, version=batch.version), clock=clock, seconds=4)
    arm = arm_of([batch, later], "single")
    assert arm.seconds == pytest.approx(10, abs=0.01)
    assert (arm.latency_median_ms, arm.latency_p95_ms) == (1_500, 1_500)


def test_what_there_was_to_cache_is_told_where_it_was_to_be_cached():
    version = task_version(system="Be brief.", shared_tokens=300)
    cached = arm_of([run(draft(1, version=version, mode="cached"))], "cached")
    single = arm_of([run(draft(1, version=version))], "single")
    assert (cached.shared_tokens, cached.minimum_tokens) == (300, 512)
    assert (single.shared_tokens, single.minimum_tokens) == (None, None)


def test_items_that_share_a_call_make_a_group():
    arm = arm_of([run(draft(4, mode="packed", group_size=2))], "packed, k 2")
    assert (arm.calls, arm.attempts, arm.group) == (2, 4, 2)
    assert arm.cost == 2 * cost(COLD)
    invariants(arm)


# Sets of past batches


def test_past_batches_are_chosen_by_mode_version_and_day(clock):
    version = task_version()
    old = run(draft(1, version=version), clock=clock)
    clock.advance(86_400)
    new = run(draft(1, version=new_version(version), mode="cached"), clock=clock)
    task_type = version.task_type
    day = START + timedelta(hours=12)
    for past, found in (
        (Past(), [old, new]),
        (Past(mode="cached"), [new]),
        (Past(version=1), [old]),
        (Past(since=day), [new]),
        (Past(until=day), [old]),
        (Past(mode="single", since=day), []),
    ):
        assert list(past.batches(task_type)) == found
    assert past_arm(task_type, Past(mode="cached", version=2)).label == "cached, version 2"
    assert str(Past(since=START, until=day)) == "since Nov 21, 2026, until Nov 22, 2026"
    assert past_arm(task_type, Past(), "ever").label == "ever"


def test_trials_drafts_and_other_task_types_are_left_out():
    version = task_version()
    batch = run(draft(1, version=version))
    trial = run(draft(1, version=version))
    Batch.objects.filter(pk=trial.pk).update(trial=True)
    draft(1, version=version)
    run(draft(1))
    assert list(Past().batches(version.task_type)) == [batch]
    assert list(Past(trials=True).batches(version.task_type)) == [batch, trial]


def test_the_mode_that_ran_last_comes_first(clock):
    version = task_version()
    assert modes_that_ran(version.task_type) == []
    for mode in ("cached", "single"):
        run(draft(1, version=version, mode=mode), clock=clock)
        clock.advance(60)
    draft(1, version=version, mode="cached").start()
    assert modes_that_ran(version.task_type) == ["single", "cached"]


def test_the_number_of_queries_does_not_grow(django_assert_max_num_queries):
    version = task_version()
    run(draft(3, version=version))
    with django_assert_max_num_queries(8) as asked:
        past_arm(version.task_type, Past())
    few = len(asked.captured_queries)
    for _ in range(3):
        run(draft(20, version=version))
    with django_assert_max_num_queries(few):
        past_arm(version.task_type, Past())


# From what is stored to a verdict


def test_two_batches_over_the_same_items_are_compared_in_pairs():
    version = task_version()
    before = run(draft(12, version=version))
    after = run(draft(12, version=version, mode="cached"), WARM)
    found = compare([arm_of([before], "single"), arm_of([after], "cached")], paired=True)
    assert found.same_items == 12
    assert found.arms[0].verdict is Verdict.CHEAPER
    assert found.arms[0].change.mid == pytest.approx(cost(WARM) / cost(COLD) - 1)
    assert "90\u202f% of input tokens came from the cache" in found.headline
    assert found.before.cost_per_task.mid == units_as_dollars(cost(COLD))


def units_as_dollars(amount):
    return Decimal(amount).scaleb(-10)


def test_the_cost_of_the_tasks_is_what_the_batches_and_the_month_say(clock):
    batch = in_review(10, bad=3)
    arm = arm_of([batch], "single")
    assert arm.cost == units(batch.cost)
    assert arm.cost == units(Limits.objects.current().spent(clock.now))
