"""What people type to sign in, and about people, limits and prices: read and checked."""

from decimal import Decimal
from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm, UsernameField
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError

from batchboard.known_device import device_of
from batchboard.models import Limits, SignInTries, User
from batchboard.models.limit_settings import SETTINGS, read_settings
from batchboard.pricing import KINDS
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
        device = device_of(self.request, username)
        self.wait = SignInTries.objects.begin(username, address, device)
        if self.wait:
            which = "from this device" if device else "with this name or from this address"
            raise ValidationError(
                f"Too many tries failed, {which}. Wait {_in_words(self.wait)}, then try again."
            )
        cleaned = super().clean()
        SignInTries.objects.succeed(username, address, device)
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


class LimitsForm(forms.Form):
    """What holds for all batches together, as people write it: 80 %, $10.00, or nothing."""

    concurrency = forms.CharField(label="Cap: calls in flight")
    headroom = forms.CharField(label="Headroom")
    budget = forms.CharField(label="Ceiling for all spend", required=False)
    budget_period = forms.ChoiceField(
        label="The ceiling holds", choices=[("month", "each month (UTC)"), ("all", "in all")]
    )
    starter_may_approve = forms.ChoiceField(
        label="Who started a batch", choices=[("yes", "may approve it"), ("no", "may not approve")]
    )
    stopped = False
    """Whether nothing but what a value would stop stands against saving."""

    @classmethod
    def of(cls, limits: Limits) -> "LimitsForm":
        budget = limits.configured("budget")
        return cls(
            initial={
                "concurrency": f"{limits.cap:,}",
                "headroom": f"{limits.configured('headroom') * 100:g}",
                "budget": "" if budget is None else f"{budget:,.2f}",
                "budget_period": limits.configured("budget_period"),
                "starter_may_approve": "yes" if limits.configured("starter_may_approve") else "no",
            }
        )

    def clean(self) -> dict[str, Any]:
        read: dict[str, Any] = {}
        for name, written in list(self.cleaned_data.items()):
            try:
                read |= read_settings({name: _as_number(name, written)})
            except ValueError:
                says = "from 5 to 100 %" if name == "headroom" else SETTINGS[name].says
                self.add_error(name, f"“{written}” is not {says}.")
        return read

    def stop(self, name: str, why: str) -> None:
        """A value fits and would stop work: it is asked for once more."""
        self.stopped = not self.errors or self.stopped
        self.add_error(name, why)

    def said(self, name: str, before: Any) -> str:
        """From what to what a value changed."""
        return f"{_written(name, before)} → {_written(name, self.cleaned_data[name])}"


class PriceForm(forms.Form):
    """Dollars per million tokens of a model that the price list does not know."""

    model = forms.CharField(
        label="Model",
        max_length=100,
        widget=forms.TextInput(attrs=PLAIN_TEXT | {"autocomplete": "off"}),
        error_messages={"required": "Give the model's name."},
    )
    input = forms.CharField(label="Input", required=False)
    output = forms.CharField(label="Output", required=False)
    cache_write_5m = forms.CharField(label="Written, 5 min", required=False)
    cache_write_1h = forms.CharField(label="Written, 1 h", required=False)
    cache_read = forms.CharField(label="Read", required=False)
    valid_from = forms.DateTimeField(
        label="Valid from (UTC)",
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        error_messages={"invalid": "Give a day and a time, or leave it empty for now."},
    )

    def __init__(self, data: Any = None) -> None:
        super().__init__(data, auto_id="price_%s")
        for kind in KINDS:
            self.fields[kind].widget.attrs |= {"inputmode": "decimal", "autocomplete": "off"}

    @property
    def kinds(self) -> list[forms.BoundField]:
        return [self[kind] for kind in KINDS]

    @property
    def prices(self) -> dict[str, Decimal | None]:
        return {kind: self.cleaned_data[kind] for kind in KINDS}

    def clean(self) -> dict[str, Any]:
        read = dict(self.cleaned_data)
        for kind in KINDS:
            written = str(read.get(kind, "")).replace("$", "").replace(",", "").strip()
            try:
                read[kind] = Decimal(written) if written else None
            except ArithmeticError:
                self.add_error(kind, f"“{written}” is not an amount in dollars.")
        return read


def _in_words(seconds: float) -> str:
    whole = int(seconds) + 1
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes else f"{whole} s"


def _as_number(name: str, written: str) -> str:
    bare = written.strip().strip("$%").replace(",", "").replace("\u202f", "").strip()
    if name == "headroom":
        try:
            return str(Decimal(bare) / 100)
        except ArithmeticError:
            return "no number"
    return bare


def _written(name: str, value: Any) -> str:
    if value is None:
        return "none"
    if name == "headroom":
        return f"{value * 100:g}\u202f%"
    if name == "budget":
        return f"${value:,.2f}"
    if name == "starter_may_approve":
        return "yes" if value else "no"
    return {"month": "each month", "all": "in all"}.get(str(value), f"{value}")
