"""Task type versions as calls need them, kept by each process: a version never changes."""

from functools import lru_cache

from batchboard.models import TaskVersion
from dispatch.modes.work import VersionWork


@lru_cache(maxsize=64)
def work_of(version_id: int) -> VersionWork:
    """The fixed part of a version; what was counted before the first start is part of it."""
    version = TaskVersion.objects.get(pk=version_id)
    return VersionWork(
        id=version.pk,
        model=version.model,
        system=version.system,
        prompt=version.prompt,
        max_tokens=version.max_tokens,
        schema=version.contract,
        shared_tokens=version.shared_tokens,
        shared_bytes=version.shared_bytes,
    )
