"""Forms of the pages."""

from django import forms
from django.contrib.auth.forms import AuthenticationForm, UsernameField


class SignInForm(AuthenticationForm):
    username = UsernameField(
        label="User name",
        widget=forms.TextInput(
            attrs={"autofocus": True, "autocapitalize": "none", "spellcheck": "false"}
        ),
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
        "inactive": "This account is switched off. An administrator can switch it on.",
    }
