"""What calls a request mode makes of a pile of items: how many, and the tokens of each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from batchboard.pricing import Usage

ELEMENT_TOKENS = 25
"""What an item's element and its id add to a packed prompt."""

ENTRY_TOKENS = 15
"""What an item's id and the JSON around it add to a packed answer."""

INSTRUCTION_TOKENS = 80
INSTRUCTION_BYTES = 300
ELEMENT_BYTES = 50
MOST_ENTRY_TOKENS = 40
"""The same three at the most, for the bound of what a packed call can cost."""

LONGEST_ESCAPE = 5
"""Bytes that one byte of an item becomes at the most where it is escaped in a packed prompt."""

BYTES_PER_TOKEN = 4
BATCH_CACHE_HITS = 0.6
"""Of requests in a message batch; the provider tells of 30 to 98 %."""


@dataclass(frozen=True)
class Pile:
    """What is to be sent, in tokens: `sizes` are bytes of prompt → how many items, `ratio` tokens
    a byte, `shared` the shared context, `output` an answer. `cache` is how long the shared context
    is kept ("" where it is not cached); a conversation is cached from `minimum` tokens on."""

    sizes: Mapping[int, int]
    ratio: float
    shared: int
    shared_bytes: int
    output: int
    max_tokens: int
    cache: str = ""
    minimum: int = 0
    group: int = 1

    @property
    def items(self) -> int:
        return sum(self.sizes.values())

    @property
    def mean_bytes(self) -> float:
        return sum(size * n for size, n in self.sizes.items()) / max(1, self.items)


@dataclass(frozen=True)
class Calls:
    """So many calls of one kind: what each uses, and the most bytes and output tokens that it can
    have."""

    count: int
    usage: Usage
    bound: int
    max_tokens: int


def plain(pile: Pile) -> list[Calls]:
    """A call for each item; with a cache the first one writes the shared context and the rest read
    it."""
    found = []
    for size, count in pile.sizes.items():
        prompt = round(size * pile.ratio)
        bound = pile.shared_bytes + size
        usage = _shared(pile, prompt, pile.output)
        found.append(Calls(count, usage, bound, pile.max_tokens))
    return _with_first_write(pile, found)


def submitted(pile: Pile) -> list[Calls]:
    """A request for each item in message batches, where nobody waits for a first one to write the
    shared context: some read it, and the others write it once more."""
    found = []
    for one in plain(Pile(**{**vars(pile), "cache": ""})):
        hits = round(one.count * BATCH_CACHE_HITS) if pile.cache else 0
        prompt, output = one.usage.input - pile.shared, one.usage.output
        read = Usage(input=prompt, output=output, cache_read=pile.shared)
        wrote = Usage(input=prompt, output=output, cache_write_1h=pile.shared)
        misses = wrote if pile.cache else one.usage
        for count, usage in ((hits, read), (one.count - hits, misses)):
            if count:
                found.append(Calls(count, usage, one.bound, one.max_tokens))
    return found


def packed(pile: Pile) -> list[Calls]:
    """Calls of `group` items, and one of those that are left over."""
    found = []
    whole, rest = divmod(pile.items, max(1, pile.group))
    for count, items in ((whole, pile.group), (1 if rest else 0, rest)):
        if count:
            size = items * pile.mean_bytes
            prompt = round(size * pile.ratio) + ELEMENT_TOKENS * items + INSTRUCTION_TOKENS
            usage = _shared(pile, prompt, (pile.output + ENTRY_TOKENS) * items)
            bound = pile.shared_bytes + most_packed_bytes(round(size), items)
            most = items * most_packed_output(pile.max_tokens)
            found.append(Calls(count, usage, bound, most))
    return _with_first_write(pile, found)


def most_packed_bytes(prompt_bytes: int, items: int) -> int:
    """Bytes of a packed prompt at the most, of items whose prompts have `prompt_bytes` in all."""
    return LONGEST_ESCAPE * prompt_bytes + ELEMENT_BYTES * items + INSTRUCTION_BYTES


def most_packed_output(max_tokens: int) -> int:
    """Tokens that the answer to a packed call may have for each of its items."""
    return max_tokens + MOST_ENTRY_TOKENS


def session(pile: Pile) -> list[Calls]:
    """Turns of conversations of `group` items: each reads what was said before it, and writes the
    last answer and its own item, but for the last turn, which nobody follows."""
    whole, rest = divmod(pile.items, max(1, pile.group))
    found = []
    for turn in range(min(pile.group, pile.items)):
        going_on = whole + (turn < rest)
        ends = (whole if turn == pile.group - 1 else 0) + (turn == rest - 1)
        for count, last in ((going_on - ends, False), (ends, True)):
            if count:
                found.append(_turn(pile, turn, count, last=last))
    return _with_first_write(pile, found)


SHAPES: Mapping[str, Callable[[Pile], list[Calls]]] = {
    "single": plain,
    "cached": plain,
    "session": session,
    "packed": packed,
    "provider_batch": submitted,
}


def _turn(pile: Pile, turn: int, count: int, *, last: bool) -> Calls:
    prompt = round(pile.mean_bytes * pile.ratio)
    said = turn * (prompt + pile.output)
    bound = pile.shared_bytes + round(
        pile.mean_bytes * (turn + 1) + turn * pile.max_tokens * BYTES_PER_TOKEN
    )
    fresh = prompt + (pile.output if turn else 0)
    before = pile.shared + max(0, said - pile.output)
    if before + fresh < pile.minimum:
        usage = Usage(input=pile.shared + said + prompt, output=pile.output)
    else:
        # The turn before wrote up to its own item; the first one finds the shared context alone.
        read = before if turn and before >= pile.minimum else (pile.shared if pile.cache else 0)
        new = pile.shared + said + prompt - read
        usage = Usage(
            input=new if last else 0,
            output=pile.output,
            cache_write_5m=0 if last else new,
            cache_read=read,
        )
    return Calls(count, usage, bound, pile.max_tokens)


def _shared(pile: Pile, prompt: int, output: int) -> Usage:
    if pile.cache:
        return Usage(input=prompt, output=output, cache_read=pile.shared)
    return Usage(input=pile.shared + prompt, output=output)


def _with_first_write(pile: Pile, found: list[Calls]) -> list[Calls]:
    """The first call of all finds no cache and writes the shared context."""
    if not pile.cache or not found:
        return found
    first, usage = found[0], found[0].usage
    wrote = Usage(
        input=usage.input,
        output=usage.output,
        cache_write_5m=usage.cache_write_5m + (pile.shared if pile.cache == "5m" else 0),
        cache_write_1h=usage.cache_write_1h + (pile.shared if pile.cache == "1h" else 0),
        cache_read=max(0, usage.cache_read - pile.shared),
    )
    rest = Calls(first.count - 1, usage, first.bound, first.max_tokens)
    return [
        Calls(1, wrote, first.bound, first.max_tokens),
        *([rest] if rest.count else []),
        *found[1:],
    ]
