"""session: one conversation works through several items in turn.

Each turn sees the items and answers before it. What was sent before is read from the cache: a turn
marks its end, and the next one reads up to there and writes the answer and the item that came
since. The last turn writes nothing, because nobody would read it.
"""

from collections.abc import Sequence
from typing import Any

from batchboard import template
from batchboard.estimate import TOKENS_PER_BYTE
from dispatch.modes.cached import Cached, minimum_tokens
from dispatch.modes.single import PLAIN, cache_control
from dispatch.modes.work import Framing, ItemWork, VersionWork


class Session(Cached):
    converses = True

    def request(
        self,
        version: VersionWork,
        items: Sequence[ItemWork],
        max_tokens: int,
        framing: Framing = PLAIN,
    ) -> dict[str, Any]:
        arguments = super().request(version, items, max_tokens, framing)
        messages: list[dict[str, Any]] = []
        for turn in framing.history:
            messages += [
                _said("user", template.render(version.prompt, turn.data)),
                _said("assistant", turn.reply),
            ]
        messages.append(_said("user", arguments["messages"][0]["content"]))
        # The last turn reads what the one before it wrote, and leaves nothing to read.
        end = -3 if framing.last else -1
        if framing.cache and len(messages) >= -end and self._is_long(version, messages):
            messages[end]["content"][0]["cache_control"] = cache_control(framing)
        arguments["messages"] = messages
        return arguments

    def _is_long(self, version: VersionWork, messages: Sequence[dict[str, Any]]) -> bool:
        """Whether the conversation so far is long enough for the provider to cache it."""
        texts = [message["content"][0]["text"] for message in messages]
        tokens = sum(len(text.encode()) for text in texts) * TOKENS_PER_BYTE
        return (version.shared_tokens or 0) + tokens >= minimum_tokens(version.model)


def _said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text}]}
