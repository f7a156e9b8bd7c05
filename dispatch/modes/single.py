"""single: every item a call of its own, nothing shared; the baseline of every comparison."""

from collections.abc import Sequence
from typing import Any

from batchboard import template
from dispatch.asked_schema import asked
from dispatch.calls import Call, PartReply, Reply
from dispatch.modes.queued import Queued
from dispatch.modes.work import Framing, ItemWork, VersionWork
from dispatch.outcome import Outcome

PLAIN = Framing()


class Single:
    converses = False
    submits = False

    def together(self, version: VersionWork, line: Sequence[Queued], most: int) -> int:
        return 1

    def max_tokens(self, version: VersionWork, items: int) -> int:
        return version.max_tokens

    def weight(self, prompt_bytes: int, items: int) -> int:
        return prompt_bytes

    def caches(self, version: VersionWork) -> bool:
        return False

    def request(
        self,
        version: VersionWork,
        items: Sequence[ItemWork],
        max_tokens: int,
        framing: Framing = PLAIN,
    ) -> dict[str, Any]:
        (item,) = items
        arguments: dict[str, Any] = {
            "model": version.model,
            "max_tokens": max_tokens,
            "messages": [{"role": "user", "content": template.render(version.prompt, item.data)}],
        }
        if system := self._system(version, framing):
            arguments["system"] = system
        if (schema := self._schema(version)) is not None:
            arguments["output_config"] = {
                "format": {"type": "json_schema", "schema": asked(schema)}
            }
        return arguments

    def read(
        self, version: VersionWork, items: Sequence[ItemWork], call: Call, reply: Reply
    ) -> list[PartReply]:
        if reply.outcome is not Outcome.OK:
            return [PartReply(reply.outcome, reply.problem, reply.text)]
        return [check(version, reply.text or "")]

    def _schema(self, version: VersionWork) -> dict[str, Any] | None:
        """The JSON Schema that the answer of a call is to meet."""
        return version.schema

    def _system(self, version: VersionWork, framing: Framing) -> str | list[dict[str, Any]]:
        """The shared context. A salt stands in a block of its own before it, so that nothing of
        what follows is found in a cache that others wrote."""
        mark = (
            {"cache_control": cache_control(framing)}
            if self._marks_shared(version, framing)
            else {}
        )
        if not framing.salt and not mark:
            return version.system
        texts = [text for text in (framing.salt and f"Run {framing.salt}.", version.system) if text]
        blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in texts]
        if blocks and version.system:
            blocks[-1] |= mark
        return blocks

    def _marks_shared(self, version: VersionWork, framing: Framing) -> bool:
        return bool(framing.cache) and self.caches(version)


def check(version: VersionWork, text: str) -> PartReply:
    """One item's answer, held against the contract."""
    if version.contract is None:
        return PartReply(Outcome.OK, "", text)
    verdict = version.contract.check(text)
    if verdict.ok:
        return PartReply(Outcome.OK, "", text)
    return PartReply(Outcome.CONTRACT, verdict.problem or "", text)


def cache_control(framing: Framing) -> dict[str, str]:
    """The provider's cache mark for `framing`; five minutes are its default and need no word."""
    mark = {"type": "ephemeral"}
    return mark if framing.cache == "5m" else mark | {"ttl": framing.cache}
