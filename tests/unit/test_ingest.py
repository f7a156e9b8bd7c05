import csv
import io
import json
import time
import tracemalloc
from contextlib import suppress
from itertools import islice

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from batchboard import ingest
from batchboard.ingest import IngestError, reader
from tests.unit.workbook import Day, workbook

NONE: frozenset[str] = frozenset()


def read(content, name="items.csv", key=None, needs=NONE):
    content = content.encode() if isinstance(content, str) else content
    return list(ingest.read_rows(io.BytesIO(content), name, key=key, needs=frozenset(needs)))


def refusal(content, name="items.csv", key=None, needs=NONE):
    with pytest.raises(IngestError) as refused:
        read(content, name, key, needs)
    return refused.value


def as_csv(rows, **how):
    out = io.StringIO()
    csv.writer(out, **how).writerows(rows)
    return out.getvalue()


class Forever(io.RawIOBase):
    """A stream that makes its lines up as they are read."""

    def __init__(self, head, line, count):
        self.line, self.left = line, count
        self.waiting = head

    def read(self, size=-1):
        while len(self.waiting) < size and self.left:
            self.left -= 1
            self.waiting += self.line(self.left)
        part, self.waiting = self.waiting[:size], self.waiting[size:]
        return part


def test_a_csv_file_becomes_rows_with_positions_lines_and_keys():
    rows = read('id,title\na,One\n\nb,"Two\nlines, and a ""quote"""\nc,Three\n')
    assert rows == [
        (1, 2, "a", {"id": "a", "title": "One"}),
        (2, 4, "b", {"id": "b", "title": 'Two\nlines, and a "quote"'}),
        (3, 6, "c", {"id": "c", "title": "Three"}),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_every_line_end_and_a_byte_order_mark_are_accepted(end, mark):
    rows = read(mark + end.join(["title,text", "a,b", "", "c,d"]))
    assert [(row.line, row.data["title"], row.data["text"]) for row in rows] == [
        (2, "a", "b"),
        (4, "c", "d"),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_on_the_edge_of_a_chunk_count_once(end, monkeypatch):
    text = end.join(["title,n", *(f'"{"é" * (n % 7)}{end}x",{n}' for n in range(40))])
    whole = read(text)
    for size in range(1, 12):
        monkeypatch.setattr("batchboard.ingest.lines._CHUNK", size)
        assert read(text, "x.csv") == whole


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.csv", "title,text\na,b\n"),
        ("X.TSV", "title\ttext\na\tb\n"),
        ("x.jsonl", '{"title": "a", "text": "b"}\n'),
        ("x.ndjson", '{"title": "a", "text": "b"}'),
        ("-", '\n {"title": "a", "text": "b"}'),
        ("-", "title\ttext\na\tb"),
        ("-", "title,text\na,b"),
        ("items.txt", "title,text\na,b"),
        ("x.xlsx", workbook([["title", "text"], ["a", "b"]])),
        ("-", workbook([["title", "text"], ["a", "b"]])),
        ("misnamed.csv", workbook([["title", "text"], ["a", "b"]])),
    ],
)
def test_the_name_or_else_the_content_decides_the_format(name, content):
    assert [row.data for row in read(content, name)] == [{"title": "a", "text": "b"}]


@pytest.mark.parametrize(
    ("header", "key", "expected"),
    [
        ("name,text", None, ["1", "2"]),
        ("id,text", None, ["a", "b"]),
        ("id,key", None, ["x", "y"]),
        ("id,text", "text", ["x", "y"]),
    ],
)
def test_keys_come_from_the_column_asked_for_then_key_then_id_then_the_position(
    header, key, expected
):
    assert [row.key for row in read(f"{header}\n a ,x\nb,y\n", key=key)] == expected


def test_keys_of_json_lines_may_be_whole_numbers():
    assert [row.key for row in read('{"id": 7}\n{"id": " 8 "}', "x.jsonl")] == ["7", "8"]


def test_json_values_are_kept_as_they_are():
    value = {"a": [1, 2.5, None, True], "b": {"c": "é"}}
    assert read(json.dumps(value), "x.jsonl")[0].data == value


