"""The provider's SDK, imported when it is first used.

That takes over a second of a processor and 80 MB, and of the processes of an installation only
those that make calls, and the pages, ever use it.
"""

from importlib import import_module
from typing import Any


class _Late:
    def __getattr__(self, name: str) -> Any:
        return getattr(import_module("anthropic"), name)


anthropic = _Late()


def load() -> None:
    """Import it now, so that nobody waits for it later."""
    import_module("anthropic")
