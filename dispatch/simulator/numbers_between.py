"""Numbers within the bounds of a JSON Schema."""

import math
from random import Random
from typing import Any

SPAN = 100


def integer_for(schema: dict[str, Any], random: Random) -> int:
    low, high = _bounds(schema)
    if (step := schema.get("multipleOf")) is not None:
        return int(_multiple(low, high, step, random))
    least, most = math.ceil(low), math.floor(high)
    least += least == schema.get("exclusiveMinimum")
    most -= most == schema.get("exclusiveMaximum")
    return random.randint(least, max(least, most))


def number_for(schema: dict[str, Any], random: Random) -> float:
    low, high = _bounds(schema)
    if (step := schema.get("multipleOf")) is not None:
        return _multiple(low, high, step, random)
    value = round(random.uniform(low, high), 2)
    fits = low <= value <= high and value not in (
        schema.get("exclusiveMinimum"),
        schema.get("exclusiveMaximum"),
    )
    return value if fits else (low + high) / 2


def _bounds(schema: dict[str, Any]) -> tuple[float, float]:
    lows = [schema[key] for key in ("minimum", "exclusiveMinimum") if key in schema]
    highs = [schema[key] for key in ("maximum", "exclusiveMaximum") if key in schema]
    if lows:
        low = max(lows)
        return low, min(highs, default=low + SPAN)
    high = min(highs, default=SPAN)
    return min(0, high - SPAN), high


def _multiple(low: float, high: float, step: float, random: Random) -> float:
    least, most = math.ceil(low / step), math.floor(high / step)
    return random.randint(least, max(least, most)) * step
