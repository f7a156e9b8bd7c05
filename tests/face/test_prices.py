"""Prices on the limits page, and the choice to run unpriced on the form of a new batch."""

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from batchboard.models import Limits, Preparation, StoredPrice, User
from batchboard.preparing import prepare
from tests.factories import task_version

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("announced")]
FORM = {"model": "own-model", "input": "$1.50", "output": "6"}


@pytest.fixture
def boss(client: Client, admin: User) -> Client:
    client.force_login(admin)
    return client


def enter(client: Client, **fields: str) -> Any:
    return client.post(reverse("limits-prices"), FORM | fields, follow=True)


def test_models_in_use_show_their_rates_and_where_those_come_from(boss: Client) -> None:
    task_version("claude-haiku-5-5")
    task_version("own-model")
    page = boss.get(reverse("limits")).content.decode()
    prices = page[page.index('id="limits-prices"') :]
    assert prices.index("own-model") < prices.index("haiku-5.5"), "what needs a price comes first"
    assert "Unpriced" in prices
    assert "$0.125" in prices
    assert "Prompts over 100,000 tokens: $0.50 in" in prices
    assert "genai-prices" in prices


def test_a_price_is_entered_and_shown_with_who_entered_it(boss: Client, admin: User) -> None:
    page = enter(boss).content.decode()
    assert "Price of own-model saved" in page
    stored = StoredPrice.objects.get()
    assert (stored.input, stored.output, stored.cache_read) == (
        Decimal("1.5"), 6, Decimal("0.15")
    )  # fmt: skip
    assert f"entered by {admin}" in page
    assert "entered a price of own-model: $1.50 in, $6.00 out per million" in page


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"input": "a lot"}, "“a lot” is not an amount in dollars."),
        ({"output": ""}, "Give the dollars for a million tokens."),
        ({"model": "claude-haiku-5-5"}, "The price list knows claude-haiku-5-5"),
        ({"valid_from": "soon"}, "Give a day and a time"),
        ({"cache_read": "0.00001"}, "at most four decimals"),
    ],
)
def test_what_does_not_fit_is_said_and_what_was_typed_is_kept(
    boss: Client, fields: dict[str, str], says: str
) -> None:
    answer = enter(boss, **fields)
    assert answer.status_code == 422
    assert says in answer.content.decode()
    assert 'value="$1.50"' in answer.content.decode() or "input" in fields
    assert not StoredPrice.objects.exists()


def test_a_price_may_hold_from_a_moment_to_come(boss: Client) -> None:
    page = enter(boss, valid_from="2099-01-02T10:30").content.decode()
    assert "From Jan 2, 10:30: $1.50 in" in page
    assert "Unpriced" in page


def test_only_an_administrator_has_the_form(client: Client, person: User) -> None:
    client.force_login(person)
    assert "limits/prices" not in client.get(reverse("limits")).content.decode()
    assert enter(client).status_code == 403
    assert not StoredPrice.objects.exists()


def prepared(person: User, **fields: str) -> Any:
    return prepare(Preparation(public_id="p_2222222222", owner=person, fields=fields))


def test_the_form_offers_the_choice_only_where_the_model_is_unpriced(
    client: Client, person: User
) -> None:
    client.force_login(person)
    known, own = task_version("claude-haiku-5-5"), task_version("own-model")
    address = reverse("new-form", args=["p_2222222222"])
    assert "unpriced_ok" not in client.post(address, {"task_type": known.pk}).content.decode()
    page = client.post(address, {"task_type": own.pk}).content.decode()
    assert "Run own-model unpriced" in page


def test_without_a_price_the_choice_is_needed_and_with_one_it_means_nothing(person: User) -> None:
    own, known = str(task_version("own-model").pk), str(task_version().pk)
    assert "unpriced_ok" in prepared(person, task_type=own).problems
    chosen = prepared(person, task_type=own, unpriced_ok="on")
    assert "unpriced_ok" not in chosen.problems
    assert chosen.options.unpriced_ok is True
    assert prepared(person, task_type=known, unpriced_ok="on").options.unpriced_ok is False


def test_the_choice_is_refused_where_money_is_limited(person: User) -> None:
    own = str(task_version("own-model").pk)
    over = prepared(person, task_type=own, unpriced_ok="on", budget="1")
    assert "budget could not hold" in over.problems["budget"].message
    Limits.objects.current().change(budget=5)
    over = prepared(person, task_type=own, unpriced_ok="on")
    assert "ceiling for all spend" in over.problems["unpriced_ok"].message


def test_a_task_type_can_be_written_for_an_unpriced_model_where_that_is_chosen(
    person: User,
) -> None:
    written = {
        "task_type": "write", "d-name": "Own", "d-model": "own-model",
        "d-prompt": "Look at {{ x }}", "d-max_tokens": "10",
    }  # fmt: skip
    assert "is unknown" in prepared(person, **written).problems["d-model"].message
    chosen = prepared(person, **written, unpriced_ok="on")
    assert chosen.definition is not None
    assert chosen.unpriced == "own-model"
