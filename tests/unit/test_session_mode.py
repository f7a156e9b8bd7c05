"""session: what a turn sends of the conversation, and what of it is cached."""

import pytest

from dispatch.modes import MODES
from dispatch.modes.work import Framing, ItemWork, Turn, VersionWork

ITEM = [ItemWork("k", {"text": "now"})]
HISTORY = (Turn({"text": "one"}, "first answer"), Turn({"text": "two"}, "second answer"))


def version(shared_tokens=5_000, system="Rules."):
    return VersionWork(
        1, "claude-haiku-5-5", system, "Look at {{ text }}", 100, None, shared_tokens, 0
    )


def request(history=HISTORY, *, cache="5m", last=False, **fields):
    framing = Framing(cache, "", history, last)
    return MODES["session"].request(version(**fields), ITEM, 100, framing)


def marked(asked):
    """Numbers of the messages that carry a cache mark."""
    return [
        number
        for number, message in enumerate(asked["messages"])
        if "cache_control" in message["content"][0]
    ]


def test_a_turn_sends_what_was_said_before_it():
    said = [(m["role"], m["content"][0]["text"]) for m in request()["messages"]]
    assert said == [
        ("user", "Look at one"),
        ("assistant", "first answer"),
        ("user", "Look at two"),
        ("assistant", "second answer"),
        ("user", "Look at now"),
    ]


@pytest.mark.parametrize(
    ("history", "last", "marks"),
    [
        ((), False, [0]),
        (HISTORY, False, [4]),
        (HISTORY, True, [2]),  # where the turn before wrote up to
        ((), True, []),
    ],
    ids=["first", "middle", "last", "first and last"],
)
def test_a_turn_marks_its_end_and_the_last_one_writes_nothing(history, last, marks):
    assert marked(request(history, last=last)) == marks


def test_a_conversation_that_is_too_short_is_not_marked():
    asked = request((), shared_tokens=100)
    assert marked(asked) == []
    assert asked["system"] == "Rules."


def test_one_that_has_grown_long_enough_is_marked_though_its_context_is_short():
    long = (Turn({"text": "x" * 2_000}, "y" * 2_000),)
    asked = request(long, shared_tokens=100)
    assert marked(asked) == [2]
    assert asked["system"] == "Rules."


def test_without_a_cache_nothing_is_marked():
    assert marked(request(cache="")) == []
