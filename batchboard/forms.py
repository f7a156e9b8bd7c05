"""Forms of the pages."""

from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm, UsernameField
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError

from batchboard.models import SignInTries, User
from batchboard.roles import Role

PLAIN_TEXT = {"autocapitalize": "none", "spellcheck": "false"}


class SignInForm(AuthenticationForm):
    """Name and password; after failed tries it makes the next one wait, known name or not."""

    username = UsernameField(
        label="User name", widget=forms.TextInput(attrs={"autofocus": True} | PLAIN_TEXT)
    )
    password = forms.CharField(
        label="Password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    error_messages = {
        "invalid_login": (
            "This user name and password do not match. Check both; the password's capital letters"
            " count. If it is lost, an administrator can give you a one-time password."
        ),
    }
    wait = 0.0

    def clean(self) -> dict[str, Any]:
        username, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        if not username or not password:
            return self.cleaned_data
        address = self.request.META.get("REMOTE_ADDR", "") if self.request else ""
        self.wait = SignInTries.objects.begin(username, address)
        if self.wait:
            raise ValidationError(
                "Too many tries failed, with this name or from this address. Wait"
                f" {_in_words(self.wait)}, then try again."
            )
        cleaned = super().clean()
        SignInTries.objects.succeed(username, address)
        return cleaned


class RolesForm(forms.Form):
    """What a person may do beyond looking."""

    roles = forms.MultipleChoiceField(
        label="May",
        required=False,
        choices=[(role.value, role.does) for role in Role if role is not Role.VIEWER],
        widget=forms.CheckboxSelectMultiple,
    )

    def chosen(self) -> list[Role]:
        return [Role(name) for name in self.cleaned_data["roles"]]


class NewPersonForm(RolesForm):
    """Somebody new: a name to sign in with, and perhaps one to be called by."""

    username = forms.CharField(
        label="User name",
        max_length=150,
        validators=[UnicodeUsernameValidator()],
        widget=forms.TextInput(attrs=PLAIN_TEXT | {"autocomplete": "off"}),
        error_messages={"required": "A user name is needed to sign in with."},
    )
    first_name = forms.CharField(label="First name", max_length=150, required=False)
    last_name = forms.CharField(label="Last name", max_length=150, required=False)
    field_order = ("username", "first_name", "last_name", "roles")

    def clean_username(self) -> str:
        username = str(self.cleaned_data["username"])
        # Names that differ in capitals alone would be taken for each other.
        if User.objects.filter(username__iexact=username).exists():
            raise ValidationError(f"There is somebody called {username} already.")
        return username


def _in_words(seconds: float) -> str:
    whole = int(seconds) + 1
    if whole < 60:
        return f"{whole} s"
    minutes = -(-whole // 60)
    return "1 minute" if minutes == 1 else f"{minutes} minutes"
