"""A new batch as the form has it: what its texts mean, and what they lead to."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from hashlib import sha256

from django.utils import timezone

from batchboard import definition_form, durations, intake, template
from batchboard.definition_form import Problem
from batchboard.estimate import Estimate
from batchboard.ingest.error import no_columns, shown
from batchboard.ingest.profile import Profile
from batchboard.models import (
    Limits,
    Mode,
    Preparation,
    RunOptions,
    Schedule,
    TaskVersion,
    Upload,
    UploadState,
)
from batchboard.models.prices import applied
from batchboard.models.task_type import definition_digest
from batchboard.task_definition import TaskDefinition
from batchboard.whole_numbers import whole_number
from dispatch import forecast

WRITE = "write"
PRIORITIES = {"low": -1, "normal": 0, "high": 1}


@dataclass
class Prepared:
    """What the form asks for. `problems` are by field and keep the batch from being made."""

    fields: Mapping[str, str]
    version: TaskVersion | None = None
    definition: TaskDefinition | None = None
    options: RunOptions = field(default_factory=RunOptions)
    key: str | None = None
    only_first: int | None = None
    profile: Profile | None = None
    problems: dict[str, Problem] = field(default_factory=dict)
    unpriced: str = ""
    """The model, where no price of it is known: it runs only where that is chosen."""

    @property
    def name(self) -> str:
        """As it was typed, else as it is suggested."""
        given = self.fields.get("name", "").strip()
        return given if given and given != self.fields.get("suggested") else self.suggested

    @property
    def suggested(self) -> str:
        return intake.suggested_name(self.definition) if self.definition else ""

    @property
    def prompt(self) -> str:
        """The template as far as it can be used, whatever else is wrong; else nothing."""
        if self.definition:
            return self.definition.prompt
        written = self.fields.get("d-prompt", "") if self.fields.get("task_type") == WRITE else ""
        return "" if not written or "d-prompt" in self.problems else written

    @property
    def fills_prompt(self) -> bool:
        """Whether the rows have all that the prompt names, as far as is known."""
        return not {"task_type", "d-prompt"} & self.problems.keys()

    @property
    def rows(self) -> int:
        """How many items the batch will have."""
        whole = self.profile.rows if self.profile else 0
        return whole if self.only_first is None else min(whole, self.only_first)

    @property
    def key_column(self) -> str | None:
        """The column that will hold the keys; None: items are numbered."""
        if self.key:
            return self.key
        if self.definition and self.definition.key:
            return self.definition.key
        names = self.profile.names() if self.profile else []
        return next((usual for usual in ("key", "id") if usual in names), None)

    @property
    def better_key(self) -> str:
        """A column that could name the items, where they would only be numbered."""
        if self.profile is None or self.key_column is not None:
            return ""
        return next((column.name for column in self.profile.columns if not column.no_key), "")

    def sizes(self) -> Counter[int]:
        if self.profile is None or self.definition is None:
            return Counter()
        return self.profile.prompt_sizes(self.definition.prompt, self.rows)

    def items(self, upload: Upload) -> intake.Items:
        assert self.definition is not None
        return intake.Items(upload.open(), upload.name, self.definition, self.key, self.only_first)

    def count_key(self, upload: Upload) -> str:
        """What a count of the provider's holds for."""
        assert self.definition is not None
        both = definition_digest(self.definition) + upload.public_id
        return sha256(both.encode()).hexdigest()


def prepare(preparation: Preparation) -> Prepared:
    """Read the form; never raises."""
    fields = {name: str(value) for name, value in preparation.fields.items()}
    found = Prepared(fields)
    upload = preparation.upload
    if upload is None:
        found.problems["items"] = Problem("Give a file of items, or paste them.", missing=True)
    elif upload.state == UploadState.FAILED:
        found.problems["items"] = Problem("The file cannot be used: see above.")
    elif upload.state == UploadState.READY and upload.profile:
        found.profile = Profile.of_json(upload.profile)
    _read_task_type(found)
    read_options(found)
    _check_price(found)
    _check_columns(found)
    if len(found.name) > 200:
        found.problems["name"] = Problem("A name has at most 200 characters.", found.name[:200])
    return found


def foresee(preparation: Preparation, prepared: Prepared, limits: Limits) -> Estimate | None:
    """What a run would cost and take, or None while items or task type are not known, or do not
    fit each other."""
    upload, definition = preparation.upload, prepared.definition
    if upload is None or definition is None or not prepared.rows or not prepared.fills_prompt:
        return None
    given = counted(preparation, prepared)
    shared = given.shared_tokens
    if shared is None and prepared.version is not None:
        shared = prepared.version.shared_tokens
    return forecast.forecast(
        forecast.draft_work(definition, shared),
        prepared.sizes(),
        prepared.options,
        limits,
        given,
        prepared.version,
    )


