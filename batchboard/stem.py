"""`python -m batchboard.stem`: loads what workers and pages need, and serves forks of itself.

To start each of them anew takes seconds of a processor and a hundred megabytes.
"""

import gc
from importlib import import_module

import django

from batchboard.supervisor import forking

NEEDED = (
    "anthropic",
    "batchboard.urls",
    "celery.apps.beat",
    "celery.apps.worker",
    "celery.bin.celery",
    "celery.concurrency.thread",
    "celery.worker.consumer",
    "dispatch.intake_tasks",
    "dispatch.submission_tasks",
    "dispatch.tasks",
    "kombu.transport.redis",
    "uvicorn.loops.uvloop",
    "uvicorn.main",
    "uvicorn.protocols.http.httptools_impl",
)


def main() -> None:
    load()
    words = forking.serve()
    if words is not None:
        forking.run(words)


def load() -> None:
    """Nothing here may open a connection or begin a thread: a fork could use neither."""
    django.setup()
    for name in NEEDED:
        import_module(name)
    gc.collect()
    gc.freeze()  # else each fork's collector would copy all that is shared


if __name__ == "__main__":
    main()
