"""What workers and pages need, loaded once: the server that their processes are forked from imports
this. Nothing here may open a connection or begin a thread, since a fork could use neither."""

import gc
from importlib import import_module

import django

from batchboard.supervisor.child import die_with_parent

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

die_with_parent()  # and its forks with it
django.setup()
for name in NEEDED:
    import_module(name)
gc.collect()
gc.freeze()  # else each fork's collector would copy all that is shared
