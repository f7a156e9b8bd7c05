"""What is said of arms: verdicts, sentences, reasons and advice."""

import random
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchboard.compare import ArmData, Interval, TaskCost, Verdict, compare, words
from batchboard.compare.effects import effects, total
from batchboard.pricing import Rates, Usage

RATES = Rates(input=1_000, output=5_000, cache_write_5m=1_250, cache_write_1h=2_000, cache_read=100)
NONE = Usage()
SINGLE = Usage(input=7_000, output=700)
CACHED = Usage(input=1_000, output=700, cache_read=6_000)


def priced(usage, rates=RATES):
    """Units by kind."""
    kinds = ("input", "output", "cache_write_5m", "cache_write_1h", "cache_read")
    return Usage(**{kind: getattr(usage, kind) * getattr(rates, kind) for kind in kinds})


def times(usage, number):
    return Usage(**{kind: getattr(usage, kind) * number for kind in usage.__slots__})


def arm(label, each, *, items=50, dead=0, spread=0.1, failed=NONE, rates=RATES, seed=1, **fields):
    """An arm whose tasks cost what `each` usage costs, give or take; the last of them are dead.
    `failed` is used by attempts without a result, of the whole arm."""
    chance = random.Random(seed)
    usage = times(each, items - dead)
    wasted = priced(failed, rates)
    spent = total(priced(usage, rates)) + total(wasted) + fields.get("unknown", 0)
    weights = [1 + spread * chance.uniform(-1, 1) for _ in range(items)]
    whole = sum(weights)
    costs = [round(spent * weight / whole) for weight in weights]
    costs[0] += spent - sum(costs)
    tasks = [
        TaskCost(f"k{n}", cost, n < items - dead, fields.get("unknown", 0) if not n else 0)
        for n, cost in enumerate(costs)
    ]
    everything = Usage(
        **{kind: getattr(usage, kind) + getattr(failed, kind) for kind in usage.__slots__}
    )
    return ArmData(
        label=label,
        mode=label.split(",")[0],
        detail="",
        tasks=tasks,
        usage=everything,
        money=priced(everything, rates),
        failed_usage=failed,
        failed_money=wasted,
        **({"calls": items, "attempts": items, "model": "claude-haiku-5-5"} | fields),
    )


def reviewed(data, judged=50, passed=48):
    return replace(data, judged=judged, passed=passed)


def plain(text):
    return text.replace("\u202f", " ")


def against(before, *arms, paired=False):
    return compare([before, *arms], paired=paired)


def sentence(before, after, paired=False):
    return plain(against(before, after, paired=paired).headline)


def verdict(before, after, paired=False):
    return against(before, after, paired=paired).arms[0].verdict


def advised(comparison):
    return {advice.kind: plain(f"{advice.strong} {advice.text}") for advice in comparison.advice}


BEFORE = arm("single", SINGLE)


# Cheaper


def test_a_fall_is_told_with_its_interval_and_where_it_came_from():
    found = against(reviewed(BEFORE), reviewed(arm("cached", CACHED, seed=2)))
    assert plain(found.headline) == (
        "Cost per task fell by 51 % (50–53 %): 86 % of input tokens came from the cache."
    )
    assert plain(found.detail) == (
        "$0.00105 → $0.00051 per task, failed and regenerated attempts included, on 50 items before"
        " and 50 after. No difference found in quality: 96 % passed review before and after."
    )
    assert (found.tone, found.arms[0].verdict, found.arms[0].words) == ("ok", "better", "Better")
    assert advised(found)["keep"] == (
        "Keep cached. It is the cheapest that passes review as often as before."
    )


def test_without_a_review_a_cheaper_arm_is_not_called_better():
    found = against(BEFORE, arm("cached", CACHED))
    assert found.arms[0].verdict is Verdict.CHEAPER
    assert found.arms[0].words == "Cheaper; quality not compared: nothing was reviewed"
    assert "Quality not compared: nothing was reviewed." in found.detail
    assert found.tone == "wait"
    assert advised(found)["review"].startswith("Review results of single and cached.")


