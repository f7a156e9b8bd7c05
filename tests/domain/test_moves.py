"""Which move may follow which state: the table itself, walked whole."""

import pytest

from batchboard.models import Batch, Event
from batchboard.states import BATCH_MOVES, BatchState, MoveRefused
from tests.factories import draft

pytestmark = pytest.mark.django_db

EVERY = [(verb, state) for verb in BATCH_MOVES for state in BatchState]
LEGAL = [(verb, state) for verb, state in EVERY if state in BATCH_MOVES[verb].sources]
ILLEGAL = [pair for pair in EVERY if pair not in LEGAL]


def in_state(state):
    batch = draft(1)
    Batch.objects.filter(pk=batch.pk).update(state=state)
    batch.refresh_from_db()
    return batch


def row(batch):
    return Batch.objects.filter(pk=batch.pk).values().get()


@pytest.mark.parametrize(("verb", "state"), LEGAL)
def test_a_legal_move_is_made_and_told_once(verb, state):
    batch = in_state(state)
    Event.objects.all().delete()
    batch._move(verb, None)
    assert row(batch)["state"] == BATCH_MOVES[verb].target
    assert [event.verb for event in Event.objects.all()] == [f"batch.{verb}"]


@pytest.mark.parametrize(("verb", "state"), ILLEGAL)
def test_an_illegal_move_is_refused_and_changes_nothing(verb, state):
    batch = in_state(state)
    before, told = row(batch), Event.objects.count()
    with pytest.raises(MoveRefused, match=f"is (in )?{state}: {verb} is possible only from"):
        batch._move(verb, None, name="changed")
    assert row(batch) == before
    assert Event.objects.count() == told


def test_of_two_who_make_the_same_move_one_wins():
    batch = draft(1)
    mine, theirs = Batch.objects.get(pk=batch.pk), Batch.objects.get(pk=batch.pk)
    mine.start()
    with pytest.raises(MoveRefused):
        theirs.start()
    assert Event.objects.filter(batch=batch, verb="batch.start").count() == 1


VERBS = {
    "start": {"draft"},
    "pause": {"queued", "running"},
    "resume": {"paused"},
    "cancel": {"draft", "queued", "running", "paused", "review"},
}


@pytest.mark.parametrize("state", BatchState)
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_of_a_person_works_from_its_states_only(verb, state):
    batch = in_state(state)
    before, told = row(batch), Event.objects.count()
    if state in VERBS[verb]:
        getattr(batch, verb)()
        assert row(batch) != before
    else:
        with pytest.raises(MoveRefused):
            getattr(batch, verb)()
        assert (row(batch), Event.objects.count()) == (before, told)