def test_short_rows_are_filled_where_nothing_needed_is_missing():
    assert read("id,title,note\n1,x\n", needs={"title"})[0].data["note"] == ""


def test_rows_of_empty_cells_are_skipped():
    assert [row.line for row in read("a,b\n,\n  , \n1,\n")] == [4]


def test_a_sheet_becomes_text():
    sheet = [
        [None, None],
        ["id", "value", "note"],
        [1.0, 2.5, "plain"],
        [None, None, None],
        [2.0, True, Day(46000)],
        [3.0, 1e20, "x"],
    ]
    rows = read(workbook(sheet, [["other"], ["sheet"]]), "x.xlsx")
    assert [(row.line, row.key, row.data["value"], row.data["note"]) for row in rows] == [
        (3, "1", "2.5", "plain"),
        (5, "2", "TRUE", "2025-12-09"),
        (6, "3", "100000000000000000000", "x"),
    ]


BIG = "x" * 1_000_001

REFUSALS = [
    ("", "a.csv", "The file is empty. Give it a header and a row for each item."),
    (" \n\n", "a.csv", "The file is empty. Give it a header and a row for each item."),
    ("\n \n", "a.jsonl", "The file is empty. Give it one object for each item."),
    (
        "id,title\n\n",
        "a.csv",
        "The file has a header and no rows. Add a row for each item.",
    ),
    (
        "id,,x\n1,2,3",
        "a.csv",
        "Column 2 has no name in the header (line 1). Name it or take it out.",
    ),
    (
        "id,x, x\n1,2,3",
        "a.csv",
        'The header names the column "x" twice: columns 2 and 3. Rename one of them.',
    ),
    (
        "id,x\n1,2\n2,3,4\n",
        "a.csv",
        "Line 3 has 3 cells and the header has 2. "
        "Put double quotes around a cell that holds separators.",
    ),
    (
        "id,x\na,1\n\nb,2\n a,3\n",
        "a.csv",
        'Lines 2 and 5 have the same key "a". '
        'Keys must differ: fix the column "id" or choose another.',
    ),
    (
        "id,x\n ,1\n",
        "a.csv",
        'Line 2 has no key: the column "id" is empty there. '
        "Fill it, or choose another column as the key.",
    ),
    (
        f"id,x\n{'k' * 201},1\n",
        "a.csv",
        f'Line 2 has a key of 201 characters: "{"k" * 60}…". A key has at most 200.',
    ),
    (
        "id,x\na\x07b,1\n",
        "a.csv",
        'Line 2 has a key with a control character or line break: "a·b". Take it out.',
    ),
    (
        'id,x\n1,"fine\nso far"\n2,"ab\nc\n3,d\n',
        "a.csv",
        'The quote that opens on line 4 (column "x") is never closed. '
        'Close it, or write it twice ("") inside quotes if it belongs to the text.',
    ),
    (
        'id,x\n1,"a" b\n',
        "a.csv",
        'The quoted text that starts on line 2 (column "x") goes on after its closing quote. '
        'Write a quote that belongs to the text twice ("").',
    ),
    (
        f'id,x\n1,a\n2,"{BIG}"\n',
        "a.csv",
        'Line 3 has a cell of over 1,000,000 bytes (column "x"). Shorten it or divide the item.',
    ),
    (
        b"id,x\r\n1,caf\xe9\r\n",
        "a.csv",
        "Line 2 is not UTF-8 text: byte 12 of the file is 0xe9. "
        'Save the file with the encoding "UTF-8".',
    ),
    (
        "id,x\n1,2".encode("utf-16"),
        "a.csv",
        'The file is UTF-16 text. Save it with the encoding "UTF-8".',
    ),
    (
        "id,x\n1,a\0b",
        "a.csv",
        "Line 2 holds a NUL byte, so this is not a plain text file. Save it as UTF-8 text.",
    ),
    (b"\x1f\x8b\x08", "a.csv", "The file is compressed. Unpack it first."),
    (
        '{"a": 1}\n{"a": "b}\n',
        "a.jsonl",
        "Line 2 is not valid JSON: a quote is missing at column 7.",
    ),
    (
        '{"a": 1}\n\n[1]\n',
        "a.jsonl",
        "Line 3 is a list, not an object. Each line must be one whole object, such as "
        '{"title": "…"}.',
    ),
    (
        '{\n"a": 1\n}',
        "a.jsonl",
        "Line 1 is not valid JSON: a field name in double quotes is missing at column 2. "
        'Each line must be one whole object, such as {"title": "…"}.',
    ),
    ('{"a": NaN}', "a.jsonl", "Line 1 is not valid JSON: NaN is not a JSON number."),
    ('{"a": -Infinity}', "a.jsonl", "Line 1 is not valid JSON: -Infinity is not a JSON number."),
    ('{"a": 1e999}', "a.jsonl", "Line 1 is not valid JSON: 1e999 is too large a number."),
    (
        '{"a": 1, "a": 2}',
        "a.jsonl",
        "Line 1 is not valid JSON: the field 'a' is there twice.",
    ),
    (
        '{"a": "\\u0000"}',
        "a.jsonl",
        "Line 1 is not valid JSON: a text holds a NUL character.",
    ),
    (
        '{"a": ' + "[" * 5000 + "]" * 5000 + "}",
        "a.jsonl",
        "Line 1 is not valid JSON: it is nested over 64 levels deep.",
    ),
    ("{}", "a.jsonl", "Line 1 is an empty object. Fill it."),
    (
        '{"id": 1.5}',
        "a.jsonl",
        "The key on line 1 is neither text nor a whole number. "
        'Fix the field "id" or choose another as the key.',
    ),
    (
        json.dumps({"id": 1, "x": [BIG]}),
        "a.jsonl",
        'The field "x" on line 1 is over 1,000,000 bytes long, the most that a value may hold. '
        "Shorten it.",
    ),
    (
        b"PK\x03\x04 and no more",
        "a.xlsx",
        "The file is not a readable XLSX workbook. "
        "Open it in a spreadsheet program and save it again, or save it as CSV.",
    ),
    (
        "id,x\n1,2\n",
        "a.xlsx",
        "The file is not a readable XLSX workbook. "
        "Open it in a spreadsheet program and save it again, or save it as CSV.",
    ),
    (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "a.xlsx",
        "The workbook is protected by a password or in the old XLS format. "
        "Save it without a password as XLSX or CSV.",
    ),
    (
        workbook([["id", "x"], ["1", "2", "3"]]),
        "a.xlsx",
        "Row 2 has 3 cells and the header has 2. "
        "Name the column in the header, or clear the cells beside it.",
    ),
    (
        workbook([["id"], ["a"]], extra='<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'),
        "a.xlsx",
        "The workbook is too large: over 100 MB, or its cells spread over more than 20,000,000 "
        "places, or its texts fill the memory. Save the sheet as CSV, which is read without a "
        "limit on its size.",
    ),
    (
        ",".join(f"c{n}" for n in range(2_001)) + "\n",
        "a.csv",
        "The file has over 2,000 columns. "
        "Leave out those that no prompt needs, or put their values into one.",
    ),
    (
        "\n".join(f'{{"c{n}": 1}}' for n in range(2_001)),
        "a.jsonl",
        "The file has over 2,000 columns. "
        "Leave out those that no prompt needs, or put their values into one.",
    ),
]


