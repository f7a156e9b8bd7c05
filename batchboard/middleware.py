"""Everybody signs in, and sets a password of their own in place of a one-time one; whoever asks for
something that they may not do is told who may."""

from collections.abc import Callable
from urllib.parse import urlencode, urlsplit

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin
from django_htmx.http import HttpResponseClientRedirect

from batchboard.roles import NotAllowed
from batchboard.views.requests import is_fragment

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

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Pages are for who is signed in now: nobody's browser keeps one for the next person, who
        would see it with Back."""
        response.headers.setdefault("Cache-Control", "no-store, private")
        return response

    def handle_no_permission(  # type: ignore[override]
        self, request: HttpRequest, view_func: Callable[..., HttpResponseBase]
    ) -> HttpResponse:
        if is_fragment(request):
            page = urlsplit(request.headers.get("HX-Current-URL", "/"))
            back = page.path + (f"?{page.query}" if page.query else "")
            return _leave(request, f"{reverse('sign-in')}?{urlencode({'next': back})}")
        return super().handle_no_permission(request, view_func)


class CompressionMiddleware(GZipMiddleware):
    """Sends pages and fragments compressed; what is streamed goes out as it comes."""

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        if response.streaming:
            return response
        return super().process_response(request, response)


class RefusalMiddleware(MiddlewareMixin):
    """A view lets NotAllowed through: it is answered here, in the same way everywhere."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, NotAllowed):
            return None
        if is_fragment(request):
            return HttpResponse(str(error), status=403, content_type="text/plain; charset=utf-8")
        return render(request, "people/refused.html", {"refusal": str(error)}, status=403)


def _leave(request: HttpRequest, address: str) -> HttpResponse:
    """Send the whole page elsewhere; a plain redirect would put that page inside this one."""
    return HttpResponseClientRedirect(address) if is_fragment(request) else redirect(address)
