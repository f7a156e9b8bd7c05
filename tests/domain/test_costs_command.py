"""`manage.py costs`: what people read, what machines read, and what is refused."""

import json
import re

import pytest
from django.core.management import CommandError, call_command

from batchboard.cli.refusals import BAD_INPUT
from batchboard.models import Batch
from dispatch import recorder
from tests.domain.test_arms import WARM, run
from tests.factories import admit, draft, finished, live_worker, task_version

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _quiet(announced, clock, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")


@pytest.fixture
def both(clock):
    """A task type that ran single and then cached."""
    version = task_version()
    run(draft(12, version=version), clock=clock, seconds=2)
    clock.advance(3_600)
    run(draft(12, version=version, mode="cached"), WARM, clock=clock, seconds=1)
    return version.task_type.name


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


def said(capsys, *arguments):
    call_command("costs", *arguments)
    return capsys.readouterr().out.replace("\u202f", " ")


def refused(*arguments):
    with pytest.raises(CommandError) as caught:
        call_command("costs", *arguments)
    assert caught.value.returncode == BAD_INPUT
    return str(caught.value)


def test_without_filters_the_two_modes_that_ran_last_are_compared(both, capsys):
    text = said(capsys, both)
    assert "Cost per task fell by" in text
    assert "90 % of input tokens came from the cache" in text
    rows = [line for line in text.splitlines() if line.startswith(("single", "cached"))]
    assert "The measure" in rows[0]
    assert "Cheaper; quality not compared" in rows[1]
    assert "- Review results of single and cached." in text


def test_what_is_left_out_and_what_was_simulated_is_said(both, capsys):
    text = said(capsys, both)
    assert "under way" not in text
    assert "simulated" not in text
    batch = Batch.objects.get(mode="cached")
    more = draft(2, version=batch.version, mode="cached")
    more.start()
    worker = live_worker()
    first, _ = admit(worker).calls
    recorder.settle(worker.pk, [finished(first, usage=WARM)], admits=False)
    Batch.objects.filter(state="review").update(simulated=True)
    text = said(capsys, both)
    assert "cached: 1 batch is still under way, and not counted yet." in text
    assert "Measured at the simulated provider: no real money." in text
    summary = json.loads(said(capsys, both, "--json"))
    assert (summary["arms"][0]["batches_under_way"], summary["arms"][0]["simulated"]) == (1, True)


def test_a_set_of_which_all_is_under_way_says_so(both, capsys):
    version = Batch.objects.get(mode="cached").version
    more = draft(2, version=version, mode="packed", group_size=1)
    more.start()
    worker = live_worker()
    first = admit(worker).calls[0]
    recorder.settle(worker.pk, [finished(first, usage=WARM)], admits=False)
    text = said(capsys, both, "--before", "mode=single", "--after", "mode=packed")
    assert "ended in packed. 1 batch is still under way." in text


def test_two_sets_are_named_by_filters(both, capsys):
    text = said(capsys, both, "--before", "mode=cached", "--after", "mode=single,version=1")
    assert "Cost per task rose by" in text


def test_a_further_set_is_held_against_the_first(both, capsys):
    text = said(
        capsys, both, "--before=mode=single", "--after=mode=cached", "--after=since=2026-11-21"
    )
    assert "since Nov 21, 2026" in text


def test_a_narrow_terminal_shows_every_figure_whole(both, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    narrow = said(capsys, both)
    assert "…" not in narrow
    assert re.search(r"^arm +single *$", narrow, re.M)
    assert re.search(r"^from cache +90 % *$", narrow, re.M)
    monkeypatch.setenv("COLUMNS", "200")
    assert re.search(r"^arm +cost per task", said(capsys, both), re.M)


def test_machines_get_the_same_figures(both, capsys):
    found = json.loads(said(capsys, both, "--json"))
    assert found["headline"].startswith("Cost per task fell by")
    assert found["before"]["label"] == "single"
    (arm,) = found["arms"]
    assert (arm["verdict"], arm["items"], arm["cache_share"]) == ("cheaper", 12, 0.9)
    assert arm["change"]["low"] <= arm["change"]["mid"] <= arm["change"]["high"] < 0
    assert 0 < arm["cost_per_task_usd"]["mid"] < found["before"]["cost_per_task_usd"]["mid"]
    assert found["advice"][0]["kind"] == "review"


def test_where_there_is_nothing_to_compare_that_is_said(capsys):
    version = task_version()
    name = version.task_type.name
    assert f"no batch of {name} ended yet" in said(capsys, name)
    run(draft(2, version=version))
    assert "ran in one mode only, single" in said(capsys, name)
    assert "no batch of" in said(capsys, name, "--before=mode=single", "--after=version=9")
    assert json.loads(said(capsys, name, "--json"))["headline"] is None


def test_a_task_type_that_is_not_there_is_refused_with_the_nearest_name(both):
    assert f"Did you mean {both!r}?" in refused(both + "x")
    assert f"no task type 'zzz'. There are {both!r}." in refused("zzz")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("mode=fast", "no mode 'fast': the modes are single, cached"),
        ("version=two", "'two' is not a version"),
        ("version=0", "'0' is not a version"),
        ("version=²", "'²' is not a version"),
        ("since=yesterday", "'yesterday' is not a day: write it as since=2026-01-31"),
        ("colour=red", "'colour=red' is not a filter: give mode, version, since, until"),
        ("single", "'single' is not a filter"),
        ("mode=single,mode=cached", "mode is given twice"),
        ("since=2026-02-01,until=2026-01-01", "Nothing lies between"),
    ],
)
def test_a_bad_filter_is_refused_and_says_what_works(both, text, says):
    assert says in refused(both, "--before", text, "--after", "mode=cached")


def test_half_a_comparison_is_refused(both):
    assert "--after is missing" in refused(both, "--before", "mode=single")
    assert "--before is missing" in refused(both, "--after", "mode=single")