def test_with_one_arm_reviewed_quality_is_not_compared_either():
    found = against(reviewed(BEFORE), arm("cached", CACHED))
    assert found.arms[0].words == "Cheaper; quality not compared"
    assert "nothing of cached was reviewed" in found.detail


def test_a_cheaper_arm_that_passes_less_for_certain_is_not_better():
    packed = reviewed(arm("packed, k 5", CACHED, group=5, calls=10), passed=30)
    found = against(reviewed(BEFORE), packed)
    assert plain(found.headline).startswith("Not better: cost per task fell by 51 %")
    assert plain(found.headline).endswith("but fewer pass review: 60 % instead of 96 %.")
    assert (found.tone, found.arms[0].words) == ("person", "Not better: fails review more")
    assert advised(found)["avoid"] == (
        "Do not use packed, k 5. It saves $0.000540 a task, but 18 more of 50 failed review."
    )
    assert advised(found)["smaller_group"].endswith("Try 2.")


def test_a_cheaper_arm_that_may_pass_less_is_called_so():
    found = against(reviewed(BEFORE), reviewed(arm("cached", CACHED), passed=46))
    assert found.arms[0].verdict is Verdict.CHEAPER
    assert found.arms[0].words == "Cheaper; fewer passed review, perhaps by chance"
    assert "Fewer passed review, which may be chance: 46 of 50 instead of 48 of 50." in found.detail


def test_dead_items_count_as_quality():
    certain = against(reviewed(BEFORE), reviewed(arm("cached", CACHED, dead=12)))
    assert certain.arms[0].verdict is Verdict.NOT_BETTER
    assert "more items fail for good: 24 % instead of 0 %" in plain(certain.headline)
    assert "12 of 50 items failed for good" in advised(certain)["avoid"]
    perhaps = against(reviewed(BEFORE), reviewed(arm("cached", CACHED, dead=1)))
    assert perhaps.arms[0].words == "Cheaper; more items failed, perhaps by chance"


def test_what_few_judged_results_could_hide_is_said():
    found = against(reviewed(BEFORE, 5, 5), reviewed(arm("cached", CACHED), 5, 5))
    assert "though with 5 and 5 judged up to 43 % fewer could pass" in plain(found.detail)


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        ({"each": Usage(input=2_000, output=700)}, "a task took 2,000 input tokens instead of 7,0"),
        ({"each": Usage(input=7_000, output=200)}, "answers took 200 tokens a task instead of 700"),
        (
            {"each": SINGLE, "rates": Rates(500, 2_500, 0, 0, 0)},
            "a token cost 50 % less",
        ),
        (
            {"each": SINGLE, "rates": Rates(500, 2_500, 0, 0, 0), "model": "other"},
            "a token of other costs 50 % less than of claude-haiku-5-5",
        ),
    ],
)
def test_a_fall_is_put_down_to_the_money_that_changed_most(after, reason):
    assert f": {reason}" in sentence(BEFORE, arm("after", **after))


def test_fewer_failed_attempts_are_a_reason_too():
    before = arm("before", SINGLE, failed=times(SINGLE, 20))
    assert ": failed and regenerated attempts took 0 % of the money instead of 29 %" in sentence(
        before, BEFORE
    )


# Dearer


def test_a_context_below_the_minimum_is_the_reason_where_caching_was_lost():
    short = arm("cached", SINGLE, shared_tokens=1_200, minimum_tokens=4_096)
    found = against(arm("cached v1", CACHED), short)
    assert plain(found.headline).startswith("Cost per task rose by 10")
    assert plain(found.headline).endswith(
        ": the shared context has 1,200 tokens, below the model's minimum of 4,096, so nothing was"
        " cached."
    )
    assert (found.tone, found.arms[0].verdict) == ("dead", "worse")
    assert "Only examples that make answers better" in advised(found)["context"]


