"""What happened to people's accounts, in plain words."""

from collections.abc import Sequence
from dataclasses import dataclass

from batchboard.models import Event
from batchboard.roles import Role


@dataclass(frozen=True)
class Said:
    """One line of the record: who, what, when."""

    event: Event
    words: str


def said(event: Event) -> Said:
    detail = event.detail
    person = detail.get("person", "somebody")
    words = {
        "person.added": f"added {person} as {_listed(detail.get('roles', []))}",
        "person.roles": (
            f"made {person} {_listed(detail.get('after', []))},"
            f" before: {_listed(detail.get('before', []))}"
        ),
        "person.off": f"switched {person} off",
        "person.on": f"switched {person} on again",
        "person.password": f"gave {person} a new one-time password",
        "person.own_password": "set a password of their own",
    }.get(event.verb, event.verb)
    return Said(event, words if event.actor else words[:1].upper() + words[1:])


def _listed(roles: Sequence[str]) -> str:
    return " and ".join(Role(role).label.lower() for role in roles) or "viewer"
