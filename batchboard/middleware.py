"""Everybody signs in, and whoever holds a one-time password sets one of their own first."""

from collections.abc import Callable
from urllib.parse import urlencode, urlsplit

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect

ALLOWED_BEFORE = {"password", "sign-out", "live"}


class SignInRequiredMiddleware(LoginRequiredMiddleware):
    def process_view(
        self,
        request: HttpRequest,
        view_func: Callable[..., HttpResponseBase],
        view_args: tuple[object, ...],
        view_kwargs: dict[str, object],
    ) -> HttpResponseBase | None:
        refused = super().process_view(request, view_func, view_args, view_kwargs)
        if refused is not None:
            return refused
        user = request.user
        name = request.resolver_match.url_name if request.resolver_match else None
        if user.is_authenticated and user.must_change_password and name not in ALLOWED_BEFORE:
            return _leave(request, reverse("password"))
        return None

    def handle_no_permission(  # type: ignore[override]
        self, request: HttpRequest, view_func: Callable[..., HttpResponseBase]
    ) -> HttpResponse:
        if _is_fragment(request):
            page = urlsplit(request.headers.get("HX-Current-URL", "/"))
            back = page.path + (f"?{page.query}" if page.query else "")
            return _leave(request, f"{reverse('sign-in')}?{urlencode({'next': back})}")
        return super().handle_no_permission(request, view_func)


def _leave(request: HttpRequest, address: str) -> HttpResponse:
    """Send the whole page elsewhere; a plain redirect would put that page inside this one."""
    return HttpResponseClientRedirect(address) if _is_fragment(request) else redirect(address)


def _is_fragment(request: HttpRequest) -> bool:
    return "HX-Request" in request.headers
