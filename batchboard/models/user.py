"""People, and what an administrator does for them; each change is an event that names them."""

import secrets
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractUser, Group, UserManager
from django.db import models, transaction

from batchboard.models.event import Event
from batchboard.roles import Right, Role, require
from batchboard.states import MoveRefused

LAST = "is the only administrator: make another one first."


class PersonQuerySet(models.QuerySet["User"]):
    def administrators(self) -> "PersonQuerySet":
        """People who may sign in and administer."""
        admins = models.Q(groups__name=Role.ADMIN.value) | models.Q(is_superuser=True)
        return self.filter(admins, is_active=True).distinct()


class PersonManager(UserManager["User"].from_queryset(PersonQuerySet)):  # type: ignore[misc]
    def add_person(
        self,
        username: str,
        roles: Collection[Role],
        *,
        first_name: str = "",
        last_name: str = "",
        by: Any = None,
    ) -> tuple["User", str]:
        """A person, and the one-time password to sign in with: it is kept nowhere."""
        require(by, Right.ADMINISTER, "add people")
        password = one_time_password()
        with transaction.atomic():
            user = self.create_user(
                username,
                password=password,
                first_name=first_name,
                last_name=last_name,
                must_change_password=True,
            )
            user.groups.set(_groups(roles))
            user.record("person.added", by, roles=_names(roles))
        return user, password


class User(AbstractUser):
    """A person who signs in."""

    must_change_password = models.BooleanField(
        default=False, help_text="Signed in with a one-time password: asked for one of their own."
    )
    single_keys = models.BooleanField(
        default=True, help_text="Whether keys act without Ctrl or Alt, such as P for pause."
    )

    objects: ClassVar[PersonManager] = PersonManager()

    def __str__(self) -> str:
        return self.get_full_name() or self.username

    @property
    def roles(self) -> list[Role]:
        """What this person is; a superuser is an administrator whatever their groups."""
        names = {group.name for group in self.groups.all()}
        return [r for r in Role if r in names or (r is Role.ADMIN and self.is_superuser)]

    def change_roles(self, roles: Collection[Role], by: Any = None) -> bool:
        """Give exactly these roles. False where they were so already."""
        require(by, Right.ADMINISTER, "change what people may do")
        with _administrators_locked():
            before = [role.value for role in self.roles]
            if before == _names(roles):
                return False
            if Role.ADMIN not in roles:
                self._keep_an_administrator()
                self.is_superuser = self.is_staff = False
                self.save(update_fields=["is_superuser", "is_staff"])
            self.groups.set(_groups(roles))
            self.record("person.roles", by, before=before, after=_names(roles))
        return True

    def switch_off(self, by: Any = None) -> bool:
        """Let this person no longer sign in, and end what they have open. False where it was so."""
        require(by, Right.ADMINISTER, "switch accounts off")
        with _administrators_locked():
            if not User.objects.filter(pk=self.pk, is_active=True).exists():
                return False
            self._keep_an_administrator()
            self._set_active(False)
            self.record("person.off", by)
        return True

    def switch_on(self, by: Any = None) -> bool:
        """Let this person sign in again. False where they could."""
        require(by, Right.ADMINISTER, "switch accounts on")
        with transaction.atomic():
            if User.objects.filter(pk=self.pk, is_active=True).exists():
                return False
            self._set_active(True)
            self.record("person.on", by)
        return True

    def renew_password(self, by: Any = None) -> str:
        """A new one-time password; the old one, and whatever was open with it, end at once."""
        require(by, Right.ADMINISTER, "give one-time passwords")
        password = one_time_password()
        with transaction.atomic():
            self.set_password(password)
            self.must_change_password = True
            self.save(update_fields=["password", "must_change_password"])
            self.record("person.password", by)
        return password

    def record(self, verb: str, by: Any, **detail: Any) -> None:
        Event.objects.record(verb, by=by, person=self.username, **detail)

    def _set_active(self, active: bool) -> None:
        self.is_active = active
        self.save(update_fields=["is_active"])

    def _keep_an_administrator(self) -> None:
        others = User.objects.administrators().exclude(pk=self.pk)
        mine = User.objects.administrators().filter(pk=self.pk)
        if mine.exists() and not others.exists():
            raise MoveRefused(f"{self} {LAST}")


def one_time_password() -> str:
    return secrets.token_urlsafe(12)


@contextmanager
def _administrators_locked() -> Iterator[None]:
    """A transaction in which nobody else changes who administers: two administrators who remove
    each other at the same moment would leave none."""
    with transaction.atomic():
        Group.objects.select_for_update().get(name=Role.ADMIN.value)
        yield


def _groups(roles: Collection[Role]) -> list[Group]:
    return list(Group.objects.filter(name__in=_names(roles)))


def _names(roles: Collection[Role]) -> list[str]:
    """Their names in order; who has no role may look, which is a role too."""
    return [role.value for role in Role if role in roles] or [Role.VIEWER.value]
