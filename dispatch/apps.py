"""The Django app of the engine: it hears what the domain announces."""

from django.apps import AppConfig


class DispatchConfig(AppConfig):
    name = "dispatch"

    def ready(self) -> None:
        from dispatch import announce

        announce.connect()
