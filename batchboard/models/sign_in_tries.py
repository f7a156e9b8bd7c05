"""Throttling of sign-in: failed tries make the next one wait, by user name and by address.

In the database, so that it holds over restarts and for all web processes. A name waits a minute at
most; an address, which guesses at many names, longer. A device that the name signed in from before
has a count of its own and heeds no other, so that nobody can make somebody else wait there.
"""

from datetime import datetime, timedelta
from hashlib import sha256

from django.db import models, transaction
from django.db.models import F, Q
from django.utils import timezone

FORGOTTEN_AFTER = timedelta(hours=1)


class Kind(models.TextChoices):
    NAME = "name"
    ADDRESS = "address"
    DEVICE = "device"


FREE_TRIES = {Kind.NAME: 5, Kind.ADDRESS: 20, Kind.DEVICE: 5}
FIRST_WAIT_SECONDS = 5
LONGEST_WAIT_SECONDS = {Kind.NAME: 60, Kind.ADDRESS: 900, Kind.DEVICE: 60}


class SignInTriesManager(models.Manager["SignInTries"]):
    def begin(self, username: str, address: str, device: str = "") -> float:
        """Count a try before its password is looked at, so that tries side by side count too.
        Returns the seconds that must pass first; then nothing was counted. 0: go on. `device` is
        one that this name signed in from before, or "" for any other."""
        now = timezone.now()
        with transaction.atomic():
            # Always in the same order, so that two tries never wait for each other.
            rows = [self._row(*key, now) for key in sorted(_keys(username, address, device))]
            wait = max((row.wait(now) for row in rows), default=0.0)
            if wait:
                return wait
            for row in rows:
                row.count(now)
        return 0.0

    def succeed(self, username: str, address: str, device: str = "") -> None:
        """The password was right: the name or the device starts anew, the address gets this try
        back. It keeps the others: who guesses may have an account too."""
        for kind, digest in _keys(username, address, device):
            if kind != Kind.ADDRESS:
                self.filter(kind=kind, digest=digest).delete()
                continue
            self.filter(kind=kind, digest=digest, failures__gt=0).update(failures=F("failures") - 1)

    def _row(self, kind: Kind, digest: str, now: datetime) -> "SignInTries":
        old = now - FORGOTTEN_AFTER
        self.filter(Q(kind=kind, last_at__lt=old)).delete()
        self.get_or_create(kind=kind, digest=digest, defaults={"last_at": now})
        return self.select_for_update().get(kind=kind, digest=digest)


class SignInTries(models.Model):
    """Failed tries of one user name, known or not, from one address, or from one device."""

    kind = models.CharField(max_length=7, choices=Kind)
    digest = models.CharField(max_length=64)
    failures = models.PositiveIntegerField(default=0)
    last_at = models.DateTimeField(db_index=True)
    free_at = models.DateTimeField(null=True, help_text="No earlier try is looked at.")

    objects = SignInTriesManager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "digest"], name="one_row_of_tries")]

    def __str__(self) -> str:
        return f"{self.failures} by {self.kind}"

    def wait(self, now: datetime) -> float:
        return 0.0 if self.free_at is None else max(0.0, (self.free_at - now).total_seconds())

    def count(self, now: datetime) -> None:
        kind = Kind(self.kind)
        self.failures += 1
        self.last_at = now
        over = self.failures - FREE_TRIES[kind]
        if over >= 0:
            seconds = FIRST_WAIT_SECONDS * 2 ** min(over, 16)
            self.free_at = now + timedelta(seconds=min(seconds, LONGEST_WAIT_SECONDS[kind]))
        self.save(update_fields=["failures", "last_at", "free_at"])


def _keys(username: str, address: str, device: str) -> tuple[tuple[Kind, str], ...]:
    if device:
        return ((Kind.DEVICE, _digest(device)),)
    return (Kind.NAME, _digest(username.casefold())), (Kind.ADDRESS, _digest(address))


def _digest(text: str) -> str:
    """What people type into the field for the name may be a password: no text of it is kept."""
    return sha256(text.encode(errors="replace")).hexdigest()
