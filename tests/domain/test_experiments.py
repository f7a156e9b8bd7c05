"""Experiments: the same items in every arm, chance by a seed, money shared out, verbs."""

from dataclasses import replace
from decimal import Decimal
from io import BytesIO

import pytest

from batchboard import experimenting, intake
from batchboard.arm_text import read_arm
from batchboard.arms import Past, arms_of, modes_that_ran
from batchboard.compare import compare, words
from batchboard.experimenting import PlanError
from batchboard.models import (
    Batch,
    Event,
    Experiment,
    ExperimentState,
    Mode,
    PairTally,
    Tally,
)
from batchboard.models.tallying import tasks_of
from batchboard.pricing import Usage
from batchboard.roles import NotAllowed, Role
from batchboard.states import BatchState, MoveRefused
from dispatch import recorder
from dispatch.forecast import Counted
from dispatch.outcome import Outcome
from tests.factories import (
    admit,
    arm_of,
    draft,
    finished,
    in_review,
    live_worker,
    person,
    task_version,
)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_provider(monkeypatch):
    """Nothing is counted: the provider is not there."""
    monkeypatch.setattr("dispatch.forecast.count", lambda work, rows: Counted())


@pytest.fixture
def version():
    return task_version(system="The rules of the house. " * 900)


def rows_of(version, count=40, reverse=False):
    numbers = sorted(range(count), reverse=reverse)
    lines = "\n".join(["key,text", *(f"k{n},row {n}" for n in numbers)])
    return intake.Items(BytesIO(lines.encode()), "items.csv", version.definition)


def make(version, *arms, n=6, seed="s", budget=None, by=None, **options):
    drawn = experimenting.draw_rows(rows_of(version), n, seed)
    plans = [read_arm(arm) for arm in arms or ("single", "cached")]
    return experimenting.create(
        version.definition, drawn, plans, seed=seed, budget=budget, source="items.csv",
        version=version, by=by, **options,
    )  # fmt: skip


def again(experiment):
    return Experiment.objects.with_arms().get(pk=experiment.pk)


def run_all():
    worker = live_worker()
    while calls := admit(worker).calls:
        recorder.settle(worker.pk, [finished(call) for call in calls], admits=False)


def compared(experiment):
    arms, pairing = arms_of(experiment)
    return compare(arms, paired=pairing)


def keys_of(batch):
    return list(batch.items.order_by("position").values_list("key", flat=True))


# What is the same, and what chance decides


def test_every_arm_does_the_same_items_in_an_order_of_its_own(version):
    first, second, third = make(version, "single", "cached", "packed:k=3", n=20).batches
    assert set(keys_of(first)) == set(keys_of(second)) == set(keys_of(third))
    assert len({tuple(keys_of(batch)) for batch in (first, second, third)}) == 3
    assert [len(set(keys_of(first))), first.total] == [20, 20]


def test_a_seed_repeats_the_sample_and_the_orders_and_another_one_does_not(version):
    one, same, other = make(version), make(version), make(version, seed="t")
    assert [keys_of(b) for b in one.batches] == [keys_of(b) for b in same.batches]
    assert set(keys_of(one.batches[0])) != set(keys_of(other.batches[0]))


def test_the_sample_does_not_depend_on_the_order_of_the_file(version):
    forth = experimenting.draw_rows(rows_of(version), 7, "s")
    back = experimenting.draw_rows(rows_of(version, reverse=True), 7, "s")
    assert [item.key for item in forth] == [item.key for item in back]


def test_arms_are_made_and_started_in_an_order_that_the_seed_decides(version):
    orders = set()
    for seed in "abcdefgh":
        batches = make(version, "single", "cached", "packed", seed=seed).batches
        orders.add(tuple(sorted(range(3), key=lambda place: batches[place].pk)))
    assert len(orders) > 1


def test_each_arm_has_a_cache_of_its_own_by_a_salt_of_the_same_length(version):
    salts = [batch.cache_salt for batch in make(version, "cached", "cached", "session").batches]
    assert len(set(salts)) == 3
    assert len({len(salt) for salt in salts}) == 1
    assert all(salts)


def test_arms_alike_are_told_apart_by_their_labels(version):
    labels = [arm.label for arm in make(version, "cached", "cached", "cached:N=3").arms.all()]
    assert labels == ["cached", "cached (2)", "cached N=3"]


def test_the_sample_of_review_holds_the_same_items_in_every_arm(version):
    experiment = make(version, n=12)
    experiment.start()
    run_all()
    drawn = [[one["key"] for one in batch.sample()] for batch in again(experiment).batches]
    assert drawn[0] == drawn[1] != []