CELL = '<c t="inlineStr"><is><t>x</t></is></c>'


@pytest.mark.parametrize(
    "extra",
    [
        '<row r="2"><c r="XFD00001048576"><v>1</v></c></row>',
        f'<row r="4000000000">{CELL * 3}</row>',
        f'<row r="1048576">{CELL * 16_000}</row>',
        f'<row r="2"><c r="A2" t="inlineStr"><is><t>{"x" * 9_000_000}</t></is></c></row>',
    ],
    ids=["zeros", "far row", "wide row", "long text"],
)
def test_a_workbook_that_would_fill_the_memory_ends_no_process_but_its_own(extra):
    said = refusal(workbook([["id"], ["a"]], extra=extra), "a.xlsx")
    assert said.message.startswith("The workbook is too large")


def test_of_a_workbook_the_first_rows_can_be_read_alone():
    content = workbook([["id"]] + [[f"k{n}"] for n in range(30_000)])
    rows = ingest.read_rows(io.BytesIO(content), "a.xlsx", key=None, needs=frozenset())
    assert next(rows).key == "k0"
    rows.close()


def test_a_field_that_is_there_twice_among_very_many_is_found_at_once():
    fields = ",".join(f'"k{n}": 1' for n in range(200_000))
    began = time.monotonic()
    said = refusal(f'{{{fields}, "k199999": 1}}', "a.jsonl")
    assert "the field 'k199999' is there twice" in said.message
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(("content", "name", "says"), REFUSALS, ids=range(len(REFUSALS)))
def test_what_cannot_be_used_is_refused_with_what_where_and_what_to_do(content, name, says):
    assert str(refusal(content, name)) == f"{says} Nothing was created."


