"""The installation's limits: what a person may set, and what follows."""

from decimal import Decimal

import pytest

from batchboard.models import Batch, Event, Limits, ModelLimit, Spend
from batchboard.roles import Role
from batchboard.states import Block
from tests.factories import admit, live_worker, person, queued

pytestmark = pytest.mark.django_db


@pytest.fixture
def limits():
    return Limits.objects.current()


def test_there_is_one_row(limits):
    assert Limits.objects.current().pk == limits.pk
    assert Limits.objects.count() == 1


def test_until_somebody_sets_a_limit_the_environment_holds(limits, settings):
    settings.DISPATCH_CONCURRENCY = 33
    assert limits.cap == 33
    limits.change(concurrency=5)
    assert limits.cap == 5


@pytest.mark.parametrize(
    ("name", "value", "stored"),
    [
        ("concurrency", "1", 1),
        ("concurrency", 10_000, 10_000),
        ("rpm", "600", 600),
        ("itpm", 1, 1),
        ("otpm", 10**9, 10**9),
        ("headroom", "0.05", 0.05),
        ("headroom", 1, 1.0),
        ("budget", "12.34", Decimal("12.34")),
        ("budget", 0, Decimal(0)),
        ("budget", "", None),
        ("budget_period", "all", "all"),
        ("starter_may_approve", "no", False),
    ],
)
def test_a_value_that_fits_is_stored(limits, name, value, stored):
    limits.change(**{name: value})
    assert getattr(Limits.objects.get(), name) == stored


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("concurrency", 0),
        ("concurrency", 10_001),
        ("concurrency", "many"),
        ("concurrency", None),
        ("rpm", 0),
        ("rpm", 10**10),
        ("itpm", -1),
        ("otpm", "1.5"),
        ("headroom", 0),
        ("headroom", 1.01),
        ("headroom", "nan"),
        ("budget", "-0.01"),
        ("budget", "NaN"),
        ("budget", "Infinity"),
        ("budget", "a lot"),
        ("budget", "1e30"),
        ("budget_period", "week"),
        ("starter_may_approve", "perhaps"),
    ],
)
def test_a_value_that_does_not_fit_changes_nothing(limits, name, value):
    with pytest.raises(ValueError, match=rf"^{name}: .* Nothing was changed\.$"):
        limits.change(**{"rpm" if name != "rpm" else "itpm": 77, name: value})
    stored = Limits.objects.get()
    assert (stored.rpm, stored.itpm, getattr(stored, name)) == (None, None, None)
    assert not Event.objects.exists()


def test_a_change_is_told_with_who_and_what(limits):
    ada = person(roles=[Role.ADMIN])
    assert limits.change(by=ada, rpm=50, headroom=0.8) == ["rpm"]  # 0.8 held already
    event = Event.objects.get()
    assert (event.verb, event.actor) == ("limits.changed", ada)
    assert event.detail == {"rpm": ["1000000000", "50"]}


def test_a_new_cap_holds_whole_and_forgets_the_cut(limits):
    Limits.objects.update(cap_factor=0.5, cap_reason="cut", clean_calls=9)
    limits.refresh_from_db()
    assert limits.cap_in_force == 10
    limits.change(concurrency=8)
    stored = Limits.objects.get()
    assert (stored.cap_in_force, stored.cap_reason, stored.clean_calls) == (8, "", 0)


def test_another_limit_leaves_the_cut_alone(limits):
    Limits.objects.update(cap_factor=0.5)
    limits.change(rpm=50)
    assert Limits.objects.get().cap_factor == 0.5


@pytest.mark.parametrize(
    ("cap", "factor", "in_force"),
    [(20, 1.0, 20), (20, 0.8, 16), (20, 0.01, 1), (1, 0.5, 1), (3, 0.66, 2), (20, 1.4, 20)],
)
def test_the_cap_in_force(limits, cap, factor, in_force):
    limits.concurrency, limits.cap_factor = cap, factor
    assert limits.cap_in_force == in_force