@pytest.mark.parametrize("mode", Mode.values)
def test_an_arm_is_any_mode(version, mode):
    assert make(version, "single", mode).batches[1].mode == mode


def test_items_come_from_an_earlier_batch_too(version):
    earlier = draft(30, version=version)
    drawn = experimenting.draw_items(earlier, version.definition, 5, "s")
    assert len({item.key for item in drawn}) == 5
    assert all(item.data["text"].startswith("row ") for item in drawn)
    assert drawn == experimenting.draw_items(earlier, version.definition, 5, "s")


# Money


def test_the_shares_of_a_budget_are_the_budget_to_the_last_unit(version):
    budget = Decimal("0.1234567891")
    batches = make(version, "single", "cached", "packed:k=4", budget=budget).batches
    assert sum(batch.budget for batch in batches) == budget
    assert all(batch.budget >= batch.estimate_expected for batch in batches)


def test_without_a_budget_no_arm_has_one(version):
    experiment = make(version)
    assert [experiment.budget, *(batch.budget for batch in experiment.batches)] == [None] * 3


# What cannot be


@pytest.mark.parametrize(
    ("n", "says"),
    [(41, "items.csv has 40 items, fewer than the 41 asked for."), (None, "")],
)
def test_more_items_than_there_are_cannot_be_drawn(version, n, says):
    if not says:
        assert len(experimenting.draw_rows(rows_of(version), n, "s")) == 40
        return
    with pytest.raises(PlanError) as refused:
        experimenting.draw_rows(rows_of(version), n, "s")
    assert str(refused.value) == says


def test_one_arm_is_no_experiment_and_nothing_is_made(version):
    with pytest.raises(PlanError):
        make(version, "single")
    assert not Batch.objects.exists()


def test_items_of_a_batch_that_lack_a_column_of_the_prompt_are_refused(version):
    other = task_version()
    definition = replace(version.definition, prompt="Look at {{ title }}")
    with pytest.raises(MoveRefused, match="names title"):
        experimenting.draw_items(draft(3, version=other), definition, 3, "s")


def test_nothing_stays_of_an_experiment_that_could_not_be_made(version):
    def fail(experiment):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        make(version, with_it=fail)
    assert not Batch.objects.exists()
    assert not Experiment.objects.exists()


# Who may


@pytest.mark.parametrize("role", [Role.VIEWER, Role.REVIEWER])
def test_only_operators_create_start_and_cancel(version, role):
    with pytest.raises(NotAllowed):
        make(version, by=person(roles=(role,)))
    experiment = make(version, by=person(roles=(Role.OPERATOR,)))
    for verb in (experiment.start, experiment.cancel):
        with pytest.raises(NotAllowed):
            verb(by=person(roles=(role,)))
    assert again(experiment).state is ExperimentState.DRAFT


# Its life


def test_it_starts_all_arms_at_once_and_once(version):
    experiment = make(version)
    experiment.start()
    assert {batch.state for batch in again(experiment).batches} == {BatchState.QUEUED}
    with pytest.raises(MoveRefused):
        experiment.start()
    assert Event.objects.filter(verb="experiment.start").count() == 1


def test_an_arm_does_not_start_alone(version):
    arm = make(version).batches[0]
    with pytest.raises(MoveRefused, match="arm of an experiment"):
        arm.start()


def test_it_has_ended_when_every_arm_waits_for_review(version):
    experiment = make(version)
    experiment.start()
    assert again(experiment).state is ExperimentState.RUNNING
    assert again(experiment).ended_at is None
    run_all()
    ended = again(experiment)
    assert {batch.state for batch in ended.batches} == {BatchState.REVIEW}
    assert ended.state is ExperimentState.ENDED
    assert ended.ended_at == max(batch.finished_at for batch in ended.batches)
    with pytest.raises(MoveRefused, match="has ended"):
        ended.cancel()


def test_cancelling_ends_what_is_left_and_keeps_what_is_done(version):
    experiment = make(version)
    experiment.start()
    again(experiment).batches[1].pause()
    run_all()
    experiment.cancel()
    assert [batch.state for batch in again(experiment).batches] == ["review", "cancelled"]
    assert again(experiment).state is ExperimentState.CANCELLED


def test_it_is_blocked_when_what_is_left_waits_for_a_person(version):
    experiment = make(version)
    experiment.start()
    again(experiment).batches[0].pause()
    assert again(experiment).state is ExperimentState.RUNNING
    again(experiment).batches[1].pause()
    assert again(experiment).state is ExperimentState.BLOCKED


# Beside batches


