"""Token buckets: the provider's limits per minute, spread evenly over its seconds."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from batchboard.models import Limits, ModelLimit
from batchboard.states import Wait
from dispatch.calls import Told

BURST_SECONDS = 0.5
"""A full bucket holds so many seconds of its limit. The provider may enforce 600 a minute as 10 a
second, with a bucket of one second; the other half is room for calls that arrive bunched."""

PROVIDER_SECONDS = 1.0
RESERVE = 0.35
"""Output tokens leave the provider's bucket when they are generated, and it lets nobody in while
it is empty. So that bucket is followed too, at its smallest, and nothing is sent while it may hold
less than this share."""

KINDS = ("requests", "input_tokens", "output_tokens")
WAITS = {
    "requests": Wait.REQUESTS,
    "input_tokens": Wait.INPUT_TOKENS,
    "output_tokens": Wait.OUTPUT_TOKENS,
}


@dataclass(frozen=True, slots=True)
class Need:
    """What one call takes from the buckets."""

    requests: float
    input_tokens: float
    output_tokens: float


class Buckets:
    """The three buckets of one model, filled up to `now`."""

    def __init__(self, row: ModelLimit, limits: Limits, now: datetime) -> None:
        self.row = row
        self.now = now
        headroom = float(limits.configured("headroom"))
        self.rate = {
            "requests": row.allowed("rpm", limits) * headroom / 60,
            "input_tokens": row.allowed("itpm", limits) * headroom / 60,
            "output_tokens": row.allowed("otpm", limits) * headroom / 60,
        }
        self._refill()

    @property
    def paused_for(self) -> float:
        """Seconds until the pause that all batches on this model share is over; 0 without one."""
        if self.row.paused_until is None:
            return 0.0
        return max(0.0, (self.row.paused_until - self.now).total_seconds())

    def short_of(self, need: Need) -> tuple[str, float] | None:
        """The bucket that has too little for `need` and the seconds until it has enough, or None.

        A call larger than a full bucket goes when the bucket is full, and leaves a debt.
        """
        longest: tuple[str, float] | None = None
        for kind in KINDS:
            missing = min(getattr(need, kind), self._capacity(kind)) - getattr(self.row, kind)
            seconds = missing / self.rate[kind]
            if missing > 1e-9 and (longest is None or seconds > longest[1]):
                longest = kind, seconds
        rate = self.rate["output_tokens"]
        missing = rate * PROVIDER_SECONDS * RESERVE - (self.row.generated or 0)
        if missing > 0 and (longest is None or missing / rate > longest[1]):
            longest = "output_tokens", missing / rate
        return longest

    def take(self, need: Need) -> None:
        for kind in KINDS:
            setattr(self.row, kind, getattr(self.row, kind) - getattr(need, kind))

    def give_back(self, need: Need) -> None:
        """Correct what was taken by what was really used; a negative part takes more."""
        for kind in KINDS:
            setattr(self.row, kind, getattr(self.row, kind) + getattr(need, kind))

    def generated(self, tokens: int) -> None:
        """An answer of so many tokens came."""
        self.row.generated = (self.row.generated or 0) - tokens

    def learn(self, told: Told, provider: str) -> None:
        """Remember the limits that the headers of `provider` state, and of no other."""
        if not (told.rpm or told.itpm or told.otpm):
            return
        if self.row.told_by != provider:
            self.row.told_rpm = self.row.told_itpm = self.row.told_otpm = None
            self.row.told_by = provider
        self.row.told_rpm = told.rpm or self.row.told_rpm
        self.row.told_itpm = told.itpm or self.row.told_itpm
        self.row.told_otpm = told.otpm or self.row.told_otpm

    def pause(self, seconds: float) -> None:
        """Let nothing through for so long. The provider's bucket is empty, so ours is too."""
        until = self.now + timedelta(seconds=seconds)
        if self.row.paused_until is None or until > self.row.paused_until:
            self.row.paused_until = until
        for kind in KINDS:
            setattr(self.row, kind, min(0.0, getattr(self.row, kind)))

    def _capacity(self, kind: str) -> float:
        return max(1.0, self.rate[kind] * BURST_SECONDS)

    def _refill(self) -> None:
        since = self._since()
        passed = 0.0 if since is None else max(0.0, (self.now - since).total_seconds())
        for kind in KINDS:
            level = getattr(self.row, kind)
            full = self._capacity(kind)
            refilled = full if level is None else min(full, level + passed * self.rate[kind])
            setattr(self.row, kind, refilled)
        rate = self.rate["output_tokens"]
        full, level = rate * PROVIDER_SECONDS, self.row.generated
        self.row.generated = full if level is None else min(full, level + passed * rate)
        self.row.level_at = self.now

    def _since(self) -> datetime | None:
        """When the levels were right. A clock that was set back takes the moments of this row with
        it: else nothing would be let through until it is as late again as it was."""
        row, since = self.row, self.row.level_at
        if since is None or since <= self.now:
            return since
        back = since - self.now
        row.paused_until = None if row.paused_until is None else row.paused_until - back
        row.episode_at = None if row.episode_at is None else row.episode_at - back
        return self.now
