"""What every page shows of the installation, and of what the person who looks may do."""

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from batchboard.roles import rights_of
from batchboard.views.limits_bar import current_bar


def installation(request: HttpRequest) -> dict[str, object]:
    """The bar and the rights are read where a template asks for them, and only there."""
    user = getattr(request, "user", None)
    return {
        "simulated": settings.PROVIDER_SIMULATED,
        "now": timezone.now(),
        "bar": SimpleLazyObject(current_bar),
        "rights": SimpleLazyObject(lambda: rights_of(user)),
    }
