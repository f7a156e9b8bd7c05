"""One message batch: its life from creation to its results."""

import asyncio
import json
import time
from collections import Counter
from datetime import UTC, datetime
from random import Random
from typing import Any

from .errors import ProviderError
from .fault import Fault
from .ledger import Call, Ledger
from .provider import Provider
from .wire import message

DAY = 24 * 3600
ITEMS_AT_ONCE = 100
OUTCOMES = ("succeeded", "errored", "canceled", "expired")


class Batch:
    """Works after `batch_seconds`; a cancelled one has worked on a share of its requests."""

    def __init__(self, provider: Provider, requests: list[dict[str, Any]]) -> None:
        self._provider = provider
        self._ledger: Ledger = provider.ledger
        self._requests = requests
        self._total = len(requests)
        self._created = time.time()
        self._cancelled: float | None = None
        self._ended: float | None = None
        self._wake = asyncio.Event()
        self._outcomes: Counter[str] = Counter()
        self.id = self._ledger.next_id("msgbatch")
        self.results: list[bytes] = []

    @property
    def ended(self) -> bool:
        return self._ended is not None

    def cancel(self) -> None:
        if self._cancelled is None and not self.ended:
            self._cancelled = time.time()
            self._wake.set()

    async def work(self) -> None:
        seconds = self._provider.options.batch_seconds
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            pass
        if self._cancelled is not None:
            share = min(1.0, (self._cancelled - self._created) / seconds) if seconds else 1.0
            reached = int(self._total * share)
        else:
            reached = self._total
        for number, request in enumerate(self._requests):
            if number % ITEMS_AT_ONCE == 0:
                await asyncio.sleep(0)
            canceled: dict[str, object] = {"type": "canceled"}
            result = self._result(request) if number < reached else canceled
            self._keep(request["custom_id"], result)
        self._requests = []
        Random(self._provider.options.seed).shuffle(self.results)  # noqa: S311
        self._ended = time.time()

    def wire(self, results_url: str) -> dict[str, object]:
        canceling = self._cancelled is not None and not self.ended
        return {
            "id": self.id,
            "type": "message_batch",
            "processing_status": (
                "ended" if self.ended else "canceling" if canceling else "in_progress"
            ),
            "request_counts": self._counts(),
            "created_at": _instant(self._created),
            "expires_at": _instant(self._created + DAY),
            "cancel_initiated_at": _instant(self._cancelled),
            "ended_at": _instant(self._ended),
            "archived_at": None,
            "results_url": results_url if self.ended else None,
        }

    def _counts(self) -> dict[str, int]:
        """All of them are processing until the whole batch ends."""
        if not self.ended:
            return {"processing": self._total, **dict.fromkeys(OUTCOMES, 0)}
        return {"processing": 0, **{each: self._outcomes[each] for each in OUTCOMES}}

    def _keep(self, custom_id: str, result: dict[str, object]) -> None:
        self._outcomes[str(result["type"])] += 1
        line = json.dumps({"custom_id": custom_id, "result": result})
        self.results.append(line.encode() + b"\n")

    def _result(self, request: dict[str, Any]) -> dict[str, object]:
        call = self._ledger.arrive(self.id, request["custom_id"])
        try:
            return self._outcome(request["params"], call)
        except ProviderError as error:
            call.status = error.status
            return {"type": "errored", "error": error.wire(call.request_id)}
        finally:
            self._ledger.end(call)

    def _outcome(self, params: Any, call: Call) -> dict[str, object]:
        generation = self._provider.accept_batched(params, call, self._ledger)
        if generation.fate.fault is Fault.HANG:
            return {"type": "expired"}
        self._provider.begin(generation)
        self._provider.finish(generation, call, self._ledger, answered=True)
        call.status = 200
        return {"type": "succeeded", "message": message(call.request_id, generation, "batch")}


def _instant(epoch: float | None) -> str | None:
    return None if epoch is None else datetime.fromtimestamp(epoch, UTC).isoformat()
