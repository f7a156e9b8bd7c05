"""The application that the web server runs, with all pages loaded before the first is asked for."""

import gc
import os
from pathlib import Path

from django.conf import settings
from django.core.asgi import get_asgi_application
from django.template.loader import get_template
from django.urls import get_resolver

from dispatch import sdk

BESIDE_THE_FILE = 10_000_000
"""Bytes of a form beside its file."""


def load_templates() -> None:
    """Read the templates of all pages, which are kept as they were parsed."""
    folder = Path(settings.BASE_DIR) / "templates"
    for file in sorted(folder.rglob("*.html")):
        get_template(file.relative_to(folder).as_posix())


os.environ.setdefault("DJANGO_SETTINGS_MODULE", "batchboard.settings")
django_application = get_asgi_application()

# After Django is set up, since what bounds an upload is a model's.
from batchboard.body_limit import BodyLimit  # noqa: E402
from batchboard.models.upload import MAX_UPLOAD_BYTES  # noqa: E402

application = BodyLimit(django_application, MAX_UPLOAD_BYTES + BESIDE_THE_FILE)

# All pages are loaded before the first is asked for, which would take it seconds. What was loaded
# by now stays: the collector need not walk it again and again, a tenth of a second each time.
_ = get_resolver().url_patterns
load_templates()
sdk.load()
gc.collect()
gc.freeze()
