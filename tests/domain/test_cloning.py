"""A batch is run again from its items: a new draft with its own estimate."""

from decimal import Decimal

import pytest

from batchboard import intake
from batchboard.models import Batch, RunOptions
from batchboard.roles import NotAllowed, Role
from batchboard.states import MoveRefused
from dispatch import forecast
from tests.factories import draft, in_review, judge_all, new_version, person, states

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def counts(monkeypatch):
    """The provider is not asked; returns how often it would have been."""
    asked = []

    def count(*given):
        asked.append(given)
        return forecast.Counted(40, 100, 30)

    monkeypatch.setattr(forecast, "count", count)
    return asked


def test_a_clone_is_a_draft_of_the_same_items_and_options():
    ada = person()
    batch = in_review(4, bad=1, budget=Decimal("3"), concurrency=2, allowed_bad=1, priority=5)
    made = intake.clone(batch, by=ada)
    assert (made.state, made.total, states(made)) == ("draft", 4, {"waiting": 4})
    assert (made.owner, made.clone_of, made.cost) == (ada, batch, 0)
    assert RunOptions.of(made) == RunOptions.of(batch)
    pairs = [list(one.items.order_by("position").values_list("key", "input__data"))
             for one in (batch, made)]  # fmt: skip
    assert pairs[0] == pairs[1]
    assert 0 < made.estimate_expected < made.estimate_worst


def test_it_takes_the_newest_version_unless_told_otherwise():
    batch = draft(2)
    newer = new_version(batch.version, max_tokens=900)
    assert intake.clone(batch).version == newer
    same = intake.clone(batch, newest=False)
    assert same.version == batch.version
    assert batch.version.task_type.versions.count() == 2
    assert same.estimate_worst < intake.clone(batch).estimate_worst


def test_bytes_of_prompts_are_those_of_the_new_version():
    batch = draft(1)
    longer = new_version(batch.version)
    type(longer).objects.filter(pk=longer.pk).update(prompt="Look hard at {{ text }}, please")
    made = intake.clone(batch)
    assert made.items.get().prompt_bytes == len("Look hard at row 0, please")


def test_items_that_lack_what_the_newest_prompt_names_make_nothing():
    batch = draft(2)
    newer = new_version(batch.version)
    type(newer).objects.filter(pk=newer.pk).update(prompt="{{ text }} {{ price }}")
    with pytest.raises(MoveRefused, match="names price, which k0 does not have"):
        intake.clone(batch)
    assert Batch.objects.count() == 1
    assert intake.clone(batch, newest=False).total == 2


def test_the_provider_counts_a_version_once(counts):
    batch = draft(3)
    intake.clone(batch)
    intake.clone(batch)
    assert len(counts) == 1


def test_only_operators_clone():
    batch = draft(2)
    with pytest.raises(NotAllowed):
        intake.clone(batch, by=person(roles=[Role.REVIEWER]))
    assert Batch.objects.count() == 1


def test_what_is_sent_again_after_a_rejection_has_an_estimate():
    batch = in_review(4)
    judge_all(batch, fails=1)
    again = intake.reject(batch, "Off the point.", rerun="all")
    assert (again.state, again.total) == ("queued", 4)
    assert 0 < again.estimate_expected < again.estimate_worst
    assert again.estimate_seconds is not None
