"""Which calls go wrong, and how: drawn from the seed, so that a run can be repeated."""

import hashlib
import math
from dataclasses import dataclass
from statistics import NormalDist

from .errors import ProviderError, ramp_limited, spend_limit_reached
from .fault import Fault
from .options import Options

_STANDARD_NORMAL = NormalDist()


_PLAIN_ERRORS = {
    Fault.INVALID: (400, "invalid_request_error", "Injected: the request is not valid"),
    Fault.UNAUTHENTICATED: (401, "authentication_error", "Injected: invalid x-api-key"),
    Fault.BILLING: (402, "billing_error", "Injected: check your payment method"),
    Fault.FORBIDDEN: (403, "permission_error", "Injected: not allowed"),
    Fault.NOT_FOUND: (404, "not_found_error", "Injected: model not found"),
    Fault.RATE_LIMIT: (429, "rate_limit_error", "Injected: too many requests"),
    Fault.SERVER: (500, "api_error", "Injected: internal server error"),
    Fault.OVERLOADED: (529, "overloaded_error", "Injected: overloaded"),
}

_RATES = (
    ("rate_429", Fault.RATE_LIMIT),
    ("rate_ramp_limit", Fault.RAMP_LIMIT),
    ("rate_529", Fault.OVERLOADED),
    ("rate_500", Fault.SERVER),
    ("rate_hang", Fault.HANG),
    ("rate_drop", Fault.DROP),
    ("rate_malformed", Fault.MALFORMED),
    ("rate_truncated", Fault.TRUNCATED),
    ("rate_refusal", Fault.REFUSAL),
    ("rate_stream_error", Fault.STREAM_ERROR),
)


@dataclass(frozen=True, slots=True)
class Fate:
    """What was drawn for one call. `luck` in [0, 1) is free for other choices."""

    fault: Fault | None
    latency: float
    luck: float


class FaultPlan:
    """Draws the fate of a call from the seed, its item, and its number among the item's calls."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._failing = [(text, Fault(name)) for text, name in options.fail_containing.items()]
        self._thresholds: list[tuple[float, Fault]] = []
        reached = 0.0
        for name, fault in _RATES:
            rate: float = getattr(options, name)
            if rate:
                reached += rate
                self._thresholds.append((reached, fault))

    def draw(self, item: str, ordinal: int, text: str) -> Fate:
        digest = hashlib.blake2b(
            f"{self._options.seed}/{item}/{ordinal}".encode(), digest_size=24
        ).digest()
        fault = self._wanted(text) or self._by_rate(_share(digest[:8]))
        return Fate(fault, self._latency(_share(digest[8:16])), _share(digest[16:]))

    def _wanted(self, text: str) -> Fault | None:
        return next((fault for part, fault in self._failing if part in text), None)

    def _by_rate(self, share: float) -> Fault | None:
        return next((fault for reached, fault in self._thresholds if share < reached), None)

    def _latency(self, share: float) -> float:
        options = self._options
        if not options.latency_sigma or not options.latency:
            return options.latency
        deviation = _STANDARD_NORMAL.inv_cdf(min(max(share, 1e-9), 1 - 1e-9))
        return options.latency * math.exp(options.latency_sigma * deviation)


def error_of(fault: Fault, fault_retry_after: float) -> ProviderError | None:
    """The error that an injected fault answers with; None for the faults that answer otherwise."""
    seconds = math.ceil(fault_retry_after)
    if fault is Fault.RAMP_LIMIT:
        error = ramp_limited(seconds)
    elif fault is Fault.SPEND_LIMIT:
        error = spend_limit_reached()
    elif fault in _PLAIN_ERRORS:
        error = ProviderError(*_PLAIN_ERRORS[fault])
        if fault is Fault.RATE_LIMIT:
            error.retry_after = seconds
    else:
        return None
    error.fault = fault.value
    return error


def _share(eight_bytes: bytes) -> float:
    return int.from_bytes(eight_bytes, "big") / 2**64