def test_a_context_far_below_the_minimum_is_not_to_be_filled_up():
    short = arm("cached", SINGLE, shared_tokens=300, minimum_tokens=4_096)
    found = against(arm("cached v1", CACHED), short)
    assert advised(found)["context"].startswith("A longer context is not the answer.")


def test_that_nothing_was_cached_is_said_beside_another_reason():
    longer = Usage(input=7_000, output=1_400)
    after = arm("cached", longer, shared_tokens=1_200, minimum_tokens=4_096)
    assert sentence(BEFORE, after).endswith(
        ": answers took 1,400 tokens a task instead of 700. The shared context has 1,200 tokens,"
        " below the model's minimum of 4,096, so nothing was cached."
    )


def test_a_cache_written_more_often_than_read_is_the_reason():
    each = Usage(input=1_000, output=700, cache_write_5m=5_000, cache_read=1_000)
    found = against(BEFORE, arm("cached", each))
    assert plain(found.headline).endswith(
        ": more was written to the cache than read from it (5,000 and 1,000 tokens a task)."
    )
    assert advised(found)["longer_lifetime"].startswith("Let cache entries live longer.")
    hour = Usage(input=1_000, output=700, cache_write_1h=5_000, cache_read=1_000)
    assert advised(against(BEFORE, arm("cached", hour)))["longer_lifetime"].startswith(
        "Send items closer together."
    )


def test_a_cache_that_is_read_less_than_before_is_the_reason():
    less = Usage(input=5_000, output=700, cache_read=2_000)
    found = against(arm("v1", CACHED), arm("v2", less))
    assert ": 29 % of input tokens came from the cache instead of 86 %." in plain(found.headline)
    assert "split" in advised(found)


def test_a_growing_conversation_is_the_reason():
    each = Usage(input=1_000, output=700, cache_read=90_000)
    found = against(BEFORE, arm("session, S 8", each, group=8))
    assert plain(found.headline).endswith(
        ": a task took 91,000 input tokens instead of 7,000, as each call carries the conversation"
        " before it."
    )
    assert advised(found)["smaller_group"].startswith("Make conversations shorter.")


def test_retries_and_regenerations_are_the_reason():
    after = arm("single", SINGLE, failed=times(SINGLE, 20), attempts=70, failed_attempts=20)
    found = against(BEFORE, after)
    assert plain(found.headline).endswith(
        ": failed and regenerated attempts took 29 % of the money instead of 0 %."
    )
    assert advised(found)["failures"].startswith("Look at the failed attempts. 20 of 70")
    assert advised(found)["avoid"].startswith("Go back to single.")


def test_items_that_went_missing_from_packed_calls_are_the_reason():
    after = arm("packed, k 10", SINGLE, failed=times(SINGLE, 20), group=10, calls=7, attempts=70,
                failed_attempts=20)  # fmt: skip
    found = against(BEFORE, after)
    assert plain(found.headline).endswith(", with 10 items in a call 20 of 70 attempts.")
    assert advised(found)["smaller_group"].endswith("Try 5.")


def test_a_reason_comes_from_the_data_and_not_from_the_name_of_a_mode():
    as_session = arm("session, S 8", Usage(input=7_000, output=1_400), group=8)
    assert ": answers took 1,400 tokens" in sentence(BEFORE, as_session)


def test_where_a_few_items_take_most_of_the_money_the_batch_is_to_be_split():
    after = arm("cached", Usage(input=20_000, output=700))
    tasks = [replace(t, cost=t.cost * (30 if n < 5 else 1)) for n, t in enumerate(after.tasks)]
    assert (
        "Items differ: their costs stray"
        in advised(against(BEFORE, replace(after, tasks=tasks)))["split"]
    )


def test_arms_of_which_no_tokens_are_known_get_a_verdict_without_a_reason():
    bare = [replace(one, usage=Usage(), money=Usage()) for one in (BEFORE, arm("b", CACHED))]
    assert sentence(*bare) == "Cost per task fell by 51 % (50–53 %)."


