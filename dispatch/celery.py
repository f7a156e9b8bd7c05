"""The Celery app: a queue each for the pump, for files and for calls, where every worker has one of
its own besides; and what beat asks for."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "batchboard.settings")

from django.conf import settings

CALLS = "calls"
CONTROL = "control"
FILES = "files"
PUMP_SECONDS = 2.0
TIDY_SECONDS = 60.0
FILES_SECONDS = 5.0
SUBMISSIONS_SECONDS = 2.0
RECURRING_SECONDS = 15.0


def broker_url(redis_url: str) -> str:
    """Celery's spelling of a Redis address, which differs for unix sockets."""
    if redis_url.startswith("unix://"):
        return "redis+socket://" + redis_url.removeprefix("unix://")
    return redis_url


app = Celery("dispatch")
app.conf.update(
    broker_url=broker_url(settings.REDIS_URL),
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_transport_options={
        # Far above the longest task: a message that comes back while its task still runs would
        # run it twice. Leases, not redelivery, bring back what a dead worker held.
        "visibility_timeout": 24 * 3600,
        "socket_timeout": 10,
        "socket_connect_timeout": 5,
        "socket_keepalive": True,
        "health_check_interval": 10,
    },
    task_ignore_result=True,
    task_serializer="json",
    accept_content=["json"],
    task_default_queue=CONTROL,
    task_routes={
        "dispatch.tasks.take": {"queue": CALLS},
        "dispatch.intake_tasks.work_through": {"queue": FILES},
        "dispatch.submission_tasks.work_through": {"queue": FILES},
    },
    worker_direct=True,
    worker_prefetch_multiplier=1,
    worker_pool="threads",
    worker_hijack_root_logger=False,
    worker_send_task_events=False,
    worker_cancel_long_running_tasks_on_connection_loss=False,
    worker_enable_remote_control=False,
    beat_schedule={
        "pump": {
            "task": "dispatch.tasks.pump",
            "schedule": PUMP_SECONDS,
            "options": {"expires": PUMP_SECONDS * 2, "queue": CONTROL},
        },
        "tidy": {
            "task": "dispatch.tasks.tidy",
            "schedule": TIDY_SECONDS,
            "options": {"expires": TIDY_SECONDS, "queue": CONTROL},
        },
        "files": {
            "task": "dispatch.intake_tasks.work_through",
            "schedule": FILES_SECONDS,
            "options": {"expires": FILES_SECONDS, "queue": FILES},
        },
        "submissions": {
            "task": "dispatch.submission_tasks.work_through",
            "schedule": SUBMISSIONS_SECONDS,
            "options": {"expires": SUBMISSIONS_SECONDS, "queue": FILES},
        },
        "recurring": {
            "task": "dispatch.intake_tasks.fire_recurring",
            "schedule": RECURRING_SECONDS,
            "options": {"expires": RECURRING_SECONDS, "queue": CONTROL},
        },
    },
    beat_schedule_filename=str(settings.DATA_DIR / "beat"),
)
app.autodiscover_tasks(["dispatch"])
app.autodiscover_tasks(["dispatch"], related_name="intake_tasks")
app.autodiscover_tasks(["dispatch"], related_name="submission_tasks")
