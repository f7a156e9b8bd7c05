"""What no verdict may ever say, whatever the arms did: tried on arms of every kind."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchboard.compare import ArmData, TaskCost, Verdict, compare, words
from batchboard.compare.quality import quality

SAVES = {Verdict.BETTER, Verdict.CHEAPER}
COSTS = st.one_of(st.just(0), st.just(4_200_000), st.integers(0, 10**11))


@st.composite
def arms(draw, label="arm"):
    """An arm of none, one or a few items: free, of one price or of any, some or all of them dead,
    with lost attempts and without a price, reviewed in part or not at all."""
    items = draw(st.integers(0, 14))
    deaths = draw(st.sampled_from([0.0, 0.3, 1.0]))
    same = draw(st.booleans())
    alike = draw(COSTS)
    tasks = []
    for number in range(items):
        bound = draw(st.one_of(st.just(0), st.integers(1, 10**10)))
        cost = alike if same else draw(COSTS)
        ok = draw(st.floats(0, 1)) >= deaths
        tasks.append(TaskCost(f"k{number}", cost + bound, ok, bound))
    judged = draw(st.integers(0, sum(task.ok for task in tasks)))
    return ArmData(
        label, "single", "", tasks=tasks, unpriced=draw(st.sampled_from([0, 0, 0, 2])),
        unknown=sum(task.unknown for task in tasks),
        unknown_attempts=sum(task.unknown > 0 for task in tasks),
        judged=judged, passed=draw(st.integers(0, judged)),
    )  # fmt: skip


@given(arms("a"), arms("b"), st.booleans())
def test_a_verdict_never_says_more_than_was_measured(before, after, paired):
    found = compare([before, after], paired=paired)
    one, judged = found.arms[0], quality(before, after)
    assert found.headline
    if one.verdict in SAVES:
        assert one.change.high < 0, "cheaper for certain"
        assert not judged.worse, "what fails more is never called a saving"
    if one.verdict is Verdict.BETTER:
        assert before.judged
        assert after.judged
        assert after.passed * before.judged >= before.passed * after.judged
        assert after.dead * before.items <= before.dead * after.items
    if one.verdict is Verdict.WORSE:
        assert one.change.low > 0
    if judged.worse and one.change is not None and one.change.mid < 0:
        assert one.verdict is Verdict.NOT_BETTER
    if before.unpriced or after.unpriced:
        assert one.verdict in {Verdict.UNDECIDED, Verdict.NOT_BETTER}
        assert one.change is None
    if min(before.succeeded, after.succeeded) < 5:
        assert one.verdict in {Verdict.UNDECIDED, Verdict.NOT_BETTER}
        assert "fell" not in found.headline
        assert "rose" not in found.headline


@given(arms("a"), arms("b"), st.booleans())
def test_no_arm_is_cheaper_both_ways_around(before, after, paired):
    there = compare([before, after], paired=paired).arms[0]
    back = compare([after, before], paired=paired).arms[0]
    assert not (there.verdict in SAVES and back.verdict in SAVES)
    if there.verdict is Verdict.WORSE:
        assert back.verdict in {*SAVES, Verdict.NOT_BETTER}


@given(arms("a"), arms("b"), st.integers(2, 1_000))
def test_a_verdict_does_not_depend_on_the_unit_of_money(before, after, times):
    def dearer(arm):
        tasks = [
            replace(t, cost=t.cost * times, unknown=t.unknown * times) for t in arm.tasks
        ]  # fmt: skip
        return replace(arm, tasks=tasks, unknown=arm.unknown * times)

    one = compare([before, after], paired=True).arms[0]
    other = compare([dearer(before), dearer(after)], paired=True).arms[0]
    assert (one.verdict, one.words) == (other.verdict, other.words)


@given(arms("a"), st.booleans())
def test_an_arm_against_itself_is_never_better_nor_worse(arm, paired):
    twin = replace(arm, label="twin")
    found = compare([arm, twin], paired=paired).arms[0].verdict
    assert found in {Verdict.UNDECIDED, Verdict.NO_DIFFERENCE}


def test_failed_lost_and_regenerated_attempts_make_an_arm_dear():
    once = [TaskCost(f"k{n}", 100 + n % 3, True) for n in range(30)]
    thrice = [replace(task, cost=3 * task.cost) for task in once]
    lost = [replace(task, cost=2 * task.cost, unknown=task.cost) for task in once]
    before = ArmData("single", "single", "", tasks=once)
    for tasks, verdict in ((thrice, Verdict.WORSE), (lost, Verdict.UNDECIDED)):
        after = ArmData("cached", "cached", "", tasks=tasks, unknown_attempts=30)
        assert compare([before, after], paired=True).arms[0].verdict is verdict


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        (False, False, ""),
        (True, True, "Measured at the simulated provider: no real money."),
        (False, True, "b measured at the simulated provider: no real money, nor a fair match."),
    ],
)
def test_what_was_simulated_is_said(first, second, says):
    some = [ArmData("a", "single", "", simulated=first),
            ArmData("b", "single", "", simulated=second)]  # fmt: skip
    assert words.simulated(compare(some, paired=False)) == says


def test_a_rise_is_not_certain_while_its_interval_holds_a_fall():
    before = [TaskCost(f"k{n}", 100 + n % 3, True) for n in range(10)]
    after = [replace(task, cost=task.cost + 20) for task in before]
    after[0] = replace(after[0], cost=100_000, unknown=99_880)
    arms = [
        ArmData("single", "single", "", tasks=before),
        ArmData("cached", "cached", "", tasks=after, unknown=99_880, unknown_attempts=1),
    ]
    for paired in (True, False):
        found = compare(arms, paired=paired)
        assert found.arms[0].change.low < 0 < found.arms[0].change.mid
        assert found.arms[0].verdict is Verdict.UNDECIDED
        assert found.headline == (
            "Not certain: it depends on what 1 attempt of unknown cost really cost."
        )
