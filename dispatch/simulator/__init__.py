"""A stand-in for the provider: its API, limits, cache accounting, prices and faults on loopback.

The same SDK client talks to it as to the real provider. It knows nothing of the rest of the
project, and its prices and arithmetic are its own, so that it can be checked against.
"""

from .options import Options, add_arguments, options_from, read
from .server import Served, run, serving

__all__ = ["Options", "Served", "add_arguments", "options_from", "read", "run", "serving"]
