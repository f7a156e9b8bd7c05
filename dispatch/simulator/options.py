"""How the simulator behaves: one frozen record, its checks and its command line."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn, get_args, get_origin, get_type_hints

from .fault import Fault

NO_LIMIT = Decimal(0)
FAULT_NAMES = tuple(fault.value for fault in Fault)


def _option(default: Any, text: str) -> Any:
    return field(default=default, metadata={"help": text})


def _pairs(shown: str, split: Callable[[str], tuple[str, str]], text: str) -> Any:
    """An option that maps texts; `shown` is one pair on the command line, which `split` reads."""
    metadata = {"help": text, "shown": shown, "split": split}
    return field(default_factory=dict, metadata=metadata)


def _fault(argument: str) -> tuple[str, str]:
    return _split(argument, "TEXT=FAULT", *argument.rpartition("="))


def _answer(argument: str) -> tuple[str, str]:
    return _split(argument, "TEXT=ANSWER", *argument.partition("="))


def _split(argument: str, shown: str, text: str, separator: str, value: str) -> tuple[str, str]:
    if not separator or not text:
        raise argparse.ArgumentTypeError(f"expected {shown}")
    return text, value


@dataclass(frozen=True, kw_only=True)
class Options:
    """Rates are shares of calls from 0 to 1; durations are seconds; a limit of 0 is no limit."""

    seed: int = _option(0, "draws of faults, latencies and answers follow from it")
    latency: float = _option(0.5, "median seconds to a whole answer")
    latency_sigma: float = _option(0.3, "sigma of the lognormal latency; 0 is constant")
    first_token_share: float = _option(0.3, "share of the latency before the answer begins")
    output_tokens: int = _option(120, "mean tokens of an answer")
    rpm: int = _option(0, "requests a minute, per model; 0 is unlimited")
    itpm: int = _option(0, "input tokens a minute, per model; 0 is unlimited")
    otpm: int = _option(0, "output tokens a minute, per model; 0 is unlimited")
    burst_seconds: float = _option(60.0, "seconds of a limit that a full bucket holds")
    limit_headers: bool = _option(True, "send anthropic-ratelimit-* headers when limits are set")
    spend_limit_usd: Decimal = field(
        default=NO_LIMIT, metadata={"help": "own bill in USD above which calls get 429; 0 is none"}
    )
    rate_429: float = _option(0.0, "share of calls that get a 429 without an exhausted bucket")
    fault_retry_after: float = _option(1.0, "retry-after of injected 429s, in seconds")
    rate_ramp_limit: float = _option(0.0, "share of calls that get a ramp-limit 429")
    rate_529: float = _option(0.0, "share of calls that get a 529 overloaded_error")
    rate_500: float = _option(0.0, "share of calls that get a 500 api_error")
    rate_hang: float = _option(0.0, "share of calls that are never answered")
    rate_drop: float = _option(0.0, "share of calls whose connection is cut before any byte")
    rate_malformed: float = _option(0.0, "share of calls answered with broken JSON")
    rate_truncated: float = _option(0.0, "share of calls that end in stop_reason max_tokens")
    rate_refusal: float = _option(0.0, "share of calls that end in stop_reason refusal")
    rate_stream_error: float = _option(0.0, "share of streams with an error event in the middle")
    fail_containing: Mapping[str, str] = _pairs(
        "TEXT=FAULT", _fault, "calls whose last user message contains TEXT fail so; repeatable"
    )
    answer_containing: Mapping[str, str] = _pairs(
        "TEXT=ANSWER", _answer, "calls whose last user message contains TEXT get it; repeatable"
    )
    pack_missing: float = _option(0.0, "share of a packed prompt's items left out of the answer")
    pack_double: float = _option(0.0, "share of a packed prompt's items that are answered twice")
    pack_invent: float = _option(0.0, "share of packed items followed by one that nobody asked for")
    pack_shuffle: float = _option(0.0, "share of packed answers whose entries are out of order")
    batch_seconds: float = _option(2.0, "seconds until a message batch ends")
    batch_answer_seconds: float = _option(
        0.0, "seconds between the creation of a message batch and the answer that tells of it"
    )
    batch_line_seconds: float = _option(0.0, "seconds before each line of a batch's results")
    batch_cache_hits: float = _option(0.6, "share of batch requests that may read the cache")

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, int | float | Decimal) and name != "seed" and not value >= 0:
                raise ValueError(f"{name} must not be negative: {value}")
        packing = ("pack_missing", "pack_double", "pack_invent", "pack_shuffle")
        for name in ("first_token_share", "batch_cache_hits", *packing):
            if getattr(self, name) > 1:
                raise ValueError(f"{name} must be between 0 and 1")
        if sum(value for name, value in vars(self).items() if name.startswith("rate_")) > 1 + 1e-9:
            raise ValueError("the fault rates together must not pass 1")
        if self.burst_seconds == 0:
            raise ValueError("burst_seconds must be above 0")
        for fault in self.fail_containing.values():
            if fault not in FAULT_NAMES:
                raise ValueError(f"unknown fault {fault!r}; one of {', '.join(FAULT_NAMES)}")

    def changed(self, changes: Mapping[str, object]) -> "Options":
        """A copy with these values, of JSON types. ValueError names what is wrong."""
        kinds = get_type_hints(Options)
        unknown = changes.keys() - kinds.keys()
        if unknown:
            raise ValueError(f"unknown option {', '.join(sorted(unknown))}")
        values: dict[str, Any] = {
            name: _coerced(name, kinds[name], value) for name, value in changes.items()
        }
        return replace(self, **values)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One command-line argument for each option: `rate_429` is `--rate-429`."""
    kinds = get_type_hints(Options)
    for each in fields(Options):
        flag = "--" + each.name.replace("_", "-")
        text, kind = each.metadata["help"], kinds[each.name]
        if _is_pairs(each):
            parser.add_argument(
                flag, action="append", default=[], type=each.metadata["split"],
                metavar=each.metadata["shown"], help=text,
            )  # fmt: skip
        elif kind is bool:
            parser.add_argument(
                flag, action=argparse.BooleanOptionalAction, default=each.default, help=text
            )
        else:
            parser.add_argument(flag, type=kind, default=each.default, help=text)


def options_from(namespace: argparse.Namespace) -> Options:
    """The options parsed by `add_arguments`. ValueError when they do not fit together."""
    values = {each.name: getattr(namespace, each.name) for each in fields(Options)}
    pairs = {each.name: dict(values[each.name]) for each in fields(Options) if _is_pairs(each)}
    return Options(**{**values, **pairs})


def read(words: Sequence[str]) -> Options:
    """The options that these words of a command line say. ValueError says what is wrong."""
    parser = _Raising(add_help=False)
    add_arguments(parser)
    return options_from(parser.parse_args(words))


class _Raising(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def _is_pairs(option: Field[Any]) -> bool:
    return "split" in option.metadata


def _coerced(name: str, kind: Any, value: object) -> object:
    if get_origin(kind) is not None:
        if isinstance(value, dict) and all(isinstance(each, str) for each in value.values()):
            return dict(value)
    elif kind is bool:
        if isinstance(value, bool):
            return value
    elif kind is int:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    elif isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            return kind(str(value))
        except (ValueError, InvalidOperation):
            pass
    expected = "object of strings" if get_args(kind) else kind.__name__
    raise ValueError(f"{name} must be a {expected}")
