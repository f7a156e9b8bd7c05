"""The review: a random sample, a person's verdicts, and the decision."""

import random

import pytest

from batchboard.drawing import draw
from batchboard.models import Batch, Event, Limits, SampledItem
from batchboard.roles import Role
from batchboard.states import MoveRefused
from tests.factories import draft, in_review, judge_all, new_version, person

pytestmark = pytest.mark.django_db


def drawn(batch):
    return [row["key"] for row in batch.sample()]


def keys(count):
    return [f"k{n}" for n in range(count)]


def row(batch):
    return Batch.objects.filter(pk=batch.pk).values().get()


# The sample


def test_the_sample_follows_from_the_seed_and_not_from_the_order_of_the_rows():
    batch = in_review(20)
    review = batch.reviews.get()
    shuffled = keys(20)
    random.Random(1).shuffle(shuffled)
    assert review.seed == batch.seed
    assert drawn(batch) == draw(review.seed, shuffled, 5)


def test_another_seed_draws_another_sample():
    samples = {tuple(draw(str(seed), keys(20), 5)) for seed in range(50)}
    assert len(samples) > 45


@pytest.mark.parametrize(
    ("results", "asked", "size"),
    [(1, None, 1), (2, None, 2), (3, None, 3), (20, None, 5), (20, 8, 8), (20, 1, 3), (2, 9, 2)],
)
def test_the_sample_holds_what_was_asked_for_and_at_least_three_or_all(results, asked, size):
    batch = in_review(results, sample_size=asked)
    assert len(drawn(batch)) == size
    assert batch.reviews.get().population == results


def test_only_results_are_drawn():
    batch = in_review(8, bad=5)
    assert sorted(drawn(batch)) == ["k0", "k1", "k2"]


def test_a_drawn_result_is_shown_beside_its_input():
    (row,) = in_review(1).sample()
    assert row == {
        "key": "k0", "input": {"text": "row 0"}, "output": "an answer", "verdict": None, "note": ""
    }  # fmt: skip


def test_nothing_is_shown_before_the_review():
    with pytest.raises(MoveRefused, match="nothing was drawn"):
        list(draft().sample())


def test_drawing_more_only_adds():
    batch = in_review(20)
    before = drawn(batch)
    batch.judge(before[0], "fail", "wrong")
    assert batch.draw_more(4) == 4
    assert drawn(batch)[:5] == before
    assert len(set(drawn(batch))) == 9
    assert batch.draw_more(100) == 11
    assert sorted(drawn(batch)) == sorted(keys(20))
    assert next(batch.sample())["verdict"] == "fail"
    assert batch.draw_more(1) == 0
    assert batch.draw_more(-5) == 0
    assert len(drawn(batch)) == 20


# Verdicts


@pytest.mark.parametrize("note", ["", "  \n"])
def test_a_fail_needs_a_note(note):
    batch = in_review(5)
    with pytest.raises(MoveRefused, match="needs a note"):
        batch.judge("k0", "fail", note)
    assert batch.open_review.judged == 0


def test_a_verdict_is_kept_with_who_gave_it():
    ada, batch = person(), in_review(5)
    batch.judge("k1", "fail", " wrong ", by=ada)
    sampled = SampledItem.objects.get(item__key="k1")
    assert (sampled.verdict, sampled.note, sampled.judged_by) == ("fail", "wrong", ada)
    event = Event.objects.first()
    assert (event.verb, event.actor) == ("review.judged", ada)
    assert event.detail == {"key": "k1", "verdict": "fail", "note": "wrong"}


def test_a_verdict_may_change_and_be_taken_back_until_the_decision():
    batch = in_review(5)
    batch.judge("k0", "fail", "wrong")
    batch.judge("k0", "pass")
    assert (batch.open_review.judged, batch.open_review.bad) == (1, 0)
    batch.take_back("k0")
    sampled = SampledItem.objects.get(item__key="k0")
    assert (sampled.verdict, sampled.note, sampled.judged_by, sampled.judged_at) == (
        "", "", None, None,
    )  # fmt: skip
    judge_all(batch)
    batch.approve()
    for change in (lambda: batch.judge("k0", "pass"), lambda: batch.take_back("k0")):
        with pytest.raises(MoveRefused, match="no open review"):
            change()