def test_arms_are_not_on_the_board_nor_among_past_batches(version):
    in_review(3, version=version, mode="single")
    experiment = make(version)
    experiment.start()
    run_all()
    assert Batch.objects.on_board().count() == 1
    assert Batch.objects.with_pages().count() == 3
    assert modes_that_ran(version.task_type) == ["single"]
    assert Past().batches(version.task_type).count() == 1


def test_the_comparison_is_paired_by_item_and_takes_review_in(version):
    experiment = make(version, n=12)
    experiment.start()
    run_all()
    for batch in again(experiment).batches:
        for drawn in batch.sample():
            batch.judge(drawn["key"], "pass")
    found = compared(again(experiment))
    assert found.same_items == 12
    assert [found.before.pass_share, found.arms[0].pass_share] == [1.0, 1.0]


# Sums of pairs, stored


def settle_some(experiment, dear=()):
    """All items of all arms end, those of the keys `dear` after a failed attempt; one is dead."""
    worker = live_worker()
    while calls := admit(worker).calls:
        ended = []
        for call in calls:
            key, first = call.parts[0].key, call.parts[0].attempt % 2
            outcome = Outcome.REFUSED if key == "k3" and first else Outcome.OK
            tokens = 50 + 7 * (key in dear) + int(key[1:])
            ended.append(finished(call, outcome, usage=Usage(input=tokens, output=20)))
        recorder.settle(worker.pk, ended, admits=False)
    return again(experiment)


def test_what_is_stored_when_the_last_arm_ended_says_what_the_items_say(version):
    experiment = make(version, "single", "cached", "single", n=25)
    experiment.start()
    ended = settle_some(experiment, dear={"k1", "k7"})
    assert PairTally.objects.count() == 1
    stored = compared(ended)
    by_item = compare(
        [arm_of([arm.batch], arm.label) for arm in ended.arms.all()], paired=True
    )  # fmt: skip
    for one, other in zip((stored.before, *stored.arms), (by_item.before, *by_item.arms),
                          strict=True):  # fmt: skip
        assert replace(one, data=None) == replace(other, data=None)
        assert replace(one.data, tasks=()) == replace(other.data, tasks=())
    assert replace(stored, before=None, arms=(), chosen=None) == replace(
        by_item, before=None, arms=(), chosen=None
    )


def test_no_item_is_read_once_all_arms_ended(version, django_assert_num_queries):
    few = make(version, "single", "cached", n=6)
    many = make(version, "single", "cached", "packed:k=2", "session:S=2", n=30)
    for experiment in (few, many):
        experiment.start()
    run_all()
    for ended in (again(few), again(many)):
        with django_assert_num_queries(4) as asked:
            arms_of(ended)
        read = [query["sql"] for query in asked.captured_queries]
        assert not [sql for sql in read if 'batchboard_item"' in sql or "_attempt" in sql]


def test_an_arm_that_is_sent_back_to_work_takes_the_sums_away_until_it_ended(version):
    experiment = make(version, n=8)
    experiment.start()
    ended = settle_some(experiment)
    before = PairTally.objects.get().sums
    arm = next(batch for batch in ended.batches if batch.dead)
    arm.retry()
    assert not PairTally.objects.exists()
    under_way = compared(again(experiment))
    assert under_way.same_items == 7
    assert words.under_way(under_way) == [
        f"{arm.arm.label}: 1 item has not ended, and is not counted yet."
    ]
    run_all()
    assert PairTally.objects.get().sums != before
    assert compared(again(experiment)).same_items == 8


def test_arms_that_were_cancelled_are_summed_up_in_pairs_too(version):
    experiment = make(version, n=4)
    experiment.start()
    worker = live_worker()
    recorder.settle(
        worker.pk, [finished(call) for call in admit(worker, room=6).calls], admits=False
    )
    experiment.cancel()
    assert not PairTally.objects.exists()
    Tally.objects.catch_up()
    assert PairTally.objects.catch_up() == 1
    assert PairTally.objects.catch_up() == 0


def test_nothing_is_stored_of_an_arm_that_was_sent_back_while_pairs_were_summed_up(
    version, monkeypatch
):
    experiment = make(version, n=8)
    experiment.start()
    ended = settle_some(experiment)
    PairTally.objects.all().delete()
    arm = next(batch for batch in ended.batches if batch.dead)

    def slow(batches):
        if arm.state == BatchState.REVIEW:
            arm.retry()
        return tasks_of(batches)

    monkeypatch.setattr("batchboard.models.pair_tally.tasks_of", slow)
    assert PairTally.objects.catch_up() == 0
    assert not PairTally.objects.exists()