@pytest.mark.parametrize(("period", "spent"), [("month", "3"), ("all", "10")])
def test_known_and_unknown_costs_count_for_the_period(limits, clock, period, spent):
    Spend.objects.create(month="2026-11", known=Decimal(2), unknown=Decimal(1))
    Spend.objects.create(month="2026-10", known=Decimal(7))
    limits.change(budget_period=period)
    assert limits.spent(clock.now) == Decimal(spent)


@pytest.mark.parametrize("change", [{"budget": 5}, {"budget_period": "all"}])
def test_a_new_ceiling_lifts_what_it_blocked_and_nothing_else(limits, change):
    ceiling, own = queued(), queued()
    ceiling.block(Block.CEILING)
    own.block(Block.BUDGET)
    limits.change(**change)
    assert list(Batch.objects.order_by("id").values_list("blocked", flat=True)) == ["", "budget"]


def test_a_new_ceiling_lifts_a_paused_batchs_block_too(limits):
    batch = queued()
    batch.block(Block.CEILING)
    batch.pause()
    limits.change(budget=5)
    batch.refresh_from_db()
    assert (batch.state, batch.blocked) == ("paused", "")


@pytest.mark.parametrize(("period", "blocked"), [("month", ""), ("all", "ceiling")])
def test_a_new_month_lifts_what_the_last_ones_ceiling_blocked(limits, clock, period, blocked):
    old = queued()
    old.block(Block.CEILING)
    limits.change(budget_period=period, budget=5)
    Batch.objects.update(blocked=Block.CEILING)
    clock.advance(31 * 24 * 3600)
    new = queued()
    new.block(Block.CEILING)
    limits.lift_last_months_ceiling(clock.now)
    assert list(Batch.objects.order_by("id").values_list("blocked", flat=True)) == [
        blocked, "ceiling",
    ]  # fmt: skip


def test_one_pause_stops_everything_and_one_resume_starts_it(limits):
    ada = person()
    first, second = queued(2), queued(2)
    worker = live_worker()
    assert limits.pause_all(ada) is True
    assert limits.pause_all(ada) is False
    assert (limits.paused, limits.paused_by) == (True, ada)
    assert admit(worker).calls == []
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.waits_for, second.waits_for) == ("paused_all", "paused_all")
    assert limits.resume_all(ada) is True
    assert limits.resume_all(ada) is False
    assert (limits.paused, limits.paused_by) == (False, None)
    assert len(admit(worker).calls) == 4
    verbs = Event.objects.filter(batch=None).order_by("id").values_list("verb", flat=True)
    assert list(verbs) == ["limits.paused", "limits.resumed"]


def test_a_model_may_have_limits_of_its_own(limits):
    limits.change(rpm=500)
    assert limits.change_model("m", rpm="50", itpm="") == ["rpm"]
    own = ModelLimit.objects.get(pk="m")
    assert (own.allowed("rpm", limits), own.allowed("itpm", limits)) == (50, 10**9)
    assert limits.change_model("m", rpm=None) == ["rpm"]
    own.refresh_from_db()
    assert own.allowed("rpm", limits) == 500
    details = Event.objects.order_by("id").values_list("detail", flat=True)[1:]
    assert list(details) == [
        {"model": "m", "rpm": [None, "50"]},
        {"model": "m", "rpm": ["50", None]},
    ]


def test_what_the_provider_says_counts_where_it_is_less(limits):
    limits.change_model("m", rpm=50)
    ModelLimit.objects.filter(pk="m").update(told_rpm=40, told_itpm=2 * 10**9)
    own = ModelLimit.objects.get(pk="m")
    assert (own.allowed("rpm", limits), own.allowed("itpm", limits)) == (40, 10**9)


def test_a_limit_of_a_model_that_does_not_fit_changes_nothing(limits):
    with pytest.raises(ValueError, match=r"^otpm: 0 is not"):
        limits.change_model("m", rpm=50, otpm=0)
    assert not ModelLimit.objects.exists()


def test_without_an_amount_the_ceiling_of_the_environment_holds(limits, settings):
    settings.DISPATCH_BUDGET_USD = "25"
    limits.change(budget=5)
    assert limits.change(budget=None) == ["budget"]
    assert limits.configured("budget") == Decimal(25)
