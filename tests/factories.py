"""What tests start from: small real rows, and calls that ended as a test wants them to."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count

from django.contrib.auth.models import Group

from batchboard import rows
from batchboard.arms import Way, read_ways
from batchboard.models import (
    Attempt,
    Batch,
    NewItem,
    RunOptions,
    TaskType,
    TaskVersion,
    User,
    Worker,
)
from batchboard.models.tallying import tasks_of
from batchboard.pricing import Usage
from batchboard.roles import Role
from dispatch import governor
from dispatch.calls import Call, Finished, PartReply, Reply
from dispatch.deciding import deciding
from dispatch.live import count_live
from dispatch.outcome import Outcome

START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
MODEL = "claude-haiku-5-5"
ANSWERED = Usage(input=50, output=20)
_numbers = count(1)


def task_version(model=MODEL, system="", max_tokens=200, contract=None, **fields):
    """A version of a task type of its own."""
    number = next(_numbers)
    task_type = TaskType.objects.create(name=f"Task {number}")
    return TaskVersion.objects.create(
        task_type=task_type,
        number=1,
        digest=f"{number:064}",
        model=model,
        system=system,
        prompt="Look at {{ text }}",
        max_tokens=max_tokens,
        contract=contract,
        **fields,
    )


def new_version(version, **fields):
    """The next version of the same task type."""
    values = {
        name: getattr(version, name)
        for name in ("model", "system", "prompt", "max_tokens", "contract")
    }
    return TaskVersion.objects.create(
        task_type=version.task_type,
        number=version.number + 1,
        digest=f"{next(_numbers):064}",
        **(values | fields),
    )


def new_items(count):
    return [NewItem(f"k{n}", {"text": f"row {n}"}, 30) for n in range(count)]


def draft(items=5, version=None, by=None, name="Pile", **options):
    """A draft with so many items k0, k1, …; cold calls and no limits of its own unless asked."""
    return Batch.objects.create_with_items(
        name=name,
        version=version or task_version(),
        items=new_items(items),
        options=RunOptions(**{"mode": "single"} | options),
        by=by,
    )


def queued(items=5, by=None, **options):
    """A started batch."""
    batch = draft(items, by=by, **options)
    batch.start(by)
    return batch


def live_worker(node="worker", seconds=3600):
    """A worker whose lease holds, and that consumed just now."""
    now = rows.now()
    return Worker.objects.create(
        node=f"{node}-{next(_numbers)}",
        host="elsewhere",
        pid=1,
        lease_until=now + timedelta(seconds=seconds),
        consumed_at=now,
    )


def admit(worker, room=1_000, *, granted=False):
    """One decision that admits only; returns the admission."""
    with deciding() as made:
        live = count_live(made.limits)
        return governor.admit(made, [governor.Target(worker.pk, room)], live, granted=granted)


def reply(outcome=Outcome.OK, text="an answer", usage=ANSWERED, **fields):
    return Reply(outcome, text=text, usage=usage, **fields)


def finished(call: Call, outcome=Outcome.OK, started_at=None, **fields):
    """`call` as it ended, with one part for each of its items."""
    answer = fields.pop("reply", None) or reply(outcome, **fields)
    parts = [PartReply(answer.outcome, answer.problem, answer.text) for _ in call.parts]
    return Finished(call, answer, parts, started_at or rows.now())


def in_review(items=5, bad=0, by=None, **options):
    """A batch whose items all ended: the last `bad` of them dead, the others with a result."""
    from dispatch import recorder

    batch = queued(items, by=by, **options)
    worker = live_worker()
    while calls := admit(worker).calls:
        dead = {f"k{n}" for n in range(items - bad, items)}
        ended = [
            finished(call, Outcome.REFUSED if call.parts[0].key in dead else Outcome.OK)
            for call in calls
        ]
        recorder.settle(worker.pk, ended, admits=False)
    batch.refresh_from_db()
    return batch


def judge_all(batch, fails=0, by=None):
    """A verdict for every drawn result, the first `fails` of them bad."""
    keys = [drawn["key"] for drawn in batch.sample()]
    for number, key in enumerate(keys):
        if number < fails:
            batch.judge(key, "fail", "wrong", by=by)
        else:
            batch.judge(key, "pass", by=by)
    return keys


def person(name="Ada", roles=(Role.OPERATOR, Role.REVIEWER), **fields):
    user = User.objects.create_user(username=f"{name}-{next(_numbers)}", **fields)
    user.groups.set(Group.objects.filter(name__in=roles))
    return user


def states(batch):
    """How many items of `batch` are in which state."""
    found = {}
    for state in batch.items.values_list("state", flat=True):
        found[state] = found.get(state, 0) + 1
    return found


def live_count(**filters):
    return Attempt.objects.live().filter(**filters).count()


def arm_of(batches, label):
    """What the items of `batches` did and cost, item by item; keys of one batch can be paired."""
    (arm,) = read_ways([Way(label, batches)])
    return replace(arm, tasks=tasks_of(batches))
