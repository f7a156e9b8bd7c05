"""A real simulator on loopback and the real SDK client, in one event loop per test."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from anthropic import AsyncAnthropic, DefaultAioHttpClient

from dispatch.simulator import Options, Served, serving

Scenario = Callable[[AsyncAnthropic, Served], Awaitable[Any]]


@pytest.fixture
def talk() -> Callable[..., Any]:
    """talk(scenario, **options) runs `scenario(client, served)` and returns its value."""

    def run(scenario: Scenario, **options: Any) -> Any:
        async def whole() -> Any:
            quick = {"latency": 0, "latency_sigma": 0, **options}
            async with serving(Options(**quick)) as served:
                http = DefaultAioHttpClient()
                async with AsyncAnthropic(
                    api_key="key", base_url=served.url, max_retries=0, http_client=http
                ) as client:
                    return await scenario(client, served)

        return asyncio.run(whole())

    return run


@pytest.fixture
def request_for() -> Callable[..., dict[str, Any]]:
    """request_for(text) is a small valid request; more words override its fields."""

    def build(text: str = "Scan the competitor", **fields: Any) -> dict[str, Any]:
        return {
            "model": "claude-haiku-5-5",
            "max_tokens": 400,
            "messages": [{"role": "user", "content": text}],
            **fields,
        }

    return build
