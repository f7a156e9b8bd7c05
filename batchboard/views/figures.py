"""What a batch cost and used so far, as its page shows it."""

from typing import Any

from batchboard.models import Batch


def figures_of(batch: Batch) -> dict[str, Any]:
    """What a result cost, failures included, and where its prompt's tokens came from."""
    prompt = batch.input_tokens + batch.cache_read_tokens + batch.cache_write_tokens
    return {
        "prompt_tokens": prompt,
        "cache_share": batch.cache_read_tokens / prompt if prompt else None,
        "per_task": batch.cost / batch.succeeded if batch.succeeded else None,
    }
