"""Server time of the pages, with a thousand batches and a million items in the database.

    python -m tests.bench.pages [BATCHES ITEMS]

on SQLite in a folder of its own, or in the empty database at DATABASE_URL. Prints one line of JSON
for each page: p50 and p95 in milliseconds over 200 requests, after one that is not counted.
"""

import json
import logging
import os
import sys
import tempfile
import time
from datetime import UTC, datetime
from statistics import median, quantiles

REQUESTS = 200
TARGET_MS = 100
PLACES = {"first page": "", "middle": "&after=50000", "last page": "&after=99900"}


def main(batches: int, items: int) -> None:
    with tempfile.TemporaryDirectory(prefix="bench-pages-") as folder:
        os.environ["BATCHBOARD_DATA_DIR"] = folder
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "batchboard.settings")
        import django

        django.setup()
        logging.disable(logging.WARNING)
        from django.conf import settings
        from django.core.management import call_command
        from django.test import Client

        from batchboard.models import User
        from tests.bench.filling import fill

        settings.ALLOWED_HOSTS = ["*"]
        call_command("migrate", verbosity=0)
        call_command("collectstatic", verbosity=0, interactive=False)
        started = time.perf_counter()
        long = fill(batches, items, datetime.now(UTC))
        print(f"filled in {time.perf_counter() - started:.0f} s", flush=True)
        client = Client()
        client.force_login(User.objects.create_superuser("admin", password="bench"))
        for name, address in addresses(client, long.public_id):
            measure(client, name, address)


def addresses(client, long: str):
    page = f"/batches/{long}/"
    yield "board", "/"
    yield "board, fragment", "/board/columns"
    yield "board, limits bar", "/board/limits"
    yield "board, filtered", "/?state=person&q=ticket"
    yield "board, 150 cards of one column", "/board/columns?released=150"
    yield "search, batches", "/search/?q=ticket"
    yield "search, an item of the long batch", "/search/?q=ticket-99999"
    yield "search, nothing like it", "/search/?q=zzz"
    yield "batch", page
    yield "batch, fragment", f"{page}live"
    for state in ("", "succeeded", "running", "waiting", "dead"):
        for place, edge in PLACES.items():
            yield f"items: {state or 'all'}, {place}", f"{page}?state={state}{edge}"
    for place, edge in PLACES.items():
        yield f"items: refused, {place}", f"{page}?outcome=refused{edge}"
    for word in ("ticket-99999", "ticket-5", "nothing like it", "refused"):
        yield f"items: find {word}", f"{page}?find={word}"
    yield "items: find, a page on", f"{page}?find=ticket-5&after=ticket-55"
    for state in ("succeeded", "dead"):
        yield f"items: {state}, find ticket-7", f"{page}?state={state}&find=ticket-7"
    yield "item", f"{page}items/ticket-50007"
    yield "costs, the long batch against others", "/costs/?type=1"
    yield "costs, estimates", "/costs/estimates/"
    for by in ("day", "type", "model", "mode", "owner"):
        yield f"ledger by {by}", f"/costs/ledger/?by={by}"
        yield f"ledger by {by}, all of it", f"/costs/ledger/?by={by}&since="
    yield "ledger, one task type of one owner", "/costs/ledger/?since=&type=3&owner=3"
    yield "ledger, attempts, a page on", f"/costs/ledger/?since=&after={50_000}"
    for plot in ("throughput", "cost", "latency", "attempts"):
        yield f"plot: {plot}", f"{page}plot?plot={plot}"


def measure(client, name: str, address: str) -> None:
    times = []
    for n in range(REQUESTS + 1):
        started = time.perf_counter()
        response = client.get(address)
        assert response.status_code == 200, (address, response.status_code)
        if n:
            times.append((time.perf_counter() - started) * 1000)
    p95 = quantiles(times, n=20)[-1]
    size = len(response.content) / 1000
    print(
        json.dumps(
            {"page": name, "p50_ms": round(median(times), 1), "p95_ms": round(p95, 1),
             "target_ms": TARGET_MS, "kB": round(size)}
        ), flush=True,
    )  # fmt: skip


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:3] or ("1000", "1000000")))
