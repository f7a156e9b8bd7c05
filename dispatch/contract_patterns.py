"""Patterns of a contract, matched in a time that is bounded by their size and the text's.

Python's own engine tries again from every place that it could have gone another way from, which
takes for ever for some patterns and texts: `(a|a)+$` needs 2⁴⁰ steps for forty letters. The one
used here walks through a text once. So it knows neither look-around nor back-references, which the
providers' structured answers do not know either.
"""

import re
from functools import lru_cache

from pydantic_core import SchemaError, SchemaValidator, core_schema

MAX_CHARACTERS = 2_000
MAX_LETTERS = 20_000
"""What a pattern may come to when its counted repetitions are written out."""

MAX_WORK = 20_000_000
"""Letters of the pattern, written out, times letters of the text."""

_TOKEN = re.compile(
    r"(?P<letter>\\.|\[\^?\]?(?:[^\]\\]|\\.)*\])|\{(?P<times>\d+)(?:,(?P<most>\d*))?\}|.", re.DOTALL
)


class PatternError(ValueError):
    """The pattern cannot be used; str() is a clause that says why."""


def check(pattern: str) -> None:
    """Raises PatternError for what is no pattern, or none whose matching is bounded."""
    if len(pattern) > MAX_CHARACTERS:
        raise PatternError(f"is over {MAX_CHARACTERS:,} characters long")
    if _letters(pattern) > MAX_LETTERS:
        raise PatternError(f"repeats more than {MAX_LETTERS:,} letters when it is written out")
    try:
        _compiled(pattern)
    except SchemaError as wrong:
        raise PatternError(f"is not a valid regular expression: {_why(wrong)}") from None


def is_too_long(pattern: str, text: str) -> bool:
    """Whether matching would take too long, so that `text` must not be matched."""
    return _letters(pattern) * len(text) > MAX_WORK


def matches(pattern: str, text: str) -> bool:
    """Whether the pattern is found anywhere in `text`."""
    return _compiled(pattern).isinstance_python(text)


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> SchemaValidator:
    return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))


@lru_cache(maxsize=512)
def _letters(pattern: str) -> int:
    """How many letters the pattern has when every counted repetition is written out."""
    sums, last = [0], 0
    for token in _TOKEN.finditer(pattern):
        if token["times"] is not None:
            sums[-1] += last * max(int(token["most"] or token["times"]) - 1, 0)
        elif token[0] == "(":
            sums.append(0)
        elif token[0] == ")" and len(sums) > 1:
            last = sums.pop()
            sums[-1] += last
        else:
            last = 1
            sums[-1] += 1
    return sum(sums)


def _why(wrong: SchemaError) -> str:
    lines = [line.strip() for line in str(wrong).splitlines()]
    said = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return (said or [lines[-1].removeprefix("SchemaError: ").rstrip(".")])[-1]
