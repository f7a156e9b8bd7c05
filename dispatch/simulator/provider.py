"""The provider's state and its one decision: what becomes of a call that arrives."""

import time
from dataclasses import dataclass, replace
from typing import Any

from .answer import Answer, answer_to
from .buckets import Limits, ModelLimits
from .cache import CachePlan, PromptCache
from .errors import spend_limit_reached
from .fault import Fault
from .faults import Fate, FaultPlan, error_of
from .ledger import Call, Ledger
from .options import Options
from .prices import MODELS
from .prompt import Prompt
from .usage import Usage
from .validation import check_request

AMPLE = {
    "anthropic-ratelimit-requests-limit": "1000000",
    "anthropic-ratelimit-requests-remaining": "999999",
}
"""Headers of a 429 that no limit is behind, where none is set."""


@dataclass(frozen=True, slots=True)
class Generation:
    """A call that was accepted: what it will answer, how slowly, and what it will cost."""

    model: str
    answer: Answer
    plan: CachePlan
    fate: Fate
    stream: bool

    @property
    def usage(self) -> Usage:
        return self.plan.usage.with_output(self.answer.tokens)


class Provider:
    def __init__(self, options: Options) -> None:
        self.options = options
        self.ledger = Ledger()
        self._faults = FaultPlan(options)
        self.limits = Limits(options)
        self.cache = PromptCache()

    def reset(self) -> None:
        """Forget everything but the options. Calls in flight end in the old ledger."""
        self.ledger = Ledger()
        self.limits = Limits(self.options)
        self.cache = PromptCache()

    def change(self, changes: dict[str, object]) -> None:
        """New options; changed limits start with full buckets. ValueError leaves all as it was."""
        self.options = self.options.changed(changes)
        self._faults = FaultPlan(self.options)
        if changes.keys() & {"rpm", "itpm", "otpm", "burst_seconds"}:
            self.limits = Limits(self.options)

    def accept(self, body: Any, call: Call, ledger: Ledger) -> Generation:
        """Check, limit and draw the fate of one call; ProviderError is its answer."""
        check_request(body)
        prompt = self._opened(body, call)
        self.check_spend(ledger)
        now = time.monotonic()
        plan = self.cache.plan(prompt, MODELS[prompt.model].min_cacheable, now)
        self._limits(prompt.model).admit(plan.usage.input + plan.usage.write, now)
        fate = self._fate(prompt, call, ledger, bool(body.get("stream")))
        if fate.fault is not None and (
            error := error_of(fate.fault, self.options.fault_retry_after)
        ):
            raise error
        return self._generation(body, prompt, plan, fate)

    def accept_batched(self, body: Any, call: Call, ledger: Ledger) -> Generation:
        """The same for a request of a message batch, which no rate limit stops."""
        check_request(body, batched=True)
        prompt = self._opened(body, call)
        fate = self._fate(prompt, call, ledger, stream=False)
        if fate.fault in (Fault.INVALID, Fault.SERVER, Fault.OVERLOADED) and (
            error := error_of(fate.fault, 0)
        ):
            raise error
        readable = fate.luck < self.options.batch_cache_hits
        minimum = MODELS[prompt.model].min_cacheable
        plan = self.cache.plan(prompt, minimum, time.monotonic(), readable=readable)
        return self._generation(body, prompt, plan, fate)

    def check_spend(self, ledger: Ledger) -> None:
        limit = self.options.spend_limit_usd
        if limit and ledger.bill > limit:
            raise spend_limit_reached()

    def begin(self, generation: Generation) -> None:
        if generation.plan.writes:
            self.cache.begin(generation.plan, time.monotonic())

    def finish(self, generation: Generation, call: Call, ledger: Ledger, *, answered: bool) -> None:
        """Charge in full, whether or not somebody was there to take the answer."""
        call.answered = answered
        ledger.charge(call, generation.usage)
        if call.batch_id is None:
            limits = self._limits(generation.model)
            limits.generated(generation.answer.tokens, time.monotonic())

    def limit_headers(self, model: str | None, *, refused: bool = False) -> dict[str, str]:
        """What an answer says of the limits; a 429 (`refused`) says so even where none is set,
        because the provider always has some."""
        options = self.options
        if model is None or not options.limit_headers:
            return {}
        if not (options.rpm or options.itpm or options.otpm):
            return dict(AMPLE) if refused else {}
        return self._limits(model).headers(time.monotonic(), time.time())

    def _limits(self, model: str) -> ModelLimits:
        return self.limits.of(model, time.monotonic())

    def _opened(self, body: dict[str, Any], call: Call) -> Prompt:
        prompt = Prompt(body)
        call.model = prompt.model
        call.item = prompt.item
        call.us_only = body.get("inference_geo") == "us"
        return prompt

    def _fate(self, prompt: Prompt, call: Call, ledger: Ledger, stream: bool) -> Fate:
        fate = self._faults.draw(prompt.item, ledger.admit(prompt.item), prompt.last_text)
        if fate.fault is Fault.STREAM_ERROR and not stream:
            fate = replace(fate, fault=None)
        call.fault = None if fate.fault is None else fate.fault.value
        return fate

    def _generation(
        self, body: dict[str, Any], prompt: Prompt, plan: CachePlan, fate: Fate
    ) -> Generation:
        answer = answer_to(body, prompt, self.options, fate.fault)
        return Generation(prompt.model, answer, plan, fate, bool(body.get("stream")))
