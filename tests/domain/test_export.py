"""Results as files: complete, harmless in a spreadsheet, only after approval, and on record."""

import csv
import io
import json

import pytest

from batchboard import export as exporting
from batchboard.export import export, file_name, harmless
from batchboard.models import Batch, ItemInput
from batchboard.states import MoveRefused
from tests.factories import in_review, judge_all, person, queued, task_version

pytestmark = pytest.mark.django_db
SCHEMA = {
    "type": "object",
    "properties": {"label": {"type": "string"}, "score": {"type": "number"}},
    "required": ["label", "score"],
    "additionalProperties": False,
}


def released(texts=("an answer",) * 3, contract=None):
    from dispatch import recorder
    from tests.factories import admit, finished, live_worker

    batch = queued(len(texts), version=task_version(contract=contract))
    worker = live_worker()
    calls = admit(worker).calls
    ended = [finished(call, text=text) for call, text in zip(calls, texts, strict=True)]
    recorder.settle(worker.pk, ended, admits=False)
    batch.refresh_from_db()
    judge_all(batch)
    batch.approve()
    return batch


def content(batch, format_, by=None):
    return b"".join(export(batch, format_, by))


def table(batch):
    return list(csv.DictReader(io.StringIO(content(batch, "csv").decode(), newline="")))


def sheet(batch):
    from python_calamine import CalamineWorkbook

    book = CalamineWorkbook.from_filelike(io.BytesIO(content(batch, "xlsx")))
    return book.get_sheet_by_index(0).to_python()


@pytest.mark.parametrize("format_", ["csv", "jsonl", "xlsx"])
def test_nothing_is_written_before_approval(format_):
    with pytest.raises(MoveRefused, match="only after a person approved"):
        export(in_review(3), format_)


def test_json_lines_hold_every_value_as_it_is():
    batch = released(['{"label": "=1+1", "score": -2}'], SCHEMA)
    assert json.loads(content(batch, "jsonl")) == {
        "key": "k0",
        "input": {"text": "row 0"},
        "output": {"label": "=1+1", "score": -2},
        "cost_usd": 0.000015,
    }


def test_csv_has_columns_for_the_input_and_for_each_field_of_the_contract():
    batch = released(['{"label": "good", "score": -2.5}'], SCHEMA)
    assert table(batch) == [
        {
            "key": "k0", "text": "row 0", "output": '{"label": "good", "score": -2.5}',
            "output.label": "good", "output.score": "-2.5", "cost_usd": "1.5e-05",
        }
    ]  # fmt: skip


def test_a_worksheet_holds_numbers_as_numbers_and_formulas_as_text():
    batch = released(['{"label": "=HYPERLINK(1)", "score": 3}'], SCHEMA)
    head, row = sheet(batch)
    cells = dict(zip(head, row, strict=True))
    assert cells["output.label"] == "=HYPERLINK(1)"
    assert cells["output.score"] == 3


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "＝"])
def test_a_cell_that_begins_like_a_formula_gets_an_apostrophe(start):
    assert harmless(f"{start}cmd()") == f"'{start}cmd()"


@pytest.mark.parametrize("text", ["", "plain", "-5", "+3.25", "a=b", "'quoted"])
def test_other_cells_stay_as_they_are(text):
    assert harmless(text) == text


def test_hostile_answers_cannot_run_in_a_spreadsheet():
    (row,) = table(released(["=cmd|' /C calc'!A0"]))
    assert row["output"] == "'=cmd|' /C calc'!A0"


def test_rows_with_different_columns_keep_them_all():
    batch = released(["a", "b"])
    ItemInput.objects.filter(item__key="k1").update(data={"text": "x", "key": 7, "more": [1]})
    first, second = table(batch)
    assert first["more"] == ""
    assert (second["input.key"], second["more"]) == ("7", "[1]")


def test_broken_characters_break_no_file():
    batch = released(['{"label": "half \\ud800 and \\u0007", "score": 1}'], SCHEMA)
    (line,) = content(batch, "jsonl").splitlines()
    assert json.loads(line)["output"]["label"] == "half \ud800 and \x07"
    assert "half ? and" in table(batch)[0]["output.label"]
    assert "half ? and" in sheet(batch)[1][3]


def test_a_cell_that_is_too_long_for_a_worksheet_says_so():
    batch = released(["x" * 40_000])
    cell = sheet(batch)[1][2]
    assert len(cell) == exporting.CELL_CHARACTERS
    assert cell.endswith("hold all of it)")
    assert len(table(batch)[0]["output"]) == 40_000


def test_more_results_than_a_worksheet_holds_are_refused_at_once(monkeypatch):
    batch = released()
    monkeypatch.setattr(exporting, "SHEET_ROWS", 2)
    with pytest.raises(MoveRefused, match="export CSV or JSONL"):
        export(batch, "xlsx")


@pytest.mark.parametrize("format_", ["csv", "jsonl", "xlsx"])
def test_a_delivery_is_on_record_once_its_last_byte_was_taken(format_):
    batch, by = released(), person()
    pieces = export(batch, format_, by)
    next(pieces)
    assert not batch.events.filter(verb="results.exported").exists()
    list(pieces)
    event = batch.events.get(verb="results.exported")
    assert (event.actor, event.detail) == (by, {"format": format_, "count": 3})
    assert Batch.objects.get(pk=batch.pk).exported_at is not None


def test_an_empty_result_is_a_file_with_its_head_alone():
    batch = released()
    batch.items.update(state="dead")
    assert content(batch, "csv").decode() == "key,output,cost_usd\r\n"
    assert content(batch, "jsonl") == b""


def test_a_file_is_named_after_the_batch():
    batch = Batch(name="[Batch] Wöchentlich/../“scan”: Jun 19", public_id="b_x")
    assert file_name(batch, "csv") == "wochentlichscan-jun-19-b_x.csv"
    assert file_name(Batch(name="東京", public_id="b_x"), "xlsx") == "batch-b_x.xlsx"
