"""The Django app of the domain and its pages: checks its settings, and makes the roles."""

from django.apps import AppConfig
from django.core.checks import register
from django.db.models.signals import post_migrate


class BatchboardConfig(AppConfig):
    name = "batchboard"
    verbose_name = "Batchboard"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from batchboard.checks import check_limits, check_whole_numbers

        register(check_limits)
        register(check_whole_numbers)
        post_migrate.connect(_make_roles, sender=self, dispatch_uid="roles")


def _make_roles(using: str, **_: object) -> None:
    """The groups that carry the roles are there from the first migration on."""
    from django.contrib.auth.models import Group

    from batchboard.roles import Role

    for role in Role:
        Group.objects.using(using).get_or_create(name=role.value)
