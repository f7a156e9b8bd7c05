"""What the provider saw and charged: one record a call, sums over all of them, its own bill."""

import time
from collections import Counter, deque
from collections.abc import Iterable
from decimal import Decimal

from .prices import cost
from .usage import Usage

MAX_CALLS = 300_000


class Call:
    """One call. `status` is None until an answer begins; a call left or cut keeps None."""

    __slots__ = (
        "answered",
        "batch_id",
        "custom_id",
        "ended",
        "fault",
        "item",
        "model",
        "request_id",
        "started",
        "status",
        "us_only",
        "usage",
    )

    def __init__(self, request_id: str, batch_id: str | None, custom_id: str | None) -> None:
        self.request_id = request_id
        self.batch_id = batch_id
        self.custom_id = custom_id
        self.item: str | None = None
        self.model: str | None = None
        self.status: int | None = None
        self.fault: str | None = None
        self.answered = False
        self.started = time.time()
        self.ended = 0.0
        self.usage: Usage | None = None
        self.us_only = False

    def cost(self) -> Decimal:
        if self.usage is None or self.model is None:
            return Decimal(0)
        return cost(self.model, self.usage, batch=self.batch_id is not None, us_only=self.us_only)

    def wire(self) -> dict[str, object]:
        tier = "standard" if self.batch_id is None else "batch"
        return {
            "request_id": self.request_id,
            "item": self.item,
            "model": self.model,
            "status": self.status,
            "fault": self.fault,
            "answered": self.answered,
            "started": self.started,
            "ended": self.ended,
            "usage": None if self.usage is None else self.usage.wire(tier),
            "cost_usd": f"{self.cost():f}",
            "batch_id": self.batch_id,
            "custom_id": self.custom_id,
        }


class Ledger:
    """The sums cover every call; the records only the last `MAX_CALLS`."""

    def __init__(self) -> None:
        self.started_at = time.time()
        self.bill = Decimal(0)
        self._numbers = 0
        self._in_flight = 0
        self._peak_in_flight = 0
        self._requests = 0
        self._batches = 0
        self._by_status: Counter[str] = Counter()
        self._admitted: Counter[str] = Counter()
        self._answered: set[str] = set()
        self._tokens = Counter(input=0, output=0, cache_write=0, cache_read=0)
        self._calls: deque[Call] = deque(maxlen=MAX_CALLS)

    def next_id(self, prefix: str) -> str:
        self._numbers += 1
        return f"{prefix}_sim{self._numbers:021d}"

    def arrive(self, batch_id: str | None = None, custom_id: str | None = None) -> Call:
        call = Call(self.next_id("req"), batch_id, custom_id)
        if batch_id is None:
            self._requests += 1
            self._in_flight += 1
            self._peak_in_flight = max(self._peak_in_flight, self._in_flight)
        return call

    def created_batch(self) -> None:
        self._batches += 1

    def admit(self, item: str) -> int:
        """The number of this call, from 1, among those for the item that passed the limits."""
        self._admitted[item] += 1
        return self._admitted[item]

    def charge(self, call: Call, usage: Usage) -> None:
        """To be called at most once for a call."""
        call.usage = usage
        self.bill += call.cost()
        tokens = self._tokens
        tokens["input"] += usage.input
        tokens["output"] += usage.output
        tokens["cache_write"] += usage.write
        tokens["cache_read"] += usage.read

    def end(self, call: Call) -> None:
        call.ended = time.time()
        if call.batch_id is None:
            self._in_flight -= 1
            self._by_status["none" if call.status is None else str(call.status)] += 1
        if call.answered and call.item is not None:
            self._answered.add(call.item)
        self._calls.append(call)

    def calls(self) -> Iterable[dict[str, object]]:
        return (call.wire() for call in list(self._calls))

    def statistics(self) -> dict[str, object]:
        return {
            "requests": self._requests,
            "message_batches": self._batches,
            "in_flight": self._in_flight,
            "peak_in_flight": self._peak_in_flight,
            "by_status": dict(self._by_status),
            "items": len(self._admitted),
            "answered_items": len(self._answered),
            "calls_per_item_max": max(self._admitted.values(), default=0),
            "tokens": dict(self._tokens),
            "bill_usd": f"{self.bill:f}",
            "started_at": self.started_at,
        }
