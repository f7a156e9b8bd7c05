"""What all tests have: patience with a busy machine, empty process caches, a clock to move."""

from datetime import timedelta

import hypothesis
import pytest
from django.utils import timezone

from batchboard import rows, signals
from batchboard.models import StoredPrice
from dispatch import price_rows, rescue, versions
from tests.factories import START

# A busy machine is no failure.
hypothesis.settings.register_profile(
    "tests", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("tests")


@pytest.fixture(autouse=True)
def _empty_process_caches():
    """A process keeps price rows and versions by id, which a rolled back test takes away."""
    price_rows.forget()
    versions.work_of.cache_clear()
    StoredPrice.objects.forget()
    rescue.clock = rescue.Clock()


@pytest.fixture(autouse=True)
def _wide_rate_limits(settings):
    """Rates bind only in the tests that are about them."""
    settings.DISPATCH_RPM = settings.DISPATCH_ITPM = settings.DISPATCH_OTPM = 10**9


class Clock:
    """The one clock of a test; it stands still until it is moved."""

    def __init__(self):
        self.now = START

    def advance(self, seconds):
        self.now += timedelta(seconds=seconds)
        return self.now

    def seconds(self):
        return (self.now - START).total_seconds()


@pytest.fixture
def clock(monkeypatch):
    """The engine's and the domain's clock, on every database."""
    clock = Clock()
    monkeypatch.setattr(rows, "now", lambda: clock.now)
    monkeypatch.setattr(timezone, "now", lambda: clock.now)
    monkeypatch.setattr(rescue, "monotonic", clock.seconds)
    return clock


@pytest.fixture
def announced(monkeypatch):
    """Nothing is sent to Redis; returns the list of what would have been."""
    sent = []
    monkeypatch.setattr(signals, "announce_work", lambda: sent.append("work"))
    monkeypatch.setattr(signals, "announce_batch", sent.append)
    return sent
