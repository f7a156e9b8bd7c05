"""What every page shows of the installation."""

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone


def installation(request: HttpRequest) -> dict[str, object]:
    return {"simulated": settings.PROVIDER_SIMULATED, "now": timezone.now()}
