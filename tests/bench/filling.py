"""Fills a database with a long history, by the database's own arithmetic: a thousand batches, a
million items and their attempts, one batch of a hundred thousand that runs."""

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import Group
from django.db import connection, models

from batchboard import pricing
from batchboard.ledger import TOKENS
from batchboard.models import (
    Answer,
    Attempt,
    Batch,
    Experiment,
    Item,
    ItemInput,
    Limits,
    PairTally,
    Price,
    Recurring,
    RecurringRun,
    RunOptions,
    Tally,
    TaskVersion,
    User,
    Worker,
)
from batchboard.models.batch import new_public_id, new_seed
from batchboard.models.task_type import TaskType
from batchboard.money import dollars
from batchboard.roles import Role

LONG = 100_000
EXPERIMENTS = (60, 5_000)
"""Items of each arm: about as many as is usual, and the most that there may be."""

RECURRING, RUNS = 40, 10
COST = 4_200_000
"""Units of money of each attempt."""

STATES = (
    ("draft",) * 6
    + ("queued",) * 4
    + ("running",) * 8
    + ("review",) * 22
    + ("rejected",) * 30
    + ("cancelled",) * 30
)
"""Of the first hundred short batches; all others are released."""


def fill(batches: int, items: int, now: datetime) -> Batch:
    """Returns the long batch. Of every 20 items 18 succeeded and one is dead, in what has ended."""
    people = [User.objects.create_user(f"person{n}") for n in range(5)]
    for one in people:
        one.groups.set(Group.objects.filter(name=Role.OPERATOR))
    worker = Worker.objects.create(
        node="calls1@bench",
        host="bench",
        pid=1,
        lease_until=now + timedelta(days=1),
        consumed_at=now,
    )
    rates = pricing.rates("claude-haiku-5-5", now)
    assert rates
    price = Price.objects.create(
        model="claude-haiku-5-5", rates=rates.as_json(), source=pricing.source(), digest="bench"
    )
    versions = [_version(n) for n in range(20)]
    each = (items - LONG) // (batches - 1)
    long = _batch("Long pile", versions[0], people[0], "running", LONG, now)
    rows = [long]
    for n in range(batches - 1):
        state = STATES[n] if n < len(STATES) else "released"
        rows.append(
            _batch(f"[Batch] Pile {n}", versions[n % 20], people[n % 5], state, each,
                   now - timedelta(hours=n), ("cached", "single")[n // 20 % 2])
        )  # fmt: skip
    for batch in rows:
        _fill(batch, worker, price, now)
    _experiments(versions[0], people[0], worker, price, now)
    _recurring(versions, people)
    _roll_up()
    Tally.objects.catch_up()
    PairTally.objects.catch_up()
    Limits.objects.update_or_create(pk=1, defaults={"oldest_live": _oldest_live()})
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
    return long


def _experiments(
    version: TaskVersion, owner: User, worker: Worker, price: Price, now: datetime
) -> None:
    for n in EXPERIMENTS:
        made = Experiment.objects.create(
            name=f"Of {n}", version=version, owner=owner, n=n, source="tickets.csv",
            created_at=now, started_at=now,
        )  # fmt: skip
        for place, mode in enumerate(("single", "cached")):
            batch = _batch(f"Of {n}: {mode}", version, owner, "review", n, now, mode)
            batch.experimental = True
            _fill(batch, worker, price, now)
            made.arms.create(position=place, label=mode, batch=batch)


def _recurring(versions: list[TaskVersion], people: list[User]) -> None:
    """Each with runs whose batches are among those of the board."""
    done = list(Batch.objects.on_board().filter(finished_at__isnull=False).order_by("id"))
    for n in range(RECURRING):
        one = Recurring.objects.make(
            RunOptions(mode="cached"), people[n % 5], name=f"Every morning {n}",
            task_type=versions[n % 20].task_type, source_batch=done[-1], cron="0 9 * * *",
        )  # fmt: skip
        RecurringRun.objects.bulk_create(
            RecurringRun(recurring=one, due_at=batch.created_at, state="started", batch=batch)
            for batch in done[n::RECURRING][:RUNS]
        )


def _version(number: int) -> TaskVersion:
    return TaskVersion.objects.create(
        task_type=TaskType.objects.create(name=f"Kind {number}"), number=1, digest=f"{number}",
        model="claude-haiku-5-5", prompt="{{ text }}", system="Be brief.", max_tokens=200,
        check_list=["Is it right?"],
    )  # fmt: skip


def _batch(
    name: str,
    version: TaskVersion,
    owner: User,
    state: str,
    total: int,
    at: datetime,
    mode: str = "cached",
) -> Batch:
    ended = {"draft": 0, "queued": 0, "running": total * 3 // 4 // 20 * 20}.get(
        state, total // 20 * 20
    )
    started = at if ended else None
    return Batch(
        public_id=new_public_id(), seed=new_seed(), name=name, version=version, owner=owner,
        state=state, mode=mode, total=total, cursor=ended,
        succeeded=ended // 20 * 19, dead=ended // 20,
        created_at=at, started_at=started, pace_since=started,
        cost=dollars(COST * ended), estimate_expected=1, estimate_worst=2,
        finished_at=at if state not in {"draft", "queued", "running"} else None,
        decided_at=at if state in {"released", "rejected"} else None,
    )  # fmt: skip


def _fill(batch: Batch, worker: Worker, price: Price, now: datetime) -> None:
    batch.save()
    ended = batch.succeeded + batch.dead
    live = 10 if batch.state == "running" else 0
    state = (
        f"CASE WHEN n.i >= {ended + live} THEN 'waiting' WHEN n.i >= {ended} THEN 'running'"
        " WHEN n.i % 20 = 7 THEN 'dead' ELSE 'succeeded' END"
    )
    outcome = f"CASE WHEN n.i >= {ended} THEN '' WHEN n.i % 20 = 7 THEN 'refused' ELSE 'ok' END"
    _insert(Item, batch.total, {
        "batch_id": batch.pk, "position": "n.i", "key": "'ticket-' || n.i", "state": state,
        "prompt_bytes": 120, "cost": f"CASE WHEN n.i < {ended} THEN {COST} ELSE 0 END",
        "outcome": outcome, "tries": f"CASE WHEN n.i < {ended + live} THEN 1 ELSE 0 END",
        "latency_ms": f"CASE WHEN n.i < {ended} THEN 900 + n.i % 400 END",
        "input_tokens": 300, "output_tokens": 40,
    })  # fmt: skip
    first = Item.objects.filter(batch=batch).order_by("position").values_list("pk", flat=True)[0]
    _insert(ItemInput, batch.total, {
        "item_id": f"{first} + n.i",
        "data": _json("""'{"text": "My order number ' || n.i || ' did not arrive."}'"""),
    })  # fmt: skip
    if not ended:
        return
    before = Attempt.objects.aggregate(last=models.Max("id"))["last"] or 0
    over = f"n.i < {ended}"
    at = _moment(batch.started_at or now, "n.i")
    _insert(Attempt, ended + live, {
        "item_id": f"{first} + n.i", "batch_id": batch.pk, "worker_id": worker.pk,
        "price_id": price.pk, "model": "'claude-haiku-5-5'", "mode": f"'{batch.mode}'",
        "call": f"{before} + n.i", "max_tokens": 200, "reserved": 9000000, "granted_at": at,
        "started_at": at, "ended_at": f"CASE WHEN {over} THEN {at} END",
        "outcome": outcome,
        "problem": f"CASE WHEN {over} AND n.i % 20 = 7 THEN 'The model refused.' ELSE '' END",
        "status": 200, "request_id": "'req_' || n.i", "input_tokens": 300, "output_tokens": 40,
        "cache_write_5m_tokens": 0, "cache_write_1h_tokens": 0, "cache_read_tokens": 0,
        "cost": f"CASE WHEN {over} THEN {COST} END", "latency_ms": "900 + n.i % 400",
    })  # fmt: skip
    if batch.total >= LONG:
        attempt = Attempt.objects.filter(batch=batch).order_by("pk").values_list("pk", flat=True)[0]
        _insert(Answer, ended, {"attempt_id": f"{attempt} + n.i", "text": '\'{"label": "a"}\''})
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE batchboard_item SET result_id = id - %s + %s"
                " WHERE batch_id = %s AND state = 'succeeded'", [first, attempt, batch.pk],
            )  # fmt: skip


def _roll_up() -> None:
    """The ledger's rows, which the recorder would have kept."""
    day = "date(a.ended_at)"
    if connection.vendor == "postgresql":
        day = "CAST(a.ended_at AT TIME ZONE 'UTC' AS date)"
    sums = ", ".join(f"COALESCE(SUM(a.{name}), 0)" for name in (*TOKENS, "cost"))
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO batchboard_ledgerday (day, batch_id, model, mode, task_type_id, owner_id,"
            f" attempts, unknown_attempts, unpriced_attempts, {', '.join((*TOKENS, 'cost'))},"
            f" unknown_cost) SELECT {day}, a.batch_id, a.model, a.mode, v.task_type_id, b.owner_id,"
            f" COUNT(*), 0, 0, {sums}, 0 FROM batchboard_attempt a"
            " JOIN batchboard_batch b ON b.id = a.batch_id"
            " JOIN batchboard_taskversion v ON v.id = b.version_id WHERE a.ended_at IS NOT NULL"
            f" GROUP BY {day}, a.batch_id, a.model, a.mode, v.task_type_id, b.owner_id"
        )


def _insert(model: type[models.Model], count: int, given: dict[str, Any]) -> None:
    """Insert `count` rows, numbered n.i from 0, of SQL expressions or a column's default."""
    values = {}
    for field in model._meta.concrete_fields:
        if field.column in given:
            values[field.column] = str(given[field.column])
        elif field.has_default():
            values[field.column] = _literal(field.get_default())
        elif not field.null and not field.primary_key:
            values[field.column] = "''"
    columns = ", ".join(f'"{name}"' for name in values)
    sql = (
        f"WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {count})"
        f" INSERT INTO {model._meta.db_table} ({columns})"
        f" SELECT {', '.join(values.values())} FROM n ORDER BY n.i"
    )
    if connection.vendor == "sqlite":
        # SQLite wants the numbers inside the SELECT of the INSERT.
        with_, insert = sql.split(" INSERT INTO ", 1)
        target, select = insert.split(" SELECT ", 1)
        sql = f"INSERT INTO {target} {with_} SELECT {select}"
    with connection.cursor() as cursor:
        cursor.execute(sql)


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return ("FALSE", "TRUE")[value]
    return str(value) if isinstance(value, int) else f"'{value}'"


def _json(expression: str) -> str:
    return f"CAST({expression} AS jsonb)" if connection.vendor == "postgresql" else expression


def _moment(start: datetime, seconds: str) -> str:
    """SQL for `start` plus a hundredth of so many seconds."""
    text = start.strftime("%Y-%m-%d %H:%M:%S")
    if connection.vendor == "postgresql":
        return f"TIMESTAMPTZ '{text}+00' + ({seconds}) * INTERVAL '10 milliseconds'"
    return f"strftime('%Y-%m-%d %H:%M:%f', '{text}', (({seconds}) / 100.0) || ' seconds')"


def _oldest_live() -> int:
    return Attempt.objects.live().aggregate(first=models.Min("id"))["first"] or 0
