"""packed: several items in one call, each in an element with an id that the answer repeats.

Answers are matched by id, never by place. What is missing, comes twice or was cut off goes again
alone; so does every item of a call that was refused as a whole, since one of them may be the cause
and the others are innocent. Accuracy falls as more items share a call.
"""

import hmac
import json
from collections import defaultdict
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from django.conf import settings

from batchboard import strict_json, template
from batchboard.call_shapes import most_packed_bytes, most_packed_output
from dispatch.calls import Call, PartReply, Reply
from dispatch.modes.cached import Cached
from dispatch.modes.queued import Queued
from dispatch.modes.single import PLAIN, check
from dispatch.modes.work import Framing, ItemWork, VersionWork
from dispatch.outcome import Outcome

MOST_BYTES = 200_000
"""Of the items of one call, about 60,000 tokens: far beyond what a model attends to well."""

MOST_OUTPUT_TOKENS = 64_000
ALONE = frozenset(
    {Outcome.MISSING, Outcome.CONTRACT, Outcome.TRUNCATED, Outcome.REFUSED, Outcome.INVALID}
)
"""An item whose last attempt ended so does not share its next call."""

INSTRUCTION = (
    "There are {count} items below, each in an <item> element with its id. Work through each of"
    " them by itself, as if it were the only one. Answer with one entry for every item: its id,"
    " exactly as it is given, and its result."
)
NAMES_OF_A_WHOLE = frozenset({"$schema", "$id"})
RESULT_POINTER = "#/properties/items/items/properties/result"


class Packed(Cached):
    def together(self, version: VersionWork, line: Sequence[Queued], most: int) -> int:
        if _goes_alone(line[0]):
            return 1
        fitting = max(1, MOST_OUTPUT_TOKENS // most_packed_output(version.max_tokens))
        size = count = 0
        for item in line[: min(most, fitting)]:
            size += item.prompt_bytes
            if _goes_alone(item) or (count and size > MOST_BYTES):
                break
            count += 1
        return count

    def max_tokens(self, version: VersionWork, items: int) -> int:
        return items * most_packed_output(version.max_tokens)

    def weight(self, prompt_bytes: int, items: int) -> int:
        return most_packed_bytes(prompt_bytes, items)

    def request(
        self,
        version: VersionWork,
        items: Sequence[ItemWork],
        max_tokens: int,
        framing: Framing = PLAIN,
    ) -> dict[str, Any]:
        arguments = super().request(version, items[:1], max_tokens, framing)
        elements = [
            f'<item id="{id_of(item.key)}">\n'
            f"{escaped(template.render(version.prompt, item.data))}\n</item>"
            for item in items
        ]
        text = "\n\n".join([INSTRUCTION.format(count=len(items)), *elements])
        arguments["messages"] = [{"role": "user", "content": text}]
        return arguments

    def read(
        self, version: VersionWork, items: Sequence[ItemWork], call: Call, reply: Reply
    ) -> list[PartReply]:
        if reply.outcome in {Outcome.REFUSED, Outcome.INVALID} and len(items) > 1:
            problem = f"The call of {len(items)} items failed as a whole: {reply.problem}"
            return [PartReply(Outcome.MISSING, problem) for _ in items]
        if reply.outcome not in {Outcome.OK, Outcome.TRUNCATED}:
            return [PartReply(reply.outcome, reply.problem, reply.text) for _ in items]
        answers = _answers(reply.text or "", broken_off=reply.outcome is Outcome.TRUNCATED)
        return [self._part(version, item, answers, reply, len(items)) for item in items]

    def _part(
        self,
        version: VersionWork,
        item: ItemWork,
        answers: dict[str, list[Any]],
        reply: Reply,
        count: int,
    ) -> PartReply:
        found = answers.get(id_of(item.key), [])
        if len(found) == 1:
            result = found[0]
            if version.schema is None:
                return PartReply(
                    Outcome.OK, "", result if isinstance(result, str) else _text(result)
                )
            return check(version, _text(result))
        if found:
            problem = f"The answer has {len(found)} entries with its id: none of them is taken."
            return PartReply(Outcome.MISSING, problem, reply.text)
        if reply.outcome is Outcome.TRUNCATED and count == 1:
            return PartReply(Outcome.TRUNCATED, reply.problem, reply.text)
        why = (
            "was cut off before it" if reply.outcome is Outcome.TRUNCATED else "has no entry for it"
        )
        return PartReply(Outcome.MISSING, f"The answer to {count} items {why}.", reply.text)

    def _schema(self, version: VersionWork) -> dict[str, Any]:
        result: dict[str, Any] = {"type": "string"}
        shared: dict[str, Any] = {}
        if version.schema is not None:
            result = _moved(version.schema)
            shared = {name: result.pop(name) for name in ("$defs", "definitions") if name in result}
        entry = {
            "type": "object",
            "properties": {"id": {"type": "string"}, "result": result},
            "required": ["id", "result"],
            "additionalProperties": False,
        }
        return {
            "type": "object",
            "properties": {"items": {"type": "array", "items": entry}},
            "required": ["items"],
            "additionalProperties": False,
            **shared,
        }


def id_of(key: str) -> str:
    """The id under which an item is sent: short, without anything that needs escaping, the same
    each time, different for different keys, and made with the installation's secret: who writes
    one item's text and knows the keys of others cannot answer in their names."""
    key_of_ids = settings.SECRET_KEY.encode()
    return "i" + hmac.new(key_of_ids, key.encode(errors="surrogatepass"), sha256).hexdigest()[:10]


def escaped(text: str) -> str:
    """Text that cannot end its element or begin another."""
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _goes_alone(item: Queued) -> bool:
    return item.outcome in ALONE or item.widened


def _answers(text: str, *, broken_off: bool) -> dict[str, list[Any]]:
    """The results by id: of an answer that was cut off, those that came whole."""
    found: dict[str, list[Any]] = defaultdict(list)
    for entry in _whole_entries(text) if broken_off else _entries(text):
        if isinstance(entry, dict) and isinstance(entry.get("id"), str) and "result" in entry:
            found[entry["id"]].append(entry["result"])
    return found


def _entries(text: str) -> list[Any]:
    try:
        whole = strict_json.parse(text)
    except strict_json.JsonError:
        return []
    entries = whole.get("items") if isinstance(whole, dict) else None
    return entries if isinstance(entries, list) else []


def _whole_entries(text: str) -> list[Any]:
    """What stands complete in a list of entries that breaks off."""
    decoder, entries = json.JSONDecoder(), []
    at = text.find("[") + 1
    while at:
        while at < len(text) and text[at] in ", \n\r\t":
            at += 1
        try:
            entry, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        entries.append(entry)
    return entries


def _text(result: Any) -> str:
    return json.dumps(result, ensure_ascii=False)


def _moved(schema: Any) -> Any:
    """A contract as it stands inside the answer's schema: its references follow it there, but for
    shared definitions, which move to the top."""
    if isinstance(schema, list):
        return [_moved(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    moved = {name: _moved(value) for name, value in schema.items() if name not in NAMES_OF_A_WHOLE}
    reference = moved.get("$ref")
    shared = ("#/$defs/", "#/definitions/")
    if (
        isinstance(reference, str)
        and reference.startswith("#")
        and not reference.startswith(shared)
    ):
        moved["$ref"] = RESULT_POINTER + reference[1:]
    return moved
