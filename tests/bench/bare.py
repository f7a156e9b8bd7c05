"""The yardstick: a bare asyncio loop under a semaphore over the same SDK client, and nothing else.

    python -m tests.bench.bare URL COUNT CAP

prints the seconds that COUNT calls took."""

import asyncio
import sys
import time

import anthropic
import httpx2
import uvloop


async def main(url: str, count: int, cap: int) -> float:
    async with anthropic.AsyncAnthropic(
        api_key="simulated",
        base_url=url,
        max_retries=0,
        http_client=anthropic.DefaultAioHttpClient(
            limits=httpx2.Limits(max_connections=0, max_keepalive_connections=2_000)
        ),
    ) as client:
        slots = asyncio.Semaphore(cap)

        async def call(number: int) -> None:
            async with slots:
                await client.messages.create(
                    model="claude-haiku-5-5",
                    max_tokens=200,
                    system="Be brief.",
                    messages=[
                        {"role": "user", "content": f"Item items-{number}: some text {number}"}
                    ],
                )

        started = time.perf_counter()
        await asyncio.gather(*(call(number) for number in range(count)))
        return time.perf_counter() - started


if __name__ == "__main__":
    print(uvloop.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
