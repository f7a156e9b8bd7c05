"""Entering prices: who may, what fits, and what it is taken for."""

from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command

from batchboard import intake
from batchboard.models import Event, PriceNotPossible, RunOptions, StoredPrice
from batchboard.models.prices import applied, is_priced, priced_models
from batchboard.roles import NotAllowed, Role
from batchboard.task_file import TaskFileError
from tests.factories import START, person

pytestmark = pytest.mark.django_db
OWN = {"input": Decimal("1.5"), "output": Decimal(4), "cache_read": Decimal("0.0001")}
FILE = b'name = "Own"\nmodel = "own-model"\nprompt = "{{ text }}"\nmax_tokens = 100\n'


@pytest.fixture(autouse=True)
def _standing(clock, announced):
    """The clock stands still, and nothing is sent."""


def test_only_an_administrator_enters_a_price():
    with pytest.raises(NotAllowed, match="administrator"):
        StoredPrice.objects.enter("own-model", OWN, by=person(roles=[Role.OPERATOR]))
    boss = person(roles=[Role.ADMIN])
    StoredPrice.objects.enter("own-model", OWN, by=boss)
    assert Event.objects.get(verb="price.entered").actor == boss


def test_a_cache_kind_without_a_price_follows_the_input():
    price = StoredPrice.objects.enter("own-model", OWN)
    assert (price.input, price.output) == (Decimal("1.5"), 4)
    assert (price.cache_write_5m, price.cache_write_1h) == (Decimal("1.875"), 3)
    assert price.cache_read == Decimal("0.0001")
    assert applied("own-model", START).rates == price.rates


@pytest.mark.parametrize(
    ("model", "changed", "field"),
    [
        ("", {}, "model"),
        ("x" * 101, {}, "model"),
        ("a\nb", {}, "model"),
        ("claude-haiku-5-5", {}, "model"),
        ("own-model", {"input": None}, "input"),
        ("own-model", {"output": Decimal(-1)}, "output"),
        ("own-model", {"output": Decimal("NaN")}, "output"),
        ("own-model", {"output": Decimal("Infinity")}, "output"),
        ("own-model", {"cache_read": Decimal("0.00001")}, "cache_read"),
        ("own-model", {"input": Decimal(100_001)}, "input"),
    ],
)
def test_what_is_no_price_is_refused_and_nothing_is_stored(model, changed, field):
    with pytest.raises(PriceNotPossible) as refusal:
        StoredPrice.objects.enter(model, OWN | changed)
    assert refusal.value.field == field
    assert not StoredPrice.objects.exists()


def test_the_list_applies_where_nothing_was_entered():
    assert applied("claude-haiku-5-5", START).source.startswith("genai-prices")
    assert applied("own-model", START) is None
    assert not is_priced("own-model")


def test_a_task_file_may_name_a_model_whose_price_was_entered():
    with pytest.raises(TaskFileError, match="Model own-model is unknown"):
        intake.read_task_file(FILE)
    assert intake.read_task_file(FILE, unpriced=True).model == "own-model"
    StoredPrice.objects.enter("own-model", OWN)
    assert intake.read_task_file(FILE).model == "own-model"
    assert "own-model" in priced_models()


def test_the_command_line_says_how_a_model_without_a_price_can_run(tmp_path):
    file = tmp_path / "own.toml"
    file.write_bytes(FILE)
    with pytest.raises(CommandError) as caught:
        call_command("batch", "estimate", str(file), "--task-type", str(file))
    said = str(caught.value)
    assert "enter its price on the limits page, and --unpriced runs it without one." in said
    assert said.endswith("Nothing was created.")


def test_a_misspelt_name_is_still_answered_with_the_right_one():
    with pytest.raises(TaskFileError, match=r"did you mean .*claude-haiku-5-5"):
        intake.read_task_file(FILE.replace(b"own-model", b"claude-haiku-5-6"))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (RunOptions(), "can enter one on the limits page"),
        (RunOptions(unpriced_ok=True, budget=Decimal(1)), "budget could not hold"),
        (RunOptions(unpriced_ok=True), ""),
    ],
)
def test_what_may_run_without_a_price(options, says):
    refusal = intake.refused_price("own-model", options)
    assert (says in refusal) if says else refusal == ""