def counted(preparation: Preparation, prepared: Prepared) -> forecast.Counted:
    """What the provider counted for the definition and the file that the form has now."""
    upload, stored = preparation.upload, preparation.counted or {}
    if upload is None or prepared.definition is None:
        return forecast.Counted()
    if stored.get("digest") != prepared.count_key(upload):
        return forecast.Counted()
    return forecast.Counted(stored["shared_tokens"], stored["bytes"], stored["tokens"])


def _read_task_type(found: Prepared) -> None:
    chosen = found.fields.get("task_type", "")
    if chosen == WRITE:
        found.definition, problems = definition_form.read(found.fields)
        found.problems |= problems
        if found.definition:
            found.version = (
                TaskVersion.objects.filter(
                    task_type__name=found.definition.name,
                    digest=definition_digest(found.definition),
                )
                .select_related("task_type")
                .last()
            )
        return
    found.version = (
        TaskVersion.objects.select_related("task_type").filter(pk=whole_number(chosen) or 0).first()
    )
    if found.version is None:
        found.problems["task_type"] = Problem("Choose a task type, or write one.", missing=True)
    else:
        found.definition = found.version.definition


def read_options(found: Prepared) -> None:
    """How to run it, from its fields; what is wrong goes to its problems."""
    fields, wrong = found.fields, found.problems
    found.key = fields.get("key") or None
    found.only_first = _whole(found, "only_first")
    budget = None
    if text := fields.get("budget", "").replace("$", "").replace(",", "").strip():
        try:
            budget = Decimal(text)
        except InvalidOperation:
            budget = Decimal(-1)
        if not budget.is_finite() or not 0 < budget < 100_000_000:
            wrong["budget"] = Problem(
                "Give an amount in dollars, such as $1.00, or leave it empty."
            )
            budget = None
    mode = fields.get("mode", Mode.CACHED)
    schedule = fields.get("schedule", Schedule.WINDOW)
    found.options = RunOptions(
        schedule=schedule if schedule in Schedule.values else Schedule.WINDOW,
        mode=mode if mode in Mode.values else Mode.CACHED,
        concurrency=_whole(found, "concurrency", most=10_000),
        first_look=bool(fields.get("first_look")),
        budget=budget,
        item_timeout=_seconds(found, "item_timeout", "120 s") or 120,
        deadline=_seconds(found, "deadline", ""),
        sample_size=_whole(found, "sample_size"),
        priority=PRIORITIES.get(fields.get("priority", ""), 0),
        group_size=_whole(found, "group_size", most=1_000),
        session_timeout=_seconds(found, "session_timeout", ""),
        unpriced_ok=bool(fields.get("unpriced_ok")),
    )


def _whole(found: Prepared, name: str, most: int = 1_000_000) -> int | None:
    text = found.fields.get(name, "").replace(",", "").strip()
    if not text:
        return None
    number = whole_number(text)
    if number and number <= most:
        return number
    found.problems[name] = Problem(f"Give a whole number from 1 to {most:,}, or leave it empty.")
    return None


def _seconds(found: Prepared, name: str, value: str) -> int | None:
    text = found.fields.get(name, "").strip()
    if not text:
        return None
    seconds = durations.read(text)
    if seconds is None:
        found.problems[name] = Problem(
            "Give a length of time such as 90 s, 10 min or 2 h.", value, value and f"Use {value}"
        )
    return seconds


def _check_price(found: Prepared) -> None:
    """A model without a price needs the choice to run without; its page offers it only then."""
    written = found.fields.get("d-model", "") if found.fields.get("task_type") == WRITE else ""
    model = found.definition.model if found.definition else written.strip()
    if not model or applied(model, timezone.now()) is not None:
        found.options = replace(found.options, unpriced_ok=False)
        return
    found.unpriced = model
    if refusal := intake.refused_price(model, found.options):
        over = "budget" if found.options.unpriced_ok and found.options.budget else "unpriced_ok"
        found.problems[over] = Problem(refusal, missing=not found.options.unpriced_ok)


def _check_columns(found: Prepared) -> None:
    """What the template and the key ask of the file."""
    profile, prompt = found.profile, found.prompt
    if profile is None:
        return
    if prompt:
        where = "d-prompt" if found.fields.get("task_type") == WRITE else "task_type"
        named = {name: profile.column(name) for name in sorted(template.columns(prompt))}
        if lacking := [name for name, column in named.items() if column is None]:
            error = no_columns(lacking, "the prompt", profile.names(), 1)
            found.problems[where] = Problem(" ".join(filter(None, (error.message, error.hint))))
        elif absent := [
            (c.absent, name) for name, c in named.items() if c and c.absent is not None
        ]:
            line, name = min(absent)
            found.problems[where] = Problem(
                f"Line {line} has no field {shown(name)}, which the prompt names."
            )
    key = found.key_column
    if key is None:
        return
    held = profile.column(key)
    if held is None or (held.no_key and found.only_first is None):
        why = "there is no such column" if held is None else held.no_key
        other = next((column.name for column in profile.columns if not column.no_key), "")
        found.problems["key"] = Problem(
            f"{shown(key)} cannot name the items: {why}.", other, other and f"Use {other}"
        )
