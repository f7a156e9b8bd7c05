"""A task type's definition as the texts of a form, and back, with everything that is wrong."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from batchboard import task_file
from batchboard.models.prices import is_priced, priced_models
from batchboard.task_definition import TaskDefinition
from dispatch import asked_schema, contract

PREFIX = "d-"
NAMES = ("name", "model", "system", "prompt", "max_tokens", "key", "check", "contract")
LABELS = {
    "name": "Name",
    "model": "Model",
    "system": "Shared context",
    "prompt": "Prompt",
    "max_tokens": "Most output tokens",
    "key": "Key column",
    "check": "What a reviewer checks",
    "contract": "Output contract",
}


@dataclass(frozen=True)
class Problem:
    """What is wrong with a field, and a value that works where one is known; `missing` where
    nothing was given yet, which nobody needs to be told in red before they are done."""

    message: str
    value: str = ""
    label: str = ""
    missing: bool = False


def read(fields: Mapping[str, str]) -> tuple[TaskDefinition | None, dict[str, Problem]]:
    """The definition that the form's texts make, or None with what is wrong by field. A model
    without a price is wrong, unless the form says that it is to run unpriced."""
    given, wrong = _given(fields)
    known = (lambda _: True) if fields.get("unpriced_ok") else is_priced
    found = task_file.problems(given, known_models=known, suggest=priced_models())
    problems = {
        PREFIX + name: _problem(name, message, given) for name, message in found.items()
    } | {PREFIX + name: Problem(message) for name, message in wrong.items()}
    if not fields.get(PREFIX + "max_tokens", "").strip():
        problems[PREFIX + "max_tokens"] = Problem(
            "Most output tokens are missing.", "300", "Use 300", missing=True
        )
    for name in ("name", "model", "prompt"):
        if not str(given.get(name, "")).strip():
            problems[PREFIX + name] = Problem(f"{LABELS[name]} is missing.", missing=True)
    if problems:
        return None, problems
    check = given.get("check", [])
    return (
        TaskDefinition(
            name=given["name"].strip(),
            model=given["model"],
            system=given.get("system", ""),
            prompt=given["prompt"],
            max_tokens=given["max_tokens"],
            key=given.get("key"),
            check=tuple(check),
            contract=given.get("contract"),
        ),
        {},
    )


def write(definition: TaskDefinition) -> dict[str, str]:
    """The texts that fill the form with `definition`."""
    contract = definition.contract
    return {
        PREFIX + "name": definition.name,
        PREFIX + "model": definition.model,
        PREFIX + "system": definition.system,
        PREFIX + "prompt": definition.prompt,
        PREFIX + "max_tokens": str(definition.max_tokens),
        PREFIX + "key": definition.key or "",
        PREFIX + "check": "\n".join(definition.check),
        PREFIX + "contract": ""
        if contract is None
        else json.dumps(contract, indent=2, ensure_ascii=False),
    }


def contract_advice(text: str) -> str:
    """What to know of a contract as it was typed, or "" where it is empty or cannot be used."""
    try:
        schema = json.loads(text)
        contract.compile(schema)
    except (ValueError, RecursionError):
        return ""
    return asked_schema.advice(schema)


def _given(fields: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """The values of the fields that were filled, and what cannot even be read."""
    text = {name: fields.get(PREFIX + name, "").replace("\r\n", "\n") for name in NAMES}
    given: dict[str, Any] = {
        "name": text["name"].strip(),
        "model": text["model"].strip(),
        "system": text["system"],
        "prompt": text["prompt"],
    }
    wrong = {}
    try:
        given["max_tokens"] = int(text["max_tokens"].replace(",", "").strip())
    except ValueError:
        wrong["max_tokens"] = "Give a whole number of tokens, such as 300."
    if text["key"].strip():
        given["key"] = text["key"].strip()
    if lines := [line.strip() for line in text["check"].split("\n") if line.strip()]:
        given["check"] = lines
    if text["contract"].strip():
        try:
            given["contract"] = json.loads(text["contract"])
        except json.JSONDecodeError as broken:
            wrong["contract"] = (
                f"Line {broken.lineno}, column {broken.colno}: this is not valid JSON"
                f" ({broken.msg[0].lower()}{broken.msg[1:]})."
            )
        except RecursionError:
            wrong["contract"] = "The contract is nested too deep."
    return given, wrong


def _problem(name: str, message: str, given: Mapping[str, Any]) -> Problem:
    if name == "max_tokens" and isinstance(given.get("max_tokens"), int):
        nearest = str(max(1, min(task_file.MAX_TOKENS, given["max_tokens"])))
        return Problem(message, nearest, f"Use {int(nearest):,}")
    return Problem(message)
