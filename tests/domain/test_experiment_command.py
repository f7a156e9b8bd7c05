"""`manage.py experiment`: estimate, run, list, show, cancel, and what is refused."""

import json

import pytest
from django.core.management import CommandError, call_command

from batchboard.models import Batch, Experiment, TaskType
from dispatch import recorder
from dispatch.forecast import Counted
from tests.factories import admit, finished, live_worker

pytestmark = pytest.mark.django_db
TASK_TYPE = """
name = "Ticket triage"
model = "claude-haiku-5-5"
max_tokens = 100
prompt = "Sort {{ text }}"
"""
ARMS = ("--arm", "single", "--arm", "packed:k=3")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setattr("dispatch.forecast.count", lambda work, rows: Counted())
    items, task_type = tmp_path / "items.csv", tmp_path / "type.toml"
    items.write_text("key,text\n" + "".join(f"k{number},row {number}\n" for number in range(9)))
    task_type.write_text(TASK_TYPE)
    return str(items), "--task-type", str(task_type)


@pytest.fixture
def call(capsys):
    def called(*arguments):
        call_command("experiment", *arguments)
        return capsys.readouterr().out

    return called


def test_an_estimate_names_each_arm_and_all_together_and_makes_nothing(call, files):
    found = json.loads(call("estimate", *files, *ARMS, "--json"))
    assert [arm["label"] for arm in found["arms"]] == ["single", "packed k=3"]
    total = sum(arm["estimate_usd"]["worst"] for arm in found["arms"])
    assert found["estimate_usd"]["worst"] == pytest.approx(total)
    assert found["n"] == 9
    assert "together" in call("estimate", *files, *ARMS)
    assert not TaskType.objects.exists()


def test_a_run_starts_all_arms_and_says_what_it_is(call, files):
    found = json.loads(call("run", *files, *ARMS, "--n", "6", "--budget", "1.5", "--json"))
    assert (found["n"], found["budget_usd"], found["state"]) == (6, 1.5, "running")
    assert [arm["items"] for arm in found["arms"]] == [6, 6]
    assert found["comparison"] is None
    assert found["id"] in call("list")
    assert json.loads(call("list", "--json"))[0]["id"] == found["id"]
    assert "Nothing to compare yet" in call("show", found["id"])


def test_a_seed_draws_the_same_items_again(call, files):
    for _ in range(2):
        call("run", *files, *ARMS, "--n", "4", "--seed", "again", "--json")
    batches = Batch.objects.filter(mode="single")
    drawn = [sorted(batch.items.values_list("key", flat=True)) for batch in batches]
    assert drawn[0] == drawn[1]


def test_the_end_is_a_verdict(call, files, capsys):
    public_id = json.loads(call("run", *files, *ARMS, "--json"))["id"]
    worker = live_worker()
    while calls := admit(worker).calls:
        recorder.settle(worker.pk, [finished(one) for one in calls], admits=False)
    found = json.loads(call("show", public_id, "--json"))
    assert found["state"] == "ended"
    assert found["comparison"]["same_items"] == 9
    headline = found["comparison"]["headline"].replace("\u202f", " ")
    assert headline in call("show", public_id)
    call_command("costs", "--experiment", public_id)
    assert headline in capsys.readouterr().out


def test_a_cancelled_one_is_cancelled(call, files):
    public_id = json.loads(call("run", *files, *ARMS, "--json"))["id"]
    assert json.loads(call("cancel", public_id, "--json"))["state"] == "cancelled"
    with pytest.raises(CommandError) as refused:
        call("cancel", public_id)
    assert refused.value.returncode == 3


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--arm", "single", "--arm", "chached"), "did you mean cached?"),
        (("--arm", "single", "--arm", "packed:S=4"), "not an option of packed"),
        (("--arm", "single"), "two arms at least"),
        (("--arm", "single") * 9, "at most 8 arms"),
        ((*ARMS, "--n", "10"), "has 9 items, fewer than the 10 asked for"),
    ],
)
def test_what_cannot_be_is_refused_with_status_2_and_nothing_is_made(call, files, arguments, says):
    with pytest.raises(CommandError) as refused:
        call("run", *files, *arguments)
    assert says in str(refused.value)
    assert "Nothing was created." in str(refused.value)
    assert refused.value.returncode == 2
    assert not Experiment.objects.exists()
    assert not Batch.objects.exists()
    assert not TaskType.objects.exists()


@pytest.mark.parametrize("verb", ["show", "cancel"])
def test_an_unknown_id_is_said_to_be_none(call, verb):
    with pytest.raises(CommandError, match="no such experiment") as refused:
        call(verb, "e_none")
    assert refused.value.returncode == 2


def test_costs_take_a_task_type_or_an_experiment_and_not_both():
    for arguments in ([], ["Ticket triage", "--experiment", "e_none"]):
        with pytest.raises(CommandError) as refused:
            call_command("costs", *arguments)
        assert refused.value.returncode == 2
