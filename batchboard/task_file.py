"""A task type as a TOML file, read strictly: what is wrong is said with its field and line."""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from batchboard import template
from batchboard.task_definition import TaskDefinition
from dispatch import contract

MAX_NAME_CHARACTERS = 120
MAX_MODEL_CHARACTERS = 100
MAX_TEXT_BYTES = 1_000_000
MAX_TOKENS = 128_000

_REQUIRED = ("name", "model", "prompt", "max_tokens")
_KINDS: dict[str, tuple[type, str]] = {
    "name": (str, "text"),
    "model": (str, "text"),
    "system": (str, "text"),
    "prompt": (str, "text"),
    "max_tokens": (int, "a whole number"),
    "key": (str, "text"),
    "check": (list, "a list of texts"),
    "contract": (dict, "a table"),
}
_PLACE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")
_LONG_TEXT = re.compile(r'"""(?:\\.|(?!""").)*"""|' r"'''.*?'''", re.DOTALL)


class TaskFileError(ValueError):
    """`message` is a whole sentence; `field` and `line` say where, if that is known."""

    def __init__(self, message: str, field: str | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.line = line

    def __str__(self) -> str:
        return self.message if self.line is None else f"Line {self.line}: {self.message}"


def parse_bytes(
    content: bytes, *, known_models: Callable[[str], bool], suggest: Iterable[str] = ()
) -> TaskDefinition:
    """`parse` for what was uploaded: UTF-8, with or without a byte order mark."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        line = content.count(b"\n", 0, wrong.start) + 1
        raise TaskFileError(
            f"This is not UTF-8 text: byte {wrong.start + 1:,} of the file is "
            f'0x{content[wrong.start]:02x}. Save it with the encoding "UTF-8".',
            line=line,
        ) from None
    return parse(text, known_models=known_models, suggest=suggest)


def parse(
    text: str, *, known_models: Callable[[str], bool], suggest: Iterable[str] = ()
) -> TaskDefinition:
    """The task type that the text defines; TaskFileError otherwise.

    `known_models` says whether a model can be used; `suggest` are models to offer instead.
    """
    fields = _fields(text)
    try:
        _check_names(fields)
        for name, value in fields.items():
            _check_kind(name, value)
        _check_values(fields)
        _check_model(fields["model"], known_models, suggest)
        _check_prompt(fields["prompt"])
        _check_contract(fields.get("contract"))
    except TaskFileError as wrong:
        if wrong.line is None and wrong.field is not None:
            wrong.line = _line_of(wrong.field, text)
        raise
    return TaskDefinition(
        name=fields["name"].strip(),
        model=fields["model"],
        system=fields.get("system", ""),
        prompt=fields["prompt"],
        max_tokens=fields["max_tokens"],
        key=fields.get("key"),
        check=tuple(fields.get("check", ())),
        contract=fields.get("contract"),
    )


def problems(
    fields: Mapping[str, Any], *, known_models: Callable[[str], bool], suggest: Iterable[str] = ()
) -> dict[str, str]:
    """What is wrong with the fields of a form, by field: all of it, where `parse` names one."""
    found: dict[str, str] = {}
    checks: list[Callable[[], None]] = [
        lambda: _check_model(fields["model"], known_models, suggest),
        lambda: _check_prompt(fields["prompt"]),
        lambda: _check_contract(fields.get("contract")),
    ]
    for name, value in fields.items():
        checks.append(lambda name=name, value=value: _check_value(name, value))  # type: ignore[misc]
    for check in reversed(checks):
        try:
            check()
        except TaskFileError as wrong:
            found.setdefault(wrong.field or "", wrong.message)
    return found


def _fields(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as broken:
        raise _not_toml(str(broken)) from None
    except RecursionError:
        raise TaskFileError("The file is nested too deep.") from None
    except ValueError:
        raise TaskFileError("The file holds a number or date that cannot be read.") from None


def _not_toml(complaint: str) -> TaskFileError:
    place = _PLACE.search(complaint)
    what = _PLACE.sub("", complaint)
    if place and place[1]:
        return TaskFileError(
            f"This is not valid TOML at column {place[2]}: {what}.", line=int(place[1])
        )
    return TaskFileError(f"The file is not valid TOML: {what}, at its end.")


def _check_names(fields: Mapping[str, Any]) -> None:
    for name in fields:
        if name not in _KINDS:
            near = get_close_matches(name, _KINDS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(_KINDS)}."
            raise TaskFileError(f"There is no field {name[:80]}: {hint}", field=name)
    for name in _REQUIRED:
        if name not in fields:
            raise TaskFileError(
                f"The field {name} is missing. A task type needs {', '.join(_REQUIRED)}.",
                field=name,
            )


def _check_kind(name: str, value: object) -> None:
    kind, plain = _KINDS[name]
    right = isinstance(value, kind) and not (kind is int and isinstance(value, bool))
    if isinstance(value, list):
        right = right and all(isinstance(entry, str) for entry in value)
    if not right:
        raise TaskFileError(f"The field {name} must be {plain}.", field=name)


def _check_values(fields: Mapping[str, Any]) -> None:
    for name, value in fields.items():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str):
                _check_text(name, text)
    _check_bounds("name", fields["name"])
    _check_bounds("model", fields["model"])
    _check_bounds("max_tokens", fields["max_tokens"])


def _check_value(name: str, value: Any) -> None:
    _check_kind(name, value)
    for text in value if isinstance(value, list) else [value]:
        if isinstance(text, str):
            _check_text(name, text)
    _check_bounds(name, value)


def _check_bounds(name: str, value: Any) -> None:
    if name == "name" and (
        len(value.strip()) > MAX_NAME_CHARACTERS or not value.strip().isprintable()
    ):
        raise TaskFileError(
            f"The name must be one line of at most {MAX_NAME_CHARACTERS} characters.", field="name"
        )
    if name == "model" and (len(value) > MAX_MODEL_CHARACTERS or not value.isprintable()):
        raise TaskFileError(
            f"The model must be one line of at most {MAX_MODEL_CHARACTERS} characters.",
            field="model",
        )
    if name == "max_tokens" and not 1 <= value <= MAX_TOKENS:
        raise TaskFileError(f"max_tokens must be between 1 and {MAX_TOKENS:,}.", field="max_tokens")


def _check_text(name: str, text: str) -> None:
    if "\0" in text:
        raise TaskFileError(f"The field {name} holds a NUL character. Take it out.", field=name)
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise TaskFileError(
            f"The field {name} holds half of a surrogate pair. Take it out.", field=name
        ) from None
    if size > MAX_TEXT_BYTES:
        raise TaskFileError(
            f"The field {name} is {size:,} bytes long; at most {MAX_TEXT_BYTES:,} are allowed.",
            field=name,
        )
    if not text.strip() and name != "system":
        raise TaskFileError(f"The field {name} is empty. Fill it or take it out.", field=name)


def _check_model(model: str, known: Callable[[str], bool], suggest: Iterable[str]) -> None:
    if known(model):
        return
    models = sorted(suggest)
    near = get_close_matches(model, models, n=3)
    if near:
        hint = f": did you mean {' or '.join(near)}?"
    elif models:
        hint = f". Known are {', '.join(models[:12])}{', …' if len(models) > 12 else ''}."
    else:
        hint = "."
    raise TaskFileError(f"Model {model[:80]} is unknown{hint}", field="model")


def _check_prompt(prompt: str) -> None:
    try:
        template.columns(prompt)
    except template.TemplateError as wrong:
        raise TaskFileError(f"In the prompt: {wrong}", field="prompt") from None


def _check_contract(schema: dict[str, Any] | None) -> None:
    if schema is None:
        return
    try:
        contract.compile(schema)
    except contract.ContractError as wrong:
        raise TaskFileError(str(wrong), field="contract") from None


def _line_of(field: str, text: str) -> int | None:
    """The line that sets a field; long texts are left out, since they may hold anything."""
    bare = _LONG_TEXT.sub(lambda found: "\n" * found[0].count("\n"), text)
    name = re.escape(field)
    found = re.search(rf"""^[ \t]*\[?["']?{name}["']?[ \t]*[=.\]]""", bare, re.MULTILINE)
    return bare.count("\n", 0, found.start()) + 1 if found else None
