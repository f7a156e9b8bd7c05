"""The supervisor's watch: processes that live and do no work are found, and no others."""

import time
from datetime import timedelta

import pytest

from batchboard import filing, leasing, rows
from batchboard.models import Limits, QueueSign, Upload, Worker
from batchboard.models.queue_sign import FILES
from batchboard.supervisor import consuming, plan
from batchboard.supervisor.consuming import (
    CHECK_SECONDS,
    FILES_STUCK_SECONDS,
    START_SECONDS,
    STUCK_SECONDS,
    Watch,
)
from dispatch import forecast

pytestmark = pytest.mark.django_db
LONG = FILES_STUCK_SECONDS + 60


class Child:
    """A process of the installation that runs, as far as anybody can tell from outside."""

    def __init__(self, name, pid, age=10_000.0):
        self.name, self.pid, self.age = name, pid, age


@pytest.fixture
def children():
    return [Child(name, pid) for pid, name in enumerate(["control", "files", "beat", "calls1"], 1)]


@pytest.fixture
def found(clock, monkeypatch, children):
    """found() is what the watch finds once broker and database have answered for a while."""
    monkeypatch.setattr(consuming, "broker_answers", lambda: True)
    seconds = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: seconds[0])
    watch = Watch(children)
    watch.stuck()
    seconds[0] += CHECK_SECONDS + STUCK_SECONDS
    at_work(clock.now)

    def look():
        seconds[0] += CHECK_SECONDS
        return [(child.name, why) for child, why in watch.stuck()]

    return look


def at_work(now):
    """Everybody takes messages."""
    Limits.objects.current()
    Limits.objects.update(pumped_at=now)
    Worker.objects.update_or_create(
        pid=4, defaults={"node": "calls1@here", "host": "here", "consumed_at": now,
                         "lease_until": now + timedelta(hours=1)},
    )  # fmt: skip
    QueueSign.objects.note(FILES, now)


def test_while_all_take_messages_none_is_found(found):
    assert found() == []


def test_a_files_worker_that_takes_no_message_is_found(found, clock):
    clock.advance(LONG)
    Limits.objects.update(pumped_at=clock.now)
    Worker.objects.update(consumed_at=clock.now)
    assert found() == [("files", "no work on files went on for 120 s")]


def test_a_files_worker_is_given_time_to_begin(found, clock, children):
    clock.advance(LONG)
    Limits.objects.update(pumped_at=clock.now)
    Worker.objects.update(consumed_at=clock.now)
    children[1].age = 20.0
    assert found() == []


def test_a_call_worker_that_takes_no_message_is_found(found, clock):
    clock.advance(STUCK_SECONDS + 1)
    Limits.objects.update(pumped_at=clock.now)
    assert found() == [("calls1", "it took no message for 30 s")]


def test_one_that_was_ended_in_vain_gets_twice_as_long(found, clock, children):
    clock.advance(STUCK_SECONDS + 1)
    Limits.objects.update(pumped_at=clock.now)
    calls = next(child for child in children if child.name == "calls1")
    for age, is_found in [(31, True), (31, False), (61, True), (61, False), (121, True)]:
        calls.age = age
        assert bool(found()) == is_found
    Worker.objects.update(consumed_at=clock.now)
    assert found() == []
    Worker.objects.update(consumed_at=clock.now - timedelta(seconds=STUCK_SECONDS + 1))
    calls.age = 31
    assert [name for name, _ in found()] == ["calls1"]


@pytest.mark.parametrize(("age", "is_found"), [(START_SECONDS, False), (START_SECONDS + 1, True)])
def test_a_call_worker_that_still_begins_is_given_time(found, children, age, is_found):
    Worker.objects.all().delete()
    for child in children:
        child.age = age
    assert ("calls1" in [name for name, _ in found()]) is is_found


def test_where_nothing_asks_for_work_the_files_worker_is_not_to_blame(found, clock):
    clock.advance(STUCK_SECONDS + 1)
    assert [name for name, _ in found()] == ["control", "beat"]


def test_a_message_without_work_is_a_sign(clock, announced):
    filing.work_through()
    assert QueueSign.objects.get(pk=FILES).at == clock.now


def test_a_long_file_gives_signs_all_the_while(clock, announced, monkeypatch):
    """Each five hundred rows take ten seconds here."""
    monkeypatch.setattr(forecast, "count", lambda *_: forecast.Counted())
    monkeypatch.setattr(leasing, "TELL_SECONDS", 0)
    content = b"ticket\n" + b"".join(b"T-%d\n" % n for n in range(3_000))
    Upload.objects.receive("tickets.csv", [content], None)
    signs, note = [], leasing.sign

    def sign():
        clock.advance(10)  # less than a lease
        note()
        signs.append(QueueSign.objects.get(pk=FILES).at)

    monkeypatch.setattr(leasing, "sign", sign)
    monkeypatch.setattr(filing, "sign", sign)
    filing.work_through()
    assert Upload.objects.get().state == "ready"
    assert len(signs) == 1 + 6 + 1
    assert signs == sorted(signs)
    assert signs[-1] <= rows.now()


@pytest.mark.parametrize(
    ("https", "environment", "believes"),
    [(False, {}, False), (True, {}, True), (False, {"FORWARDED_ALLOW_IPS": "10.0.0.1"}, True)],
)
def test_only_behind_a_proxy_is_it_believed_for_whom_somebody_asks(
    settings, https, environment, believes
):
    settings.SESSION_COOKIE_SECURE = https
    assert ("--no-proxy-headers" in plan._proxy(environment)) is not believes
