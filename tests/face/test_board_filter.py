"""What the board shows of what was asked for, and that its address holds it."""

import re
from urllib.parse import urlencode

import pytest
from django.test import Client

from batchboard.models import TaskType, TaskVersion, User
from batchboard.views.board_filter import BoardFilter
from tests.face.conftest import MakeBatch

pytestmark = pytest.mark.django_db


def shown(page: Client, query: str) -> set[str]:
    text = page.get(f"/board/columns{query}").content.decode()
    return set(re.findall(r'id="card-(b_\w+)"', text))


def test_by_text_state_owner_and_type(page: Client, make_batch: MakeBatch, person: User) -> None:
    plain = make_batch("running", waiting=3, name="Scan of June").public_id
    blocked = make_batch("running", waiting=3, blocked="budget").public_id
    paused = make_batch("paused", waiting=3).public_id
    review = make_batch("review", succeeded=3).public_id
    assert shown(page, "?q=of+june") == {plain}
    assert shown(page, f"?q={plain}") == {plain}
    assert shown(page, "?state=blocked") == {blocked}
    assert shown(page, "?state=person") == {blocked, review}
    assert shown(page, "?state=paused") == {paused}
    assert shown(page, f"?owner={person.pk}") == {plain, blocked, paused, review}
    assert shown(page, f"?owner={person.pk + 1}") == set()
    other = TaskType.objects.create(name="Other")
    TaskVersion.objects.create(
        task_type=other, number=1, digest="o", model="m", prompt="{{ x }}", max_tokens=1
    )
    assert shown(page, f"?type={other.pk}") == set()


def test_counts_are_those_of_what_was_asked_for(page: Client, make_batch: MakeBatch) -> None:
    make_batch("running", waiting=3, name="One")
    make_batch("running", waiting=3, name="Two")
    text = page.get("/?q=one").content.decode()
    assert "1 batch matches" in text
    assert 'value="one"' in text
    assert '<h2 id="title-running">Running</h2><span class="muted">1</span>' in text


@pytest.mark.parametrize(
    "query",
    [
        "type=x",
        "type=99999999999999999999",
        "state=nonsense",
        "column=nowhere",
        "q=%00",
        "released=-1",
    ],
)
def test_nonsense_is_no_filter(page: Client, make_batch: MakeBatch, query: str) -> None:
    batch = make_batch("running", waiting=3)
    assert shown(page, f"?{query}") == {batch.public_id}


@pytest.mark.parametrize("query", ["?ended=1", "?ended=100&draft=100", "?state=dead&q=june"])
def test_an_update_asks_for_what_the_address_asks_for(
    page: Client, make_batch: MakeBatch, query: str
) -> None:
    make_batch("cancelled", waiting=1, name="June")
    make_batch("rejected", dead=1, name="Also June")
    text = page.get(f"/{query}").content.decode()
    form = re.search(r'<form class="filters".*?</form>', text, re.S)
    assert form
    inputs = re.findall(r'<input[^>]* name="(\w+)" value="([^"]*)"', form[0])
    chosen = re.findall(r'name="(\w+)"[^>]*>(?:<option.*?)?<option value="(\w+)" selected', form[0])
    asked = page.get(f"/board/columns?{urlencode(inputs + chosen)}").content.decode()
    every = re.compile(r'id="(?:card-b_|column-)\w+"')
    assert every.findall(asked) == every.findall(text)


def test_more_cards_of_one_column_are_shown_on_demand(page: Client, make_batch: MakeBatch) -> None:
    for _ in range(53):
        make_batch("draft", waiting=1)
    assert len(shown(page, "")) == 50
    text = page.get("/board/columns").content.decode()
    assert re.search(r'<a href="\?draft=100" data-asks>3 older</a>', text)
    assert len(shown(page, "?draft=100")) == 53


def test_an_address_holds_what_was_asked_and_no_more() -> None:
    query = {"state": "paused", "q": " june ", "column": "draft", "ended": "1", "draft": "9999"}
    asked = BoardFilter.of(query)
    assert asked.address() == "?state=paused&q=june&ended=1&column=draft&draft=150"
    assert BoardFilter.of({}).address() == "?"


def test_a_filter_that_finds_nothing_says_so(page: Client, make_batch: MakeBatch) -> None:
    make_batch("running", waiting=3)
    text = page.get("/?q=nothing+like+it").content.decode()
    assert "None has “nothing like it” in its name or as its id." in text
    assert "No batch yet" not in text
    assert "Show all batches" in text
    assert "None that you asked for." in page.get("/?q=Ticket").content.decode()
