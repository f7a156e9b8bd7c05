"""Which states an item goes through: the database tells of every change, whoever made it, and each
is one of the table's."""

import pytest
from django.db import connection

from batchboard import rows
from batchboard.states import ITEM_MOVES
from dispatch import governor, recorder, rescue
from dispatch.admitted import GRANT_SECONDS
from dispatch.deciding import deciding
from dispatch.live import count_live
from dispatch.outcome import Outcome
from tests.factories import admit, finished, in_review, live_worker, queued

pytestmark = pytest.mark.django_db

TOLD = "INSERT INTO item_moves VALUES (OLD.state, NEW.state);"
TELLING = {
    "sqlite": (
        "CREATE TABLE item_moves (source text, target text)",
        "CREATE TRIGGER tell_moves AFTER UPDATE OF state ON batchboard_item"
        f" WHEN OLD.state <> NEW.state BEGIN {TOLD} END",
    ),
    "postgresql": (
        "CREATE TABLE item_moves (source text, target text)",
        "CREATE FUNCTION tell_move() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN {TOLD} RETURN NULL; END $$",
        "CREATE TRIGGER tell_moves AFTER UPDATE OF state ON batchboard_item FOR EACH ROW"
        " WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION tell_move()",
    ),
}


@pytest.fixture
def moved(clock):
    """Returns the changes of items' states that were made, each once."""
    for statement in TELLING[connection.vendor]:
        rows.execute(statement)
    return lambda: set(rows.execute("SELECT source, target FROM item_moves"))


def settle(outcome, batch=None):
    worker = live_worker()
    ended = [finished(call, outcome) for call in admit(worker).calls]
    if batch is not None:
        batch.cancel()
    recorder.settle(worker.pk, ended, admits=False)


def sweep():
    with deciding() as made:
        rescue.sweep(made.limits, made.now)


def answered(clock):
    queued(2)
    settle(Outcome.OK)


def failed(clock):
    queued(2)
    settle(Outcome.REFUSED)


def held_up(clock):
    queued(2)
    settle(Outcome.RATE_LIMITED)


def cancelled(clock):
    settle(Outcome.CANCELLED, queued(2))


def cancelled_before_it_began(clock):
    queued(2).cancel()


def one_by_one_cancelled(clock):
    queued(2).cancel_items()


def sent_again(clock):
    in_review(2, bad=1).retry()


def lost(clock):
    queued(2)
    admit(live_worker(seconds=15))
    clock.advance(16)
    sweep()


def lost_for_good(clock):
    batch = queued(1)
    while batch.items.get().state != "dead":
        admit(live_worker(seconds=15))
        clock.advance(16)
        sweep()


def lost_and_cancelled(clock):
    batch = queued(2)
    admit(live_worker(seconds=15))
    batch.cancel()
    clock.advance(16)
    sweep()
    sweep()


def never_taken(clock):
    queued(2)
    admit(live_worker(), granted=True)
    clock.advance(GRANT_SECONDS)
    sweep()


def submitted(clock):
    queued(2, mode="provider_batch")
    with deciding() as made:
        governor.admit(made, [], count_live(made.limits), granted=True)


CLAIMED, WON, DEAD = ("waiting", "running"), ("running", "succeeded"), ("running", "dead")
BACK, REVIVED = ("running", "waiting"), ("dead", "waiting")
STOPPED, DROPPED = ("running", "cancelled"), ("waiting", "cancelled")
WAYS = {
    answered: {CLAIMED, WON},
    failed: {CLAIMED, DEAD},
    held_up: {CLAIMED, BACK},
    cancelled: {CLAIMED, STOPPED},
    cancelled_before_it_began: {DROPPED},
    one_by_one_cancelled: {DROPPED},
    sent_again: {CLAIMED, WON, DEAD, REVIVED},
    lost: {CLAIMED, BACK},
    lost_for_good: {CLAIMED, BACK, DEAD},
    lost_and_cancelled: {CLAIMED, BACK, DROPPED},
    never_taken: {CLAIMED, BACK},
    submitted: {CLAIMED},
}


@pytest.mark.parametrize("way", WAYS)
def test_items_move_as_the_table_says(moved, clock, way):
    way(clock)
    assert moved() == WAYS[way]


def test_these_are_the_moves_of_the_table_and_all_of_them():
    table = {(source, move.target) for move in ITEM_MOVES.values() for source in move.sources}
    assert set.union(*WAYS.values()) == table
