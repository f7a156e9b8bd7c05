"""Rate limits: token buckets with continuous refill, one set for each model."""

import math
from collections.abc import Iterable
from datetime import UTC, datetime

from .errors import rate_limited
from .options import Options


class Bucket:
    """Holds `per_minute * burst_seconds / 60` units. Times are monotonic seconds.

    More may be taken than the bucket holds: it goes below zero and refills from there.
    """

    def __init__(self, per_minute: int, burst_seconds: float, now: float) -> None:
        self.per_minute = per_minute
        self.rate = per_minute / 60
        self.capacity = max(1.0, self.rate * burst_seconds)
        self._level = self.capacity
        self._at = now

    def level(self, now: float) -> float:
        if now > self._at:
            self._level = min(self.capacity, self._level + (now - self._at) * self.rate)
            self._at = now
        return self._level

    def wait_for(self, amount: float, now: float) -> float:
        """Seconds until `amount` may be taken; what never fits waits for a full bucket."""
        missing = min(amount, self.capacity) - self.level(now)
        return max(0.0, missing / self.rate)

    def take(self, amount: float, now: float) -> None:
        self._level = self.level(now) - amount

    def full_at(self, now: float) -> float:
        return now + (self.capacity - self.level(now)) / self.rate


class ModelLimits:
    """The three buckets of one model."""

    def __init__(self, options: Options, now: float) -> None:
        def bucket(per_minute: int) -> Bucket | None:
            return Bucket(per_minute, options.burst_seconds, now) if per_minute else None

        self._requests = bucket(options.rpm)
        self._input = bucket(options.itpm)
        self._output = bucket(options.otpm)

    def admit(self, input_tokens: int, now: float) -> None:
        """Take a request and its input, or raise the 429 and take nothing."""
        waits = dict(self._waits(input_tokens, now))
        if waits:
            longest = max(waits, key=waits.__getitem__)
            raise rate_limited(longest, max(1, math.ceil(waits[longest])))
        if self._requests:
            self._requests.take(1, now)
        if self._input:
            self._input.take(input_tokens, now)

    def generated(self, output_tokens: int, now: float) -> None:
        if self._output:
            self._output.take(output_tokens, now)

    def _waits(self, input_tokens: int, now: float) -> Iterable[tuple[str, float]]:
        if self._requests and (wait := self._requests.wait_for(1, now)):
            yield f"{self._requests.per_minute} requests per minute", wait
        if self._input and (wait := self._input.wait_for(input_tokens, now)):
            yield f"{self._input.per_minute} input tokens per minute", wait
        # Output is not known in advance: any remainder admits, an empty bucket does not.
        if self._output and self._output.level(now) <= 0:
            wait = self._output.wait_for(0, now) or 1e-6
            yield f"{self._output.per_minute} output tokens per minute", wait

    def headers(self, now: float, epoch: float) -> dict[str, str]:
        """`anthropic-ratelimit-*`; `epoch` is the wall-clock time of `now`."""
        tokens = [bucket for bucket in (self._input, self._output) if bucket]
        kinds = {
            "requests": [self._requests] if self._requests else [],
            "tokens": tokens,
            "input-tokens": [self._input] if self._input else [],
            "output-tokens": [self._output] if self._output else [],
        }
        headers: dict[str, str] = {}
        for kind, buckets in kinds.items():
            if not buckets:
                continue
            prefix = f"anthropic-ratelimit-{kind}-"
            remaining = sum(max(0, math.floor(each.level(now))) for each in buckets)
            reset = math.ceil(epoch - now + max(each.full_at(now) for each in buckets))
            headers[prefix + "limit"] = str(sum(each.per_minute for each in buckets))
            headers[prefix + "remaining"] = str(remaining)
            headers[prefix + "reset"] = f"{datetime.fromtimestamp(reset, UTC):%Y-%m-%dT%H:%M:%SZ}"
        return headers


class Limits:
    """The limits of every model, each made full when it is first used."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._models: dict[str, ModelLimits] = {}

    def of(self, model: str, now: float) -> ModelLimits:
        limits = self._models.get(model)
        if limits is None:
            limits = self._models[model] = ModelLimits(self._options, now)
        return limits
