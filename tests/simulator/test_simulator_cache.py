"""Prompt caching: who writes, who reads, and for how long."""

import asyncio

import pytest

from dispatch.simulator.cache import PromptCache
from dispatch.simulator.prompt import Prompt

SHARED = "word " * 800  # about 1,000 tokens


def body(item="item", shared=SHARED, ttl=None, **fields):
    mark = {"type": "ephemeral"} | ({"ttl": ttl} if ttl else {})
    return {
        "model": "claude-haiku-5-5",
        "max_tokens": 100,
        "system": [{"type": "text", "text": shared, "cache_control": mark}],
        "messages": [{"role": "user", "content": item}],
        **fields,
    }


def arrive(cache, now, *, minimum=512, begins=True, **words):
    plan = cache.plan(Prompt(body(**words)), minimum, now)
    if begins:
        cache.begin(plan, now)
    return plan.usage


def kinds(usage):
    """Which of (5m write, 1h write, read) took place."""
    return usage.write_5m > 0, usage.write_1h > 0, usage.read > 0


def test_the_first_call_writes_and_the_next_reads_the_same_tokens():
    cache = PromptCache()
    first, second = arrive(cache, 0, item="one"), arrive(cache, 1, item="two")
    assert (kinds(first), kinds(second)) == ((True, False, False), (False, False, True))
    assert first.write_5m == second.read == 1002
    assert first.prompt == second.prompt == Prompt(body()).tokens


def test_until_the_first_answer_begins_every_call_pays_the_write():
    cache = PromptCache()
    assert kinds(arrive(cache, 0, begins=False)) == (True, False, False)
    assert kinds(arrive(cache, 1, begins=True)) == (True, False, False)
    assert kinds(arrive(cache, 2)) == (False, False, True)


@pytest.mark.parametrize(("ttl", "seconds"), [(None, 300), ("5m", 300), ("1h", 3600)])
def test_an_entry_ends_with_its_time_to_live_and_a_read_renews_it(ttl, seconds):
    cache = PromptCache()
    arrive(cache, 0, ttl=ttl)
    assert arrive(cache, seconds - 1, ttl=ttl).read
    assert arrive(cache, 2 * seconds - 2, ttl=ttl).read
    late = arrive(cache, 3 * seconds, ttl=ttl)
    assert kinds(late) == (ttl != "1h", ttl == "1h", False)


@pytest.mark.parametrize(("minimum", "cached"), [(1002, True), (1003, False)])
def test_a_prefix_below_the_minimum_is_not_cached(minimum, cached):
    usage = arrive(PromptCache(), 0, minimum=minimum)
    assert bool(usage.write_5m) is cached
    assert usage.prompt == Prompt(body()).tokens


def test_another_prefix_or_model_does_not_read():
    cache = PromptCache()
    arrive(cache, 0)
    assert not arrive(cache, 1, shared=SHARED + "!").read
    assert not arrive(cache, 1, model="claude-sonnet-5-5").read


def test_a_longer_conversation_reads_its_start_and_writes_the_rest():
    cache = PromptCache()
    turns = [{"role": "user", "content": "a" * 4000}]
    mark = {"type": "ephemeral"}
    first = arrive(cache, 0, messages=list(turns), cache_control=mark)
    turns += [{"role": "assistant", "content": "b" * 400}, {"role": "user", "content": "c" * 400}]
    second = arrive(cache, 1, messages=turns, cache_control=mark)
    assert second.read == first.write
    assert second.write == 2 * 102
    assert second.input == first.input == 8


def test_parts_are_written_at_their_own_time_to_live():
    part = {"type": "text", "text": SHARED, "cache_control": {"type": "ephemeral"}}
    usage = arrive(PromptCache(), 0, ttl="1h", messages=[{"role": "user", "content": [part]}])
    assert (usage.write_1h, usage.write_5m, usage.input) == (1002, 1002, 8)


def test_parallel_cold_calls_all_write_and_a_call_after_the_first_answer_reads(talk):
    async def scenario(client, served):
        cold = await asyncio.gather(
            *[client.messages.create(**body(f"cold {number}")) for number in range(4)]
        )
        warm = await client.messages.create(**body("warm"))
        return [each.usage for each in cold], warm.usage

    cold, warm = talk(scenario, latency=0.2, first_token_share=0.5)
    assert [each.cache_creation_input_tokens for each in cold] == [1002] * 4
    assert (warm.cache_creation_input_tokens, warm.cache_read_input_tokens) == (0, 1002)
