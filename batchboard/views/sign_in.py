"""Signing in, signing out, and a password of one's own."""

from typing import cast

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from batchboard.forms import SignInForm
from batchboard.models import User

sign_in = LoginView.as_view(
    template_name="people/sign_in.html",
    authentication_form=SignInForm,
    redirect_authenticated_user=True,
)
sign_out = LogoutView.as_view()


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def password(request: HttpRequest) -> HttpResponse:
    """Who signed in with a one-time password just proved it; everybody else gives the old one."""
    user = cast(User, request.user)
    form_class = SetPasswordForm if user.must_change_password else PasswordChangeForm
    form = form_class(user, request.POST or None)
    if request.method == "POST" and form.is_valid():
        user.must_change_password = False
        form.save()
        update_session_auth_hash(request, user)
        messages.success(request, "Your new password is set.")
        return redirect("board")
    return render(request, "people/password.html", {"form": form})
