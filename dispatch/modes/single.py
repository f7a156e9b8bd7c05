"""single: every item a call of its own, nothing shared; the baseline of every comparison."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from batchboard import template
from dispatch.asked_schema import asked
from dispatch.calls import Call, PartReply, Reply
from dispatch.modes.work import ItemWork, VersionWork
from dispatch.outcome import Outcome


class Single:
    def items_per_call(self) -> int:
        return 1

    def caches(self, version: VersionWork) -> bool:
        return False

    def alone(self, version: VersionWork, warm_until: datetime | None, now: datetime) -> bool:
        return False

    def request(
        self, version: VersionWork, items: Sequence[ItemWork], max_tokens: int
    ) -> dict[str, Any]:
        (item,) = items
        arguments: dict[str, Any] = {
            "model": version.model,
            "max_tokens": max_tokens,
            "messages": [{"role": "user", "content": template.render(version.prompt, item.data)}],
        }
        if version.system:
            arguments["system"] = version.system
        if version.schema is not None:
            arguments["output_config"] = {
                "format": {
                    "type": "json_schema",
                    "schema": asked(version.schema),
                }
            }
        return arguments

    def read(
        self, version: VersionWork, items: Sequence[ItemWork], call: Call, reply: Reply
    ) -> list[PartReply]:
        if reply.outcome is not Outcome.OK or version.contract is None:
            return [PartReply(reply.outcome, reply.problem, reply.text)]
        verdict = version.contract.check(reply.text or "")
        if verdict.ok:
            return [PartReply(Outcome.OK, "", reply.text)]
        return [PartReply(Outcome.CONTRACT, verdict.problem or "", reply.text)]
