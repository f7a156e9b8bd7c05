"""Who may do what: four roles, which are Django groups of the same names, and the rights they give.

Everybody who signs in may look. A right is asked for twice: by the page, which shows what cannot be
done as disabled with its reason, and by the verb itself, so that no other way leads around it.
"""

from enum import StrEnum
from typing import Any

from batchboard.states import MoveRefused


class Role(StrEnum):
    VIEWER = "viewer"
    OPERATOR = "operator"
    REVIEWER = "reviewer"
    ADMIN = "admin"

    @property
    def label(self) -> str:
        return "Administrator" if self is Role.ADMIN else self.value.capitalize()

    @property
    def does(self) -> str:
        """What it adds to looking, in words."""
        return DOES[self]


class Right(StrEnum):
    OPERATE = "operate"  # create, start, pause, resume, cancel, send again; task types
    REVIEW = "review"  # judge, draw more, approve, reject
    ADMINISTER = "administer"  # limits, people, overrides
    COMMENT = "comment"  # say something about a batch, which stays on record
    EXPORT = "export"  # take released results away as a file


DOES = {
    Role.VIEWER: "looks",
    Role.OPERATOR: "creates, starts, pauses and cancels batches, edits task types, exports",
    Role.REVIEWER: "judges samples, approves and rejects results, exports",
    Role.ADMIN: "does all of this, changes limits, and decides who may do what",
}

RIGHTS: dict[Role, frozenset[Right]] = {
    Role.VIEWER: frozenset(),
    Role.OPERATOR: frozenset({Right.OPERATE, Right.COMMENT, Right.EXPORT}),
    Role.REVIEWER: frozenset({Right.REVIEW, Right.COMMENT, Right.EXPORT}),
    Role.ADMIN: frozenset(Right),
}

NEEDED = {
    Right.OPERATE: "an operator or an administrator",
    Right.REVIEW: "a reviewer or an administrator",
    Right.ADMINISTER: "an administrator",
    Right.COMMENT: "an operator, a reviewer or an administrator",
    Right.EXPORT: "an operator, a reviewer or an administrator",
}


class NotAllowed(MoveRefused):
    """A person asked for what none of their roles gives; the message says whom to ask."""


def rights_of(user: Any) -> frozenset[Right]:
    """What a user's roles give together; a superuser may do everything."""
    if not getattr(user, "is_active", False):
        return frozenset()
    if user.is_superuser:
        return frozenset(Right)
    if not hasattr(user, "_rights"):
        names = {group.name for group in user.groups.all()}
        user._rights = frozenset().union(*(RIGHTS[role] for role in Role if role in names))
    return user._rights  # type: ignore[no-any-return]


def may(user: Any, right: Right) -> bool:
    return right in rights_of(user)


def require(user: Any, right: Right, what: str) -> None:
    """Raise NotAllowed unless `user` has `right`. None stands for the machine's own operator, at
    the command line or in a worker, who needs none. `what` completes "… may", as in "start it"."""
    if user is not None and not may(user, right):
        raise NotAllowed(f"Only {NEEDED[right]} may {what}.")
