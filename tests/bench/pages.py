"""Server time of the pages, with a thousand batches and a million items in the database.

    python -m tests.bench.pages [embedded|postgres] [BATCHES ITEMS]

on SQLite in a folder of its own (embedded), on a PostgreSQL of its own, or else in the empty
database at DATABASE_URL. `ONLY=text` in the environment leaves out pages without it in their names.

Prints two lines of JSON for each page, `cold` with all that is kept in memory forgotten before each
request, as at a first view, and `warm`: p50 and p95 in milliseconds over 200 requests, after one
that is not counted, since it reads the templates. `cpu_p95_ms` is time of this process's processor
alone, which says more on a machine that has other work; PostgreSQL's is not in it.
"""

import importlib
import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles

from tests.servers import Postgres

REQUESTS = int(os.environ.get("REQUESTS", "200"))
TARGET_MS = 100
PLACES = {"first page": "", "middle": "&after=50000", "last page": "&after=99900"}


def main(words: list[str]) -> None:
    numbers = [int(word) for word in words if word.isdecimal()] or [1_000, 1_000_000]
    with tempfile.TemporaryDirectory(prefix="bench-pages-") as folder:
        os.environ["BATCHBOARD_DATA_DIR"] = folder
        if "embedded" in words:
            os.environ.pop("DATABASE_URL", None)
        if "postgres" not in words:
            measure_all(*numbers)
            return
        postgres = Postgres(Path(folder) / "postgres")
        postgres.start()
        try:
            os.environ["DATABASE_URL"] = postgres.url
            measure_all(*numbers)
        finally:
            postgres.stop()


def measure_all(batches: int, items: int) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "batchboard.settings")
    import django

    django.setup()
    logging.disable(logging.WARNING)
    from django.conf import settings
    from django.core.cache import cache
    from django.core.management import call_command
    from django.db import connection
    from django.test import Client

    from batchboard.models import Batch, User
    from batchboard.views import card_markup
    from tests.bench.filling import fill

    settings.ALLOWED_HOSTS = ["*"]
    call_command("migrate", verbosity=0)
    call_command("collectstatic", verbosity=0, interactive=False)
    started = time.perf_counter()
    long = fill(batches, items, datetime.now(UTC))
    print(f"filled in {time.perf_counter() - started:.0f} s", flush=True)
    client = Client()
    client.force_login(User.objects.create_superuser("admin", password="bench"))
    ended = Batch.objects.on_board().filter(state="released").latest("id").public_id
    importlib.import_module("batchboard.asgi")  # loads all pages, as the web server does

    def forget() -> None:
        cache.clear()
        card_markup.forget()

    for name, address in addresses(long.public_id, ended):
        if os.environ.get("ONLY", "") in name:
            # A form leads to an address of its own: that is the page.
            led = client.get(address, follow=True).redirect_chain
            page = led[-1][0] if led else address
            measure(client, connection.vendor, f"{name}, cold", page, forget)
            measure(client, connection.vendor, f"{name}, warm", page)


def addresses(long: str, ended: str):
    from batchboard.models import Experiment, Recurring

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
    yield "costs", "/costs/"
    yield "costs, the task type of the long batch", "/costs/?type=1"
    for one in Experiment.objects.order_by("n"):
        yield f"costs, experiment with {one.n} items", f"/costs/?experiment={one.public_id}"
        yield f"experiment with {one.n} items", f"/experiments/{one.public_id}/"
    yield "new batch", "/new/"
    yield "experiments", "/experiments/"
    yield "experiment, new", "/experiments/new/"
    yield "recurring", "/recurring/"
    yield "recurring, one", f"/recurring/{Recurring.objects.latest('id').public_id}/"
    yield "costs, estimates", "/costs/estimates/"
    for by in ("day", "type", "model", "mode", "owner"):
        yield f"ledger by {by}", f"/costs/ledger/?by={by}"
        yield f"ledger by {by}, all of it", f"/costs/ledger/?by={by}&since="
    yield "ledger, one task type of one owner", "/costs/ledger/?since=&type=3&owner=3"
    yield "ledger, attempts, a page on", f"/costs/ledger/?since=&after={50_000}"
    for plot in ("throughput", "cost", "latency", "attempts"):
        yield f"plot: {plot}", f"{page}plot?plot={plot}"
    yield "plot: attempts, a batch that ended", f"/batches/{ended}/plot?plot=attempts"


def measure(
    client, database: str, name: str, address: str, forget: Callable[[], object] | None = None
) -> None:
    times, busy = [], []
    for _ in range(REQUESTS):
        if forget:
            forget()
        started, used = time.perf_counter(), time.process_time()
        response = client.get(address)
        times.append((time.perf_counter() - started) * 1000)
        busy.append((time.process_time() - used) * 1000)
        assert response.status_code == 200, (address, response.status_code)
    print(
        json.dumps(
            {"database": database, "page": name, "p50_ms": round(median(times), 1),
             "p95_ms": round(quantiles(times, n=20)[-1], 1),
             "cpu_p95_ms": round(quantiles(busy, n=20)[-1], 1), "target_ms": TARGET_MS,
             "kB": round(len(response.content) / 1000)}
        ), flush=True,
    )  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
