"""From the recorded outcome to the changed page, with many browsers watching.

    python -m tests.bench.live [embedded|postgres] [BROWSERS]

An installation records 100 items a second in two batches. Browsers, as far as the server can tell:
each signed in, each with the stream open, half on the board and half on a batch's page, each asking
for its fragment when it is told to, and reading the figures out of what it got. Of every recorded
outcome and every browser that shows its batch: how long until the page counted it. One real
Chromium watches beside them, where an observer of its page notes the same.
"""

import asyncio
import html
import json
import re
import sys
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from statistics import median, quantiles

import aiohttp

from tests.bench.__main__ import installation
from tests.browsing import chromium, signed_in

ITEMS = 1_500
LATENCY, CAP = 0.4, 44
SETTLING_SECONDS = 3.0
"""The first moments are not counted: batches begin, and every browser asks for its page."""

CARD = re.compile(r'id="card-(b_\w+)".*?<b>([\d,]+)</b> of', re.S)
FIGURE = re.compile(r'<dt>Done</dt><dd><b class="figure">([\d,]+)</b>')


class Browser:
    """What one browser asks for and shows: when each batch's count changed on its page."""

    def __init__(self, address: str, cookies: dict[str, str], batch: str = "") -> None:
        self.address, self.cookies, self.batch = address, cookies, batch
        self.shown: dict[str, list[tuple[float, int]]] = defaultdict(list)
        self.requests: list[float] = []

    async def watch(self) -> None:
        query = f"?batch={self.batch}" if self.batch else "?board"
        async with (
            aiohttp.ClientSession(
                self.address, cookies=self.cookies, timeout=aiohttp.ClientTimeout(None)
            ) as session,
            session.get(f"/live{query}") as stream,
        ):
            assert stream.status == 200, stream.status
            name, data = "", []
            async for raw in stream.content:
                line = raw.decode().rstrip("\n")
                if line.startswith("event:"):
                    name = line[6:].strip()
                elif line.startswith("data:"):
                    data.append(line[5:])
                elif not line and name:
                    await self.heard(session, name, "\n".join(data))
                    name, data = "", []

    async def heard(self, session: aiohttp.ClientSession, name: str, data: str) -> None:
        if name == "patch":
            self.show(data)
            return
        page = f"/batches/{self.batch}/live" if self.batch else "/board/columns"
        if name != ("board" if not self.batch else f"batch-{self.batch}"):
            return
        self.requests.append(time.time())
        async with session.get(page, headers={"HX-Request": "true"}) as answer:
            self.show(await answer.text())

    def show(self, text: str) -> None:
        at = time.time()
        counts: Iterable[tuple[str, str]] = CARD.findall(html.unescape(text))
        if self.batch:
            counts = [(self.batch, count) for count in FIGURE.findall(text)]
        for batch, count in counts:
            self.shown[batch].append((at, int(count.replace(",", ""))))


async def watch_all(browsers: list[Browser], seconds: float) -> None:
    tasks = [asyncio.create_task(browser.watch()) for browser in browsers]
    await asyncio.sleep(seconds)
    for task in tasks:
        task.cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    faults = [one for one in ended if not isinstance(one, asyncio.CancelledError)]
    assert not faults, faults


def delays(shown: list[tuple[float, int]], recorded: list[float], since: float) -> list[float]:
    """Seconds from each outcome to the first page that counted it. `recorded` is in order, and the
    page counts how many there are."""
    counts, times, most = [], [], 0
    for at, count in shown:
        if count > most:
            counts.append(count)
            times.append(at)
            most = count
    return [
        times[place] - at
        for number, at in enumerate(recorded, start=1)
        if at >= since and (place := bisect_left(counts, number)) < len(counts)
    ]


def main(kind: str, number: int) -> None:
    simulator = f"--latency {LATENCY} --latency-sigma 0"
    with ExitStack() as stack:
        bb = stack.enter_context(installation(kind, simulator, CAP))
        cookies = signed_in(bb)
        task_type = bb.task_type()
        batches = [bb.submit(bb.items(ITEMS, name), task_type, "--mode", "single") for name in "ab"]
        address = f"http://127.0.0.1:{bb.port}"
        browsers = [
            Browser(address, cookies, batches[n % 4 // 2] if n % 2 else "") for n in range(number)
        ]
        page = stack.enter_context(chromium(bb, cookies))
        page.goto(f"{address}/")
        page.evaluate(OBSERVER)
        since = time.time() + SETTLING_SECONDS
        with ThreadPoolExecutor(1) as aside:  # Playwright has a loop in this thread
            seconds = 2 * ITEMS * LATENCY / CAP * 0.8
            aside.submit(asyncio.run, watch_all(browsers, seconds)).result()
        seen = page.evaluate("window.shown")
        for batch in batches:
            bb.wait(batch)
        recorded = {batch: times(bb, batch) for batch in batches}
    per_second = sum(at >= since for ats in recorded.values() for at in ats) / (
        max(at for ats in recorded.values() for at in ats) - since
    )
    found = [
        delay
        for browser in browsers
        for batch, shown in browser.shown.items()
        if batch in recorded
        for delay in delays(shown, recorded[batch], since)
    ]
    real = [
        delay
        for batch, shown in seen.items()
        if batch in recorded
        for delay in delays([(at / 1000, n) for at, n in shown], recorded[batch], since)
    ]
    asked = max(
        busiest_second([at for at in browser.requests if at >= since]) for browser in browsers
    )
    print(json.dumps({
        "servers": kind, "browsers": number, "items_per_second": round(per_second),
        "p50_ms": ms(median(found)), "p95_ms": ms(quantiles(found, n=20)[-1]),
        "chromium_p95_ms": ms(quantiles(real, n=20)[-1]), "outcomes_seen": len(found),
        "most_requests_in_a_second": asked, "target": "p95 under 500, at most 2 requests a second",
    }))  # fmt: skip


OBSERVER = """() => {
  window.shown = {};
  const look = () => {
    for (const card of document.querySelectorAll("[id^=card-b_]")) {
      const count = /([\\d,]+) of [\\d,]+/.exec(card.textContent);
      if (!count) continue;
      const batch = card.id.slice(5), number = Number(count[1].replaceAll(",", ""));
      const shown = window.shown[batch] ||= [];
      if (!shown.length || shown.at(-1)[1] !== number) shown.push([Date.now(), number]);
    }
  };
  const everything = {subtree: true, childList: true, characterData: true};
  new MutationObserver(look).observe(document.body, everything);
}"""


def times(bb, batch: str) -> list[float]:
    """When each item of a batch ended, in order."""
    rows = bb.read_all(
        "SELECT ended_at FROM batchboard_attempt a JOIN batchboard_batch b ON b.id = a.batch_id"
        " WHERE b.public_id = %s ORDER BY ended_at",
        batch,
    )
    return [moment(value).timestamp() for (value,) in rows]


def moment(value) -> datetime:
    at = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def busiest_second(requests: list[float]) -> int:
    return max((sum(at <= other < at + 1 for other in requests) for at in requests), default=0)


def ms(seconds: float) -> int:
    return round(seconds * 1000)


if __name__ == "__main__":
    kind = next((word for word in sys.argv[1:] if word in {"embedded", "postgres"}), "embedded")
    main(kind, next((int(word) for word in sys.argv[1:] if word.isdigit()), 50))