def test_a_verdict_of_another_person_has_to_be_taken_back_first():
    ada, ben = person(roles=[Role.REVIEWER]), person("Ben", roles=[Role.REVIEWER])
    batch = in_review(5)
    batch.judge("k0", "fail", "wrong", by=ada)
    with pytest.raises(MoveRefused, match=r"judged k0 already .*fail.* Take that verdict back"):
        batch.judge("k0", "pass", by=ben)
    sampled = SampledItem.objects.get(item__key="k0")
    assert (sampled.verdict, sampled.note, sampled.judged_by) == ("fail", "wrong", ada)
    batch.judge("k0", "fail", "very wrong", by=ada)
    batch.take_back("k0", by=ben)
    batch.judge("k0", "pass", by=ben)
    assert SampledItem.objects.get(item__key="k0").judged_by == ben


def test_only_drawn_results_are_judged():
    batch = in_review(20)
    other = next(key for key in keys(20) if key not in drawn(batch))
    with pytest.raises(MoveRefused, match="not in the sample"):
        batch.judge(other, "pass")


def test_a_verdict_is_pass_or_fail():
    batch = in_review(3)
    with pytest.raises(ValueError):
        batch.judge("k0", "perhaps")


# Approving


def refused(batch, match, **arguments):
    before, told = row(batch), Event.objects.count()
    with pytest.raises(MoveRefused, match=match):
        batch.approve(**arguments)
    assert (row(batch), Event.objects.count()) == (before, told)


def test_every_drawn_result_must_be_judged():
    batch = in_review(5)
    refused(batch, "5 of 5 .* not judged")
    judge_all(batch)
    batch.take_back("k3")
    refused(batch, "1 of 5 .* not judged")
    refused(batch, "1 of 5 .* not judged", override="they are all fine")


def test_more_that_are_drawn_must_be_judged_too():
    batch = in_review(20)
    judge_all(batch)
    batch.draw_more(1)
    refused(batch, "1 of 6 .* not judged")


def test_an_approved_batch_is_released():
    ada, batch = person(), in_review(5)
    judge_all(batch)
    batch.approve(ada)
    review = batch.reviews.get()
    assert (batch.state, review.state, review.decided_by) == ("released", "approved", ada)
    assert batch.decided_at is not None
    verbs = Event.objects.filter(batch=batch, actor=ada).order_by("id")
    assert list(verbs.values_list("verb", flat=True)) == ["batch.approve", "batch.release"]


def test_approving_twice_is_refused():
    batch = in_review(5)
    judge_all(batch)
    batch.approve()
    refused(batch, "no open review")


@pytest.mark.parametrize(("allowed", "bad"), [(0, 1), (1, 2), (0, 5)])
def test_more_bad_ones_than_the_plan_allows_need_a_reason(allowed, bad):
    batch = in_review(5)
    Batch.objects.filter(pk=batch.pk).update(allowed_bad=allowed)
    batch.refresh_from_db()
    judge_all(batch, fails=bad)
    refused(batch, f"{bad} of 5 .* bad and the plan allows {allowed}")
    refused(batch, f"{bad} of 5 .* bad", override="  ")
    batch.approve(override="Known and harmless.")
    assert batch.state == "released"
    assert batch.reviews.get().reason == "Known and harmless."
    told = Event.objects.get(batch=batch, verb="batch.approve").detail
    assert told == {"bad": bad, "drawn": 5, "reason": "Known and harmless."}