@pytest.mark.parametrize(
    ("content", "name", "key", "needs", "says", "line"),
    [
        (
            "title,body\n1,2\n",
            "a.csv",
            None,
            {"titel"},
            'There is no column "titel", which the template names. What is there: "title", "body". '
            'Did you mean "title"?',
            1,
        ),
        (
            "title,txt,n\n1,2,3\n",
            "a.csv",
            None,
            {"body", "text", "titel", "title"},
            'There are no columns "body", "text" and "titel", which the template names. What is '
            'there: "title", "txt", "n". Did you mean "txt" and "title"?',
            1,
        ),
        (
            "\n\ntitle;body\n1;2\n",
            "a.csv",
            None,
            {"title"},
            'There is no column "title", which the template names. What is there: "title;body". '
            "The header is divided by semicolons: save the file with commas.",
            3,
        ),
        (
            "title;body\n1;2, and more\n",
            "a.csv",
            None,
            NONE,
            "Line 2 has 2 cells and the header has 1. "
            "The header is divided by semicolons: save the file with commas.",
            2,
        ),
        (
            '[\n{"title": "a"},\n{"title": "b"}]\n',
            "a.json",
            None,
            NONE,
            "The file is one JSON list. Write the object of each item on a line of its own, "
            "without the brackets and commas around them (JSONL).",
            1,
        ),
        (
            "title,body\n1,2\n",
            "a.csv",
            "ticket",
            NONE,
            'There is no column "ticket", which was to hold the keys. '
            'What is there: "title", "body".',
            1,
        ),
        (
            "id,title,body\n1,x\n",
            "a.csv",
            None,
            {"body"},
            'Line 2 ends before the column "body": it has 2 of 3 cells. '
            "Add the cells that are missing; they may be empty.",
            2,
        ),
        (
            '{"id": 1, "a": null}\n{"id": 2, "b": 1}',
            "a.jsonl",
            None,
            {"a"},
            'Line 2 has no field "a", which the template names. What is there: "id", "b".',
            2,
        ),
        (
            '{"id": 1}\n{"ID": 2}',
            "a.jsonl",
            None,
            NONE,
            'Line 2 has no field "id", which holds the keys. What is there: "ID".',
            2,
        ),
    ],
)
def test_a_missing_column_is_named_beside_those_that_are_there(
    content, name, key, needs, says, line
):
    error = refusal(content, name, key, needs)
    assert str(error) == f"{says} Nothing was created."
    assert error.line == line


