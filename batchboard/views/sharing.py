"""Answers that many browsers ask for at the same moment are made once.

When the hub tells everybody that something changed, everybody asks for the same fragment. It holds
what was told of until the hub tells more, so until then one answer serves all who have the same
rights. It must not depend on anything else of who asks.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse

from batchboard.roles import rights_of
from batchboard.views.hub import hub

View = Callable[..., HttpResponse]

OLDEST_SECONDS = 1.0
"""Redis may be away, and then the hub hears nothing."""

REMEMBERED = 200


@dataclass
class _Answer:
    """One answer being made, or made; whoever asks meanwhile waits for it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    told: int = -1
    at: float = 0.0
    content: bytes = b""


def shared(view: View) -> View:
    """Make the answer of a fragment once for all who ask for it after the same telling."""
    answers: dict[tuple[Any, ...], _Answer] = {}

    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        told = hub.told
        if told is None or request.method != "GET":
            return view(request, *args, **kwargs)
        if len(answers) > REMEMBERED:
            answers.clear()
        answer = answers.setdefault((request.get_full_path(), rights_of(request.user)), _Answer())
        with answer.lock:
            if answer.told != told or time.monotonic() - answer.at > OLDEST_SECONDS:
                at = time.monotonic()
                made = view(request, *args, **kwargs)
                if made.status_code != 200:
                    return made
                answer.told, answer.at, answer.content = told, at, made.content
            return HttpResponse(answer.content)

    return answered
