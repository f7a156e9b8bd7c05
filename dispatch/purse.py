"""What one round of admission may spend: the prices that hold in it, the worst that a call can
cost, and what is left of a batch's budget and of the ceiling."""

from collections.abc import Sequence

from batchboard.models.prices import Applied, applied, why_not
from batchboard.money import dollars, units
from batchboard.pricing import Rates
from batchboard.states import Block, Wait
from dispatch.contender import Contender
from dispatch.deciding import Deciding
from dispatch.live import Live
from dispatch.modes.queued import Queued
from dispatch.price_rows import price_row

OVERHEAD_TOKENS = 1_000
"""What a request may weigh beyond the bytes that we send: the provider's own framing, and the
instructions that it adds for structured output."""

MAX_TOKENS = 128_000


class Purse:
    """The money of one round; `ceiling_binds` once the ceiling kept a call back."""

    def __init__(self, made: Deciding, live: Live) -> None:
        self.now = made.now
        self.live = live
        self.ceiling_binds = False
        self._prices: dict[str, Applied | None] = {}
        self._price_rows: dict[str, int | None] = {}
        ceiling = made.limits.configured("budget")
        self.money = (
            None if ceiling is None
            else units(ceiling - made.limits.spent(self.now)) - live.reserved
        )  # fmt: skip

    def price(self, model: str) -> Applied | None:
        """One price for the whole round, so that what is reserved and what is recorded agree."""
        if model not in self._prices:
            self._prices[model] = applied(model, self.now)
        return self._prices[model]

    def price_row(self, model: str) -> int | None:
        """The id of the record of that price."""
        if model not in self._price_rows:
            price = self.price(model)
            self._price_rows[model] = None if price is None else price_row(model, price)
        return self._price_rows[model]

    def may_cost(self, contender: Contender) -> bool:
        """Whether its model has a price, or it may run without one; else it stands still."""
        if self.price(contender.work.model) is None and (refusal := self._unpriced(contender)):
            contender.block = Block.UNPRICED, refusal
        return contender.block is None

    def _unpriced(self, contender: Contender) -> str:
        row = contender.row
        return why_not(
            contender.work.model,
            self.now,
            unpriced_ok=row.unpriced_ok,
            budget=row.budget,
            ceiling=self.money,
        )

    def worst(
        self, contender: Contender, items: Sequence[Queued], rates: Rates | None
    ) -> tuple[int, int]:
        """The output tokens that a request for `items` may take, and the units that it costs at
        the most."""
        max_tokens = contender.mode.max_tokens(contender.work, len(items))
        if items[0].widened:
            max_tokens *= 2
        max_tokens = min(MAX_TOKENS, max_tokens)
        bound = contender.bound(items) + OVERHEAD_TOKENS
        return max_tokens, rates.worst(bound, max_tokens, cache=contender.cache) if rates else 0

    def affords(self, contender: Contender, reserved: int) -> bool:
        """Whether the batch and the installation can pay the worst case; if nothing in flight can
        free money either, a person has to."""
        budget = contender.row.budget
        if budget is not None and budget - contender.row.spent - contender.reserved < reserved:
            contender.waits = Wait.MONEY
            if not contender.in_flight:
                contender.block = (
                    Block.BUDGET,
                    f"${dollars(contender.row.spent):.4f} of ${dollars(budget):.4f} is spent, and"
                    f" the next call may cost ${dollars(reserved):.4f}.",
                )
            return False
        if self.money is not None and self.money < reserved:
            contender.waits, self.ceiling_binds = Wait.MONEY, True
            if not self.live.reserved:
                contender.block = (
                    Block.CEILING,
                    f"The ceiling leaves ${dollars(max(0, self.money)):.4f}, and the next call may"
                    f" cost ${dollars(reserved):.4f}.",
                )
            return False
        return True

    def hold(self, reserved: int) -> None:
        """Set so much aside for a call that is let through."""
        self.live.reserved += reserved
        if self.money is not None:
            self.money -= reserved