# No difference, or not enough


def test_no_difference_is_told_with_what_it_could_be():
    found = against(BEFORE, arm("cached", SINGLE, seed=3))
    assert found.arms[0].verdict is Verdict.NO_DIFFERENCE
    assert plain(found.headline) == "No difference found: between 2 % less and 2 % more."
    assert found.more_needed is None


def test_the_same_cost_to_the_last_unit_is_no_difference():
    same = [TaskCost(f"k{n}", 7, True) for n in range(9)]
    for paired in (True, False):
        found = against(replace(BEFORE, tasks=same), replace(BEFORE, tasks=same), paired=paired)
        assert found.headline == "No difference found: the cost per task is the same."
        change = found.arms[0].change
        assert (change.low, change.mid, change.high) == (0, 0, 0)


def test_costs_without_any_spread_differ_for_certain():
    before = replace(BEFORE, tasks=[TaskCost(f"k{n}", 10, True) for n in range(9)])
    after = replace(BEFORE, tasks=[TaskCost(f"k{n}", 7, True) for n in range(9)])
    assert sentence(before, after) == "Cost per task fell by 30 %."


def test_among_equals_the_faster_one_is_recommended():
    found = against(replace(BEFORE, seconds=100.0), replace(BEFORE, label="cached", seconds=50.0))
    assert advised(found)["faster"] == (
        "Take cached: it is faster. 3,600 tasks an hour against 1,800."
    )


def test_no_difference_in_cost_does_not_excuse_a_worse_review():
    found = against(reviewed(BEFORE), reviewed(arm("b", SINGLE), passed=20))
    assert found.arms[0].verdict is Verdict.NOT_BETTER
    assert plain(found.headline).startswith(
        "Not better: fewer pass review: 40 % instead of 96 %. On cost no difference found"
    )


def test_too_few_items_are_told_with_how_many_more_are_needed():
    before = arm("single", SINGLE, items=12, spread=0.9)
    after = arm("cached", times(SINGLE, 1), items=12, spread=0.9, seed=5, rates=Rates(
        850, 4_250, 0, 0, 0))  # fmt: skip
    found = against(before, after)
    assert found.arms[0].verdict is Verdict.UNDECIDED
    assert found.more_needed
    assert plain(found.headline) == (
        f"Not enough items to tell: about {found.more_needed:,} more are needed."
    )
    assert advised(found)["more"].startswith(f"Run about {found.more_needed:,} more items")


