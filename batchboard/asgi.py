"""The web server's way in."""

import gc
import os

from django.core.asgi import get_asgi_application
from django.urls import get_resolver

from dispatch import sdk

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "batchboard.settings")
application = get_asgi_application()

# All pages are loaded before the first is asked for, which would take it seconds. What was loaded
# by now stays: the collector need not walk it again and again, a tenth of a second each time.
_ = get_resolver().url_patterns
sdk.load()
gc.collect()
gc.freeze()
