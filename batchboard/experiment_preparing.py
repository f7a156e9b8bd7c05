"""A new experiment as the form has it: what its texts mean, and what they lead to."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from batchboard import experimenting, template
from batchboard.arm_text import GROUP_LETTERS, LARGEST_GROUP, LARGEST_N, MOST_ARMS, ArmPlan
from batchboard.definition_form import Problem
from batchboard.experimenting import MOST_ITEMS, USUAL_ITEMS, Foreseen
from batchboard.models import Batch, ItemInput, Mode, NewItem, Preparation
from batchboard.preparing import Prepared, counted, prepare
from batchboard.task_definition import TaskDefinition
from batchboard.whole_numbers import whole_number

FIRST_ARMS = (ArmPlan(Mode.SINGLE), ArmPlan(Mode.CACHED))
LOOKED_AT = 100
"""Items of an earlier batch whose size the estimate goes by."""


@dataclass
class ArmRow:
    """One arm in the form: `id` tells its fields from those of the others."""

    id: str
    mode: str
    size: str
    at_once: str
    plan: ArmPlan | None = None
    error: str = ""

    @property
    def letter(self) -> str:
        """What the size of its groups is called; "" where each item goes by itself."""
        return GROUP_LETTERS.get(Mode(self.mode), "")


@dataclass
class PreparedExperiment:
    """What the form asks for. `problems` are by field and keep the experiment from being made;
    `base` is what it shares with the form of a batch."""

    fields: Mapping[str, str]
    base: Prepared
    rows: list[ArmRow]
    source: Batch | None = None
    n: int = USUAL_ITEMS
    budget: Decimal | None = None
    problems: dict[str, Problem] = field(default_factory=dict)

    @property
    def definition(self) -> TaskDefinition | None:
        return self.base.definition

    @property
    def arms(self) -> list[ArmPlan]:
        return [row.plan for row in self.rows if row.plan]

    @property
    def available(self) -> int:
        """Items to draw from; 0 while that is not known."""
        return self.source.total if self.source else self.base.rows

    @property
    def items(self) -> int:
        """Items of each arm."""
        return min(self.n, self.available) if self.available else self.n

    def sizes(self) -> Counter[int]:
        """Bytes of prompt → how many items of an arm, about; nothing while that is not known."""
        if self.definition is None or not self.available:
            return Counter()
        if self.source is None:
            return _scaled(self.base.sizes(), self.items)
        return _scaled(_sizes_of(self.source, self.definition), self.items)

    def draw(self, preparation: Preparation, seed: str) -> list[NewItem]:
        """The items. Raises IngestError and PlanError."""
        assert self.definition is not None
        if self.source is not None:
            return experimenting.draw_items(self.source, self.definition, self.items, seed)
        assert preparation.upload is not None
        items = self.base.items(preparation.upload)
        return experimenting.draw_rows(items, self.items, seed)

    def named_source(self, preparation: Preparation) -> str:
        return str(self.source or preparation.upload)


def first_fields(task_type: str = "", source: str = "", n: str = "") -> dict[str, str]:
    """A fresh form: the two modes that are compared most."""
    fields = {"task_type": task_type, "source": source, "n": n}
    for number, arm in enumerate(FIRST_ARMS):
        fields |= {f"mode-{number}": arm.mode}
    ids = ",".join(str(number) for number in range(len(FIRST_ARMS)))
    return {name: value for name, value in fields.items() if value} | {"arms": ids}


def arm_ids(fields: Mapping[str, str]) -> list[str]:
    """The ids of the arms in the form, in their order."""
    ids = [one for one in fields.get("arms", "").split(",") if one.isdecimal() and len(one) < 4]
    return list(dict.fromkeys(ids))[:MOST_ARMS]


def prepare_experiment(preparation: Preparation) -> PreparedExperiment:
    """Read the form; never raises."""
    base = prepare(preparation)
    fields = base.fields
    found = PreparedExperiment(fields, base, [_row(fields, one) for one in arm_ids(fields)])
    found.problems = {
        name: base.problems[name] for name in ("items", "key", "task_type") if name in base.problems
    }
    _read_source(found)
    if base.unpriced:
        found.problems["task_type"] = Problem(str(experimenting.no_price(base.unpriced)))
    _read_n(found)
    _read_budget(found)
    if len(found.rows) < 2:
        found.problems["arms"] = Problem("Add an arm: there is nothing to hold the first against.")
    elif any(row.error for row in found.rows):
        found.problems["arms"] = Problem("Fix the arms that are marked.")
    return found


def foresee(preparation: Preparation, found: PreparedExperiment) -> Foreseen | None:
    """What the arms would cost and take, or None while items, task type or an arm are not known."""
    sizes = found.sizes()
    if found.definition is None or found.base.unpriced or not sizes:
        return None
    if len(found.arms) < len(found.rows) or not found.arms:
        return None
    given = counted(preparation, found.base)
    return experimenting.foresee(found.definition, sizes, found.arms, given, found.base.version)


def _row(fields: Mapping[str, str], one: str) -> ArmRow:
    mode = fields.get(f"mode-{one}", Mode.CACHED)
    row = ArmRow(
        one,
        mode if mode in Mode.values else Mode.CACHED,
        fields.get(f"size-{one}", "").strip(),
        fields.get(f"at_once-{one}", "").strip(),
    )
    size = _whole(row.size, LARGEST_GROUP) if row.letter else None
    at_once = _whole(row.at_once, LARGEST_N)
    if size == 0:
        row.error = f"{row.letter} is a whole number from 1 to {LARGEST_GROUP:,}."
    elif at_once == 0:
        row.error = f"N is a whole number from 1 to {LARGEST_N:,}, or empty for the whole cap."
    else:
        row.plan = ArmPlan(row.mode, size, at_once)
    return row


def _whole(text: str, most: int) -> int | None:
    """The number; None where nothing was typed, 0 where it is none that can be."""
    text = text.replace(",", "")
    if not text:
        return None
    number = whole_number(text) or 0
    return number if number <= most else 0


def _read_source(found: PreparedExperiment) -> None:
    asked = found.fields.get("source", "")
    if not asked:
        return
    found.problems.pop("items", None)
    found.problems.pop("key", None)
    version = found.base.version
    if version is None:
        return
    found.problems.pop("task_type", None)
    found.source = (
        Batch.objects.arrived()
        .filter(public_id=asked, version__task_type=version.task_type_id)
        .first()
    )
    if found.source is None:
        found.problems["source"] = Problem("Choose a batch of this task type, or a file.")
        return
    first = ItemInput.objects.filter(item__batch=found.source).order_by("item__position").first()
    lacking = sorted(template.columns(version.prompt) - set(first.data if first else {}))
    if lacking:
        found.problems["source"] = Problem(
            f"Its items have no field {lacking[0]}, which the prompt of {version} names."
        )


def _read_n(found: PreparedExperiment) -> None:
    text = found.fields.get("n", "")
    number = _whole(text.strip(), MOST_ITEMS)
    if number is not None and number < 2:
        found.problems["n"] = Problem(f"Give a whole number from 2 to {MOST_ITEMS:,}.")
        return
    found.n = number or USUAL_ITEMS
    if number and found.available and number > found.available:
        found.problems["n"] = Problem(
            f"There are {found.available:,} items.", str(found.available), "Use all"
        )
    elif found.available == 1:
        found.problems["n"] = Problem("There is one item: an experiment needs two at least.")


def _read_budget(found: PreparedExperiment) -> None:
    if "budget" in found.base.problems:
        found.problems["budget"] = Problem("Give an amount in dollars, such as $1.00.")
    elif found.fields.get("no_budget"):
        found.budget = None
    elif found.base.options.budget is None:
        found.problems["budget"] = Problem(
            "Give a budget, or say that there is none.", missing=True
        )
    else:
        found.budget = found.base.options.budget


def _sizes_of(batch: Batch, definition: TaskDefinition) -> Counter[int]:
    """Prompts of items from all over a batch, so that a long one costs no more than a short one."""
    step = max(1, batch.total // LOOKED_AT)
    places = range(0, batch.total, step)[:LOOKED_AT]
    rows = ItemInput.objects.filter(item__batch=batch, item__position__in=places)
    return Counter(
        len(template.render(definition.prompt, data).encode())
        for data in rows.values_list("data", flat=True)
    )


def _scaled(sizes: Counter[int], n: int) -> Counter[int]:
    """As many in all as `n`, of sizes in the same proportions."""
    all_sizes = sorted(sizes.elements()) if sizes.total() <= LOOKED_AT else _spread(sizes)
    if not all_sizes:
        return Counter()
    return Counter(all_sizes[place * len(all_sizes) // n] for place in range(n))


def _spread(sizes: Counter[int]) -> list[int]:
    """So many of a long list of sizes, from the smallest to the largest."""
    whole, found, passed = sizes.total(), [], 0
    for size, number in sorted(sizes.items()):
        before, passed = passed, passed + number
        found += [size] * (passed * LOOKED_AT // whole - before * LOOKED_AT // whole)
    return found