@pytest.mark.parametrize(
    ("head", "body", "name", "says"),
    [
        (
            b"id,text\n1,",
            b"x",
            "a.csv",
            'Line 2 has a cell of over 1,000,000 bytes (column "text")',
        ),
        (b'id,text\n1,"', b"x", "a.csv", "Line 2 has a cell of over 1,000,000 bytes"),
        (b'id,text\n1,"', b"x" * 99 + b"\n", "a.csv", "The quote that opens on line 2"),
        (b"id,text\n1,", b",", "a.csv", "Line 2 is over 8,000,000 bytes long."),
        (b'{"a": "', b"x", "a.jsonl", "Line 1 is over 8,000,000 bytes long."),
    ],
)
def test_an_endless_cell_is_refused_before_it_fills_memory(head, body, name, says):
    stream = Forever(head, lambda _: body * 1000, 20_000_000 // len(body) // 1000)
    with pytest.raises(IngestError) as refused:
        list(ingest.read_rows(stream, name, key=None, needs=NONE))
    assert str(refused.value).startswith(says)
    assert stream.left > 0


def test_more_rows_than_the_most_are_refused(monkeypatch):
    monkeypatch.setattr(reader, "MAX_ROWS", 3)
    assert len(read("x\n" + "a\n" * 3)) == 3
    assert "over 3 rows" in str(refusal("x\n" + "a\n" * 4))


def test_rows_before_a_broken_one_are_given_first():
    rows = ingest.read_rows(io.BytesIO(b"id\n1\n2\n1\n"), "x.csv", key=None, needs=NONE)
    assert [row.key for row in islice(rows, 2)] == ["1", "2"]
    with pytest.raises(IngestError):
        next(rows)


@pytest.mark.parametrize(
    ("name", "head", "line"),
    [
        ("a.csv", b"title,text\n", lambda n: b'%d,"%s"\n' % (n, b"lorem, " * 30)),
        ("a.jsonl", b"", lambda n: b'{"title": %d, "text": "%s"}\n' % (n, b"lorem " * 30)),
    ],
)
def test_memory_stays_flat_however_long_the_file(name, head, line):
    def peak(count):
        stream = Forever(head, line, count)
        tracemalloc.start()
        try:
            rows = ingest.read_rows(stream, name, key=None, needs=frozenset({"text"}))
            assert sum(1 for _ in rows) == count
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(20_000) < peak(5_000) + 200_000


@given(
    st.lists(
        st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), min_size=3),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from([",", "\t"]),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_what_a_csv_writer_writes_comes_back(rows, delimiter, end):
    rows = [["x", *row[:2]] for row in rows]
    text = as_csv(
        [["c1", "c 2", "ç"], *rows], delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL
    )
    back = read(text, "a.csv" if delimiter == "," else "a.tsv")
    assert [list(row.data.values()) for row in back] == rows


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_characters="\0")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)  # fmt: skip
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1).filter(
    lambda name: name not in {"key", "id"}
)


@given(st.lists(st.dictionaries(NAMES, VALUES, min_size=1), min_size=1, max_size=4), st.booleans())
def test_what_a_json_writer_writes_comes_back(objects, ascii_only):
    try:
        text = "\n".join(json.dumps(value, ensure_ascii=ascii_only) for value in objects)
        text.encode()
    except UnicodeEncodeError:
        return
    if "\\u0000" in text:
        return
    assert [row.data for row in read(text, "a.jsonl")] == objects


@given(
    st.binary(max_size=300) | st.text(alphabet='{}[]",:\n\r\t ;1a\\"', max_size=60).map(str.encode),
    st.sampled_from(["a.csv", "a.tsv", "a.jsonl", "-"]),
    st.sampled_from([None, "a"]),
)
@example(b'\r"', "a.csv", None)
@example(b"{\xff", "-", None)
def test_nothing_but_an_ingest_error_comes_of_any_bytes(content, name, key):
    with suppress(IngestError):
        rows = read(content, name, key)
        assert [row.position for row in rows] == list(range(1, len(rows) + 1))


GOOD_WORKBOOK = workbook([["id", "x"], ["a", 1.0], ["b", 2.0]])


@given(st.integers(0, len(GOOD_WORKBOOK) - 1), st.integers(0, 255), st.integers(0, 40))
def test_nothing_but_an_ingest_error_comes_of_a_damaged_workbook(place, byte, cut):
    damaged = bytearray(GOOD_WORKBOOK)
    damaged[place] = byte
    with suppress(IngestError):
        read(bytes(damaged[: len(damaged) - cut]), "a.xlsx")
