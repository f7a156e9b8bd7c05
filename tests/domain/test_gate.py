"""Nothing leaves before approval: the one door, and that there is no other."""

import ast
from pathlib import Path

import pytest
from django.db import models

from batchboard import models as domain
from batchboard.models import Batch
from batchboard.states import BatchState, MoveRefused
from tests.factories import in_review, judge_all, task_version

ROOT = Path(__file__).resolve().parent.parent.parent

MAY_TOUCH_ANSWERS = {
    "batchboard/models/attempt.py",  # where they are declared
    "batchboard/models/__init__.py",
    "batchboard/models/reviewing.py",  # the door, and the sample of the review
    "batchboard/models/review.py",  # one drawn result, for who judges it
    "batchboard/models/looking.py",  # one item at a time, for a page that shows it as text
    "dispatch/recorder.py",  # writes them
    "dispatch/conversations.py",  # the provider is told what it said before, and nobody else
}
BEHIND_THE_DOOR = {"_results", "_output"}
MAY_LOOK = {
    "batchboard/views/item.py",
    "batchboard/views/tries.py",
    "batchboard/views/trial_results.py",
}
"""Pages of one item, for people, and of trials, which are one item each. Nothing that hands
results on may be among them."""


@pytest.mark.django_db
@pytest.mark.parametrize("state", [state for state in BatchState if state != "released"])
def test_the_door_is_shut_in_every_state_but_released(state):
    batch = in_review(3)
    Batch.objects.filter(pk=batch.pk).update(state=state)
    with pytest.raises(MoveRefused, match=f"is (in )?{state}: its results leave only after"):
        batch.released_results()


@pytest.mark.django_db
def test_a_stale_copy_does_not_open_the_door():
    batch = in_review(3)
    batch.state = "released"
    with pytest.raises(MoveRefused):
        batch.released_results()


@pytest.mark.django_db
def test_through_the_door_come_the_results_in_the_files_order():
    batch = in_review(4, bad=1)
    judge_all(batch)
    batch.approve()
    found = list(batch.released_results())
    assert [row["key"] for row in found] == ["k0", "k1", "k2"]
    assert found[0]["output"] == "an answer"
    assert found[0]["input"] == {"text": "row 0"}
    # 50 in at $0.10 and 20 out at $0.50 a million
    assert str(found[0]["cost_usd"]) == "0.0000150000"


@pytest.mark.django_db
def test_a_result_under_a_contract_is_its_value():
    from dispatch import recorder
    from tests.factories import admit, finished, live_worker, queued

    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"],
              "additionalProperties": False}  # fmt: skip
    batch = queued(1, version=task_version(contract=schema))
    worker = live_worker()
    (call,) = admit(worker).calls
    recorder.settle(worker.pk, [finished(call, text='{"n": 3}')], admits=False)
    batch.refresh_from_db()
    judge_all(batch)
    batch.approve()
    assert next(batch.released_results())["output"] == {"n": 3}


def sources():
    for folder in ("batchboard", "dispatch"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            # The simulator has answers of its own and cannot import ours.
            if "/migrations/" not in name and not name.startswith("dispatch/simulator/"):
                yield name, ast.parse(path.read_text())


def touches_answers(node):
    match node:
        case ast.Name(id="Answer") | ast.alias(name="Answer") | ast.Attribute(attr="Answer"):
            return True
        case ast.Attribute(attr="answer", value=ast.Name(id="adaptive")):
            return False
        case ast.Attribute(attr="answer"):
            return True
        case ast.Constant(value=str(text)):
            parts = text.split("__")
            return "batchboard_answer" in text or (" " not in text and "answer" in parts)
        case ast.keyword(arg=str(name)):
            return "answer" in name.split("__")
    return False


def test_no_other_module_touches_answers():
    touching = {
        name for name, tree in sources() if any(touches_answers(node) for node in ast.walk(tree))
    }
    assert touching <= MAY_TOUCH_ANSWERS
    assert "batchboard/models/reviewing.py" in touching, "the search finds nothing any more"


def test_only_the_page_of_one_item_looks_at_what_came_back():
    looking = {
        name
        for name, tree in sources()
        for node in ast.walk(tree)
        if (isinstance(node, ast.ImportFrom) and node.module == "batchboard.models.looking")
        or (isinstance(node, ast.alias) and node.name in {"looking", "batchboard.models.looking"})
    }
    assert looking == MAY_LOOK


def test_every_file_of_results_comes_through_the_door():
    opening = {
        name
        for name, tree in sources()
        if any(
            isinstance(n, ast.Attribute) and n.attr == "released_results" for n in ast.walk(tree)
        )
    }
    assert opening == {"batchboard/export.py"}


def test_nobody_walks_past_the_door():
    passing = {
        name
        for name, tree in sources()
        if any(isinstance(n, ast.Attribute) and n.attr in BEHIND_THE_DOOR for n in ast.walk(tree))
    }
    assert passing == {"batchboard/models/reviewing.py"}


def test_no_template_reads_an_answer():
    pages = [*(ROOT / "templates").rglob("*.html"), *(ROOT / "batchboard").rglob("*.html")]
    assert pages
    for page in pages:
        text = page.read_text()
        for way in (".answer", ".result.", "released_results"):
            assert way not in text, page


def test_there_is_no_admin_that_could_show_or_move_anything(settings):
    assert "django.contrib.admin" not in settings.INSTALLED_APPS


def test_answers_hang_on_attempts_alone():
    """What leads to an answer is one relation, so the search above knows all of its names."""
    fields = domain.Answer._meta.get_fields()
    relations = [field.name for field in fields if isinstance(field, models.ForeignKey)]
    assert relations == ["attempt"]
    assert domain.Answer._meta.get_field("attempt").remote_field.get_accessor_name() == "answer"
