"""People."""

from django.contrib.auth.models import AbstractUser
from django.db import models


class User(AbstractUser):
    """A person who signs in."""

    must_change_password = models.BooleanField(
        default=False, help_text="Signed in with a one-time password: asked for one of their own."
    )

    def __str__(self) -> str:
        return self.get_full_name() or self.username
