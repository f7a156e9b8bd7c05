"""The text that answers a call: it fits the schema when there is one, else it is prose."""

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any

from .errors import invalid
from .fault import Fault
from .options import Options
from .packed import elements, entry_schema, packed_text
from .prompt import Prompt, schema_of
from .schema_values import SchemaValues, free_strings
from .tokens import BYTES_PER_TOKEN, text_tokens

_SENTENCE = (
    "the market team finds clear notes about price and support while each report names one open "
    "risk so that owners plan a small next step before the review of this release closes again"
)
_PROSE_LENGTH = 1 << 16


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    tokens: int
    stop_reason: str = "end_turn"


def answer_to(
    body: dict[str, Any], prompt: Prompt, options: Options, fault: Fault | None
) -> Answer:
    """Deterministic in (seed, last user message, schema) where no option gives the answer; never
    more than max_tokens."""
    if body["max_tokens"] == 0:
        return Answer("", 0, "max_tokens")
    if fault is Fault.REFUSAL:
        return Answer("I cannot help with that.", 6, "refusal")
    schema = schema_of(body)
    result, found = entry_schema(schema), elements(prompt.last_text)
    if result is not None and found:
        text = _packed(found, schema or {}, result, options, _random(options.seed, prompt.item))
    else:
        text = _one(prompt.last_text, prompt.item, schema, options)
    if fault is Fault.MALFORMED:
        text = '{"unfinished": ' + text[: len(text) // 2]
    if fault is Fault.TRUNCATED:
        return Answer(text[: len(text) // 2], body["max_tokens"], "max_tokens")
    return _clipped(text, body["max_tokens"])


def _one(message: str, item: str, schema: dict[str, Any] | None, options: Options) -> str:
    given = _given(message, options)
    if given is not None:
        return given
    return _text(schema, _random(options.seed, item), options.output_tokens)


def _packed(
    found: list[tuple[str, str]],
    schema: dict[str, Any],
    result: dict[str, Any],
    options: Options,
    random: Random,
) -> str:
    shared: dict[str, Any] = {
        name: schema[name] for name in ("$defs", "definitions") if name in schema
    }
    plain = result == {"type": "string"}

    def write(content: str, wanted: dict[str, Any]) -> Any:
        text = _one(content, content, None if plain else {**wanted, **shared}, options)
        if plain:
            return text
        try:
            return json.loads(text)
        except ValueError:
            return text

    return packed_text(found, result, write, options, random)


def _given(message: str, options: Options) -> str | None:
    answers = options.answer_containing.items()
    return next((answer for part, answer in answers if part in message), None)


def _text(schema: dict[str, Any] | None, random: Random, mean_tokens: int) -> str:
    length = max(1, round(mean_tokens * random.uniform(0.75, 1.25))) * BYTES_PER_TOKEN

    def write(wanted: int) -> str:
        prose = _prose(wanted)
        start = random.randrange(len(prose) - wanted + 1)
        return prose[start : start + wanted]

    if schema is None:
        return write(length)
    each = length // max(1, free_strings(schema))
    values = SchemaValues(schema, random, min(each, _PROSE_LENGTH), write)
    try:
        return json.dumps(values.value(), ensure_ascii=False)
    except (LookupError, TypeError, ValueError, RecursionError):
        raise invalid("output_config.format.schema: not a schema that can be met") from None


def _clipped(text: str, max_tokens: int) -> Answer:
    tokens = text_tokens(text)
    if tokens <= max_tokens:
        return Answer(text, tokens)
    kept = text.encode("utf-8", "surrogatepass")[: max_tokens * BYTES_PER_TOKEN].decode(
        errors="ignore"
    )
    return Answer(kept, max_tokens, "max_tokens")


def _random(seed: int, item: str) -> Random:
    digest = hashlib.blake2b(f"{seed}/{item}".encode(), digest_size=8).digest()
    return Random(int.from_bytes(digest, "big"))  # noqa: S311


def _prose(wanted: int) -> str:
    """Words enough to cut `wanted` characters from at many places."""
    return _words_up_to(max(_PROSE_LENGTH, 1 << (2 * wanted).bit_length()))


@lru_cache(maxsize=8)
def _words_up_to(length: int) -> str:
    random = Random(length)  # noqa: S311
    vocabulary = _SENTENCE.split()
    words: list[str] = []
    size = 0
    while size < length:
        words.append(random.choice(vocabulary))
        size += len(words[-1]) + 1
    return " ".join(words)