def test_as_many_bad_ones_as_the_plan_allows_pass():
    batch = in_review(5)
    Batch.objects.filter(pk=batch.pk).update(allowed_bad=2)
    batch.refresh_from_db()
    judge_all(batch, fails=2)
    batch.approve()
    assert batch.state == "released"


def test_overriding_is_a_right_that_is_given():
    batch, ada = in_review(5), person(roles=[Role.REVIEWER])
    judge_all(batch, fails=1)
    refused(batch, "Only an administrator may approve against", by=ada, override="harmless")
    batch.approve(by=person(roles=[Role.ADMIN]), override="harmless")
    assert batch.state == "released"


@pytest.mark.parametrize(
    ("allowed", "starter", "released"),
    [(False, True, False), (False, False, True), (True, True, True)],
)
def test_who_started_it_may_approve_only_where_the_team_allows_it(
    settings, allowed, starter, released
):
    settings.STARTER_MAY_APPROVE = not allowed
    Limits.objects.current().change(starter_may_approve=allowed)
    ada, ben = person("Ada"), person("Ben")
    batch = in_review(5, by=ada)
    judge_all(batch, by=ada)
    if released:
        batch.approve(ada if starter else ben)
        assert batch.state == "released"
    else:
        refused(batch, "may not approve", by=ada)


def test_without_results_there_is_nothing_to_approve():
    batch = in_review(3, bad=3)
    assert (batch.state, drawn(batch)) == ("review", [])
    refused(batch, "no results")
    refused(batch, "no results", override="anyway")


# Rejecting


def test_a_rejection_needs_a_reason():
    batch = in_review(5)
    with pytest.raises(MoveRefused, match="needs a reason"):
        batch.reject("  ")
    batch.refresh_from_db()
    assert batch.state == "review"


def test_a_rejected_batch_ends_there():
    ada, batch = person(), in_review(5)
    assert batch.reject("Off the point.", ada) is None
    review = batch.reviews.get()
    assert (batch.state, review.state, review.reason) == ("rejected", "rejected", "Off the point.")
    told = Event.objects.get(batch=batch, verb="batch.reject").detail
    assert told == {"reason": "Off the point."}
    assert Batch.objects.count() == 1


@pytest.mark.parametrize(
    ("which", "sent"),
    [("bad", {"k0", "k3", "k4"}), ("all", {"k0", "k1", "k2", "k3", "k4"})],
)
def test_a_rejected_batch_is_sent_again_under_the_newest_version(which, sent):
    ada = person()
    batch = in_review(5, bad=2, concurrency=3, sample_size=4, priority=1, budget="9")
    version = new_version(batch.version, prompt="Look closely at {{ text }}")
    batch.judge("k0", "fail", "wrong")
    again = batch.reject("Off the point.", ada, rerun=which)
    again.refresh_from_db()
    assert (again.state, again.rerun_of, again.version) == ("queued", batch, version)
    assert (again.started_by, again.name) == (ada, "Pile (again)")
    assert {(i.key, i.state, i.input.data["text"]) for i in again.items.all()} == {
        (key, "waiting", f"row {key[1:]}") for key in sent
    }
    assert (again.total, again.succeeded, again.cost) == (len(sent), 0, 0)
    for option in ("concurrency", "sample_size", "priority", "budget", "mode", "schedule"):
        assert getattr(again, option) == Batch.objects.values_list(option, flat=True).get(
            pk=batch.pk
        )


def test_a_rerun_of_nothing_leaves_the_review_open():
    batch = in_review(5)
    judge_all(batch)
    with pytest.raises(MoveRefused, match="nothing to send again"):
        batch.reject("Off the point.", rerun="bad")
    batch.refresh_from_db()
    assert (batch.state, batch.reviews.get().state) == ("review", "open")
    assert Batch.objects.count() == 1


def test_a_rerun_is_of_the_bad_ones_or_of_all():
    batch = in_review(5)
    with pytest.raises(ValueError):
        batch.reject("Off the point.", rerun="some")
    batch.refresh_from_db()
    assert batch.state == "review"
