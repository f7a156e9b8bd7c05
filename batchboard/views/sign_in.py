"""Signing in, signing out, and what people set for themselves."""

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
from batchboard.known_device import remember
from batchboard.views.requests import person


class SignIn(LoginView):
    template_name = "people/sign_in.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def form_valid(self, form: SignInForm) -> HttpResponse:  # type: ignore[override]
        answer = super().form_valid(form)
        remember(self.request, answer, form.cleaned_data["username"])
        return answer

    def form_invalid(self, form: SignInForm) -> HttpResponse:  # type: ignore[override]
        answer = super().form_invalid(form)
        if form.wait:
            answer.status_code = 429
            answer["Retry-After"] = str(int(form.wait) + 1)
        return answer


sign_in = SignIn.as_view()
sign_out = LogoutView.as_view()


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def password(request: HttpRequest) -> HttpResponse:
    """Who signed in with a one-time password just proved it; everybody else gives the old one."""
    user = person(request)
    form_class = SetPasswordForm if user.must_change_password else PasswordChangeForm
    form = form_class(user, request.POST or None)
    again = form.fields["new_password2"]
    again.label, again.help_text = "New password again", ""
    if request.method == "POST" and form.is_valid():
        user.must_change_password = False
        form.save()
        user.record("person.own_password", user)
        update_session_auth_hash(request, user)
        messages.success(request, "Your new password is set.")
        return redirect("board")
    return render(request, "people/password.html", {"form": form})


@never_cache
@require_http_methods(["GET", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    user = person(request)
    if request.method == "POST":
        user.single_keys = "single_keys" in request.POST
        user.save(update_fields=["single_keys"])
        messages.success(request, f"Single keys are {'on' if user.single_keys else 'off'}.")
        return redirect("account")
    return render(request, "people/account.html")
