"""Who may go on watching: a stream is told when its owner signed out, was switched off or got
another role or password. All streams of a process are looked at together, in three queries."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from asgiref.sync import sync_to_async
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.models import Session
from django.db import DatabaseError
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from batchboard.models import User
from batchboard.roles import Right, rights_of
from dispatch.database import close_connections

log = logging.getLogger(__name__)

CHECKED_SECONDS = 10.0
"""How often it is looked at."""


@dataclass(eq=False)
class Stay:
    """One stream: by whose session it was opened, and with which rights. Once `over`, nothing more
    may be sent."""

    session: str
    person: int
    rights: frozenset[Right]
    over: bool = False


class Stays:
    """The open streams of a process."""

    def __init__(self) -> None:
        self._open: set[Stay] = set()
        self._task: asyncio.Task[None] | None = None

    @contextmanager
    def begun(self, stay: Stay) -> Iterator[None]:
        self._open.add(stay)
        if self._task is None:
            self._task = asyncio.create_task(self._go_on_looking())
        try:
            yield
        finally:
            self._open.discard(stay)
            if not self._open and self._task is not None:
                self._task.cancel()
                self._task = None

    async def _go_on_looking(self) -> None:
        while True:
            await asyncio.sleep(CHECKED_SECONDS)
            try:
                await sync_to_async(look)(list(self._open))
            except DatabaseError as error:
                log.warning("nobody knows who may go on watching: %s", error)


def look(open_streams: Sequence[Stay]) -> None:
    """Mark those that are over."""
    try:
        now = timezone.now()
        keys = {stay.session for stay in open_streams}
        stored = Session.objects.filter(session_key__in=keys, expire_date__gt=now)
        sessions = {session.session_key: session.get_decoded() for session in stored}
        people = User.objects.filter(is_active=True).prefetch_related("groups")
        found = people.in_bulk({stay.person for stay in open_streams})
        for stay in open_streams:
            session, user = sessions.get(stay.session, {}), found.get(stay.person)
            stay.over = (
                user is None
                or session.get(SESSION_KEY) != str(user.pk)
                or not constant_time_compare(
                    session.get(HASH_SESSION_KEY, ""), user.get_session_auth_hash()
                )
                or rights_of(user) != stay.rights
            )
    finally:
        close_connections()


stays = Stays()