def test_so_many_more_items_spread_alike_do_decide():
    before = arm("single", SINGLE, items=12, spread=0.9)
    after = arm("cached", SINGLE, items=12, spread=0.9, seed=5, rates=Rates(850, 4_250, 0, 0, 0))
    more = against(before, after).more_needed
    grown = [
        replace(one, tasks=[
            replace(task, key=f"{task.key} {copy}")
            for copy in range(2 + more // 12) for task in one.tasks
        ])
        for one in (before, after)
    ]  # fmt: skip
    assert verdict(*grown) in {Verdict.CHEAPER, Verdict.WORSE, Verdict.NO_DIFFERENCE}


@pytest.mark.parametrize("items", [0, 1, 2, 4])
def test_with_a_handful_of_items_nothing_is_said(items):
    few = [
        arm("a", SINGLE, items=items) if items else replace(BEFORE, tasks=[]),
        arm("b", CACHED, items=50),
    ]
    found = against(*few)
    assert found.arms[0].verdict is Verdict.UNDECIDED
    assert found.headline.startswith("Not enough items to tell:")
    assert found.more_needed >= 1


def test_an_arm_without_a_single_result_has_no_cost_per_task():
    dead = replace(BEFORE, label="cached", tasks=[replace(t, ok=False) for t in BEFORE.tasks])
    found = against(BEFORE, dead)
    assert found.arms[0].cost_per_task is None
    assert found.arms[0].verdict is Verdict.NOT_BETTER
    assert "none of cached succeeded" in found.headline


def test_work_that_cost_nothing_is_not_compared():
    free = replace(BEFORE, tasks=[replace(task, cost=0) for task in BEFORE.tasks])
    assert verdict(free, free) is Verdict.UNDECIDED


# Unknown costs


def test_a_verdict_that_rests_on_the_bound_of_lost_attempts_is_not_given():
    lost = arm("single", CACHED, unknown=30_000_000, unknown_attempts=1, lost=1, spread=0)
    even = [replace(t, cost=t.cost + 8_000_000 * (n != 0)) for n, t in enumerate(lost.tasks)]
    spread = [replace(t, cost=15_000_000, unknown=9_900_000) for t in even]
    before = replace(lost, tasks=spread)
    after = arm("cached", CACHED)
    found = against(before, after)
    assert found.arms[0].change.high < 0
    assert found.arms[0].verdict is Verdict.UNDECIDED
    assert found.headline == (
        "Not certain: it depends on what 1 attempt of unknown cost really cost."
    )


def test_a_verdict_that_holds_either_way_is_given_and_the_bound_named():
    after = arm("cached", CACHED, unknown=2_000_000, unknown_attempts=3)
    found = against(BEFORE, after)
    assert found.arms[0].verdict is Verdict.CHEAPER
    assert "3 attempts of unknown cost counted at the bound, $0.000200 in all." in found.detail


def test_costs_without_a_price_are_not_compared():
    found = against(BEFORE, arm("cached", CACHED, unpriced=4))
    assert found.headline == "The cost is not known: attempts of cached had no price."
    assert found.arms[0].cost_per_task is None
    assert found.arms[0].change is None


# Cost per task


def test_the_cost_of_dead_items_is_borne_by_the_others():
    tasks = [TaskCost("a", 300, True), TaskCost("b", 300, False), TaskCost("c", 300, True)]
    found = against(replace(BEFORE, tasks=tasks), BEFORE).before
    assert found.cost_per_task.mid == Decimal("450e-10")
    assert found.failure_share == pytest.approx(1 / 3)


def test_shares_and_throughput_are_unknown_where_there_is_nothing_to_divide_by():
    nothing = ArmData("a", "single", "", ())
    found = against(nothing, nothing)
    assert (found.before.cache_share, found.before.pass_share) == (None, None)
    assert (found.before.tasks_per_hour, found.before.failure_share) == (None, None)


def test_pairing_finds_what_the_spread_between_items_hides():
    chance = random.Random(4)
    sizes = [chance.lognormvariate(0, 1) * 1e7 for _ in range(40)]
    before = [TaskCost(f"k{n}", round(size), True) for n, size in enumerate(sizes)]
    after = [replace(t, cost=round(t.cost * chance.uniform(0.8, 0.9))) for t in before]
    arms = replace(BEFORE, tasks=before), replace(BEFORE, tasks=list(reversed(after)))
    assert verdict(*arms, paired=True) is Verdict.CHEAPER
    assert verdict(*arms) is Verdict.UNDECIDED


def test_only_items_that_both_arms_have_are_paired():
    longer = replace(BEFORE, tasks=[*BEFORE.tasks, TaskCost("only here", 10**12, True)])
    found = against(longer, arm("cached", CACHED), paired=True)
    assert found.same_items == 50
    assert "on the same 50 items" in found.detail
    assert found.detail.startswith("$0.00105 → $0.00051 per task"), "what only one did is no part"
    assert found.arms[0].change.mid == pytest.approx(-0.514, abs=0.001)


def test_a_key_that_is_twice_cannot_be_paired():
    twice = replace(BEFORE, tasks=[*BEFORE.tasks, BEFORE.tasks[0]])
    with pytest.raises(ValueError, match="k0 is twice"):
        against(twice, BEFORE, paired=True)
    with pytest.raises(ValueError, match="two arms"):
        compare([BEFORE], paired=False)


# Several arms


def test_of_several_better_arms_the_cheapest_is_chosen_and_the_dearer_named_so():
    half = Usage(input=4_000, output=700, cache_read=3_000)
    found = against(
        reviewed(BEFORE),
        reviewed(arm("session, S 8", half, seed=2)),
        reviewed(arm("cached", CACHED, seed=3)),
        reviewed(arm("packed, k 5", Usage(input=1_000, output=500), group=5), passed=39),
    )
    assert [one.words for one in found.arms] == [
        "Better, but dearer than cached", "Better", "Not better: fails review more",
    ]  # fmt: skip
    assert found.chosen.data.label == "cached"
    assert found.headline == found.arms[1].sentence
    assert found.detail.startswith("$0.00105 (single) → $0.00051 (cached) per task")
    assert "It saves another $0.000160 a task" in advised(found)["avoid"]


def test_several_arms_widen_the_intervals_so_that_they_hold_together():
    after = arm("cached", CACHED, seed=2)
    alone = against(BEFORE, after).arms[0].change
    among = against(BEFORE, after, after, after).arms[0].change
    assert among.low < alone.low < alone.high < among.high


# The parts of a change


@given(
    *[st.builds(Usage, *[st.integers(0, 10_000)] * 5)] * 2,
    *[st.builds(Usage, *[st.integers(0, 900)] * 5)] * 2,
)
def test_the_parts_of_a_change_add_up_to_it(each, each_after, failed, failed_after):
    dearer = Rates(1_500, 7_500, 1_900, 3_000, 150)
    before = arm("a", each, failed=failed)
    after = arm("b", each_after, failed=failed_after, rates=dearer, dead=5)
    found = effects(before, after)
    if found is not None:
        change = after.cost / after.succeeded - before.cost / before.succeeded
        assert sum(vars(found).values()) == pytest.approx(change, abs=1)


# Words


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        (Interval(-0.44, -0.41, -0.38), "41 % (38–44 %)"),
        (Interval(0.02, 0.09, 0.16), "9 % (2–16 %)"),
        (Interval(-0.006, -0.004, -0.002), "0.4 % (0.2–0.6 %)"),
        (Interval(-0.501, -0.5, -0.499), "50.0 % (49.9–50.1 %)"),
        (Interval(-0.3, -0.3, -0.3), "30 %"),
        (Interval(0.5, 12.5, 30.25), "1,250 % (50–3,025 %)"),
        (Interval(0.5, 1.5, None), "150 % (at least 50 %)"),
    ],
)
def test_a_change_is_written_with_its_interval(interval, text):
    assert plain(words.change(interval)) == text


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        (Interval(-0.03, 0.0, 0.02), "between 3 % less and 2 % more"),
        (Interval(-0.004, 0.0, 0.003), "between 0.4 % less and 0.3 % more"),
        (Interval(-0.0001, 0.0, 0.012), "between no change and 1.2 % more"),
        (Interval(None, 0.0, 0.012), "anything"),
    ],
)
def test_a_change_of_either_sign_is_written_as_a_range(interval, text):
    assert plain(words.between(interval)) == text


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("0.0217", "$0.0217"),
        ("1.5", "$1.5000"),
        ("0.00051", "$0.000510"),
        ("0", "$0"),
        ("1e-10", "$0.000000000100"),
    ],
)
def test_the_cost_of_a_task_shows_three_digits(amount, text):
    assert words.usd(Decimal(amount)) == text


def test_half_the_price_of_single_calls_is_offered_where_nothing_tried_is_cheaper():
    less = replace(SINGLE, input=SINGLE.input * 4 // 5)
    dear = against(reviewed(BEFORE), reviewed(arm("cached", less, seed=2)))
    assert "Half the price of single calls" in advised(dear)["untried"]
    cheap = against(reviewed(BEFORE), reviewed(arm("cached", CACHED, seed=2)))
    assert "untried" not in advised(cheap), "cached costs less than half already"
