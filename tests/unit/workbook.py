"""The smallest XLSX workbook that a spreadsheet program would accept."""

import zipfile
from collections.abc import Sequence
from io import BytesIO
from xml.sax.saxutils import escape

_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    '<Override PartName="/xl/workbook.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>'
)
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
# Style 1 shows a number as a date.
_STYLES = (
    f'<styleSheet xmlns="{_MAIN}"><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/>'
    "</cellXfs></styleSheet>"
)


class Day(float):
    """A number that the sheet shows as a date."""


def workbook(*sheets: Sequence[Sequence[object]], extra: str = "") -> bytes:
    """A workbook of these sheets; `extra` is put as XML at the end of each sheet's rows."""
    numbers = range(1, len(sheets) + 1)
    names = "".join(f'<sheet name="S{n}" sheetId="{n}" r:id="r{n}"/>' for n in numbers)
    relations = "".join(
        f'<Relationship Id="r{n}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n in numbers
    )
    relations += f'<Relationship Id="st" Type="{_OFFICE}/styles" Target="styles.xml"/>'
    parts = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}"><Relationship Id="r1" '
        f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}">'
        f"<sheets>{names}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}">{relations}'
        "</Relationships>",
        "xl/styles.xml": _STYLES,
    }
    for n, rows in zip(numbers, sheets, strict=True):
        body = "".join(_row(number, row) for number, row in enumerate(rows, start=1)) + extra
        parts[f"xl/worksheets/sheet{n}.xml"] = (
            f'<worksheet xmlns="{_MAIN}"><sheetData>{body}</sheetData></worksheet>'
        )
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as package:
        for name, text in parts.items():
            package.writestr(name, text)
    return content.getvalue()


def _row(number: int, row: Sequence[object]) -> str:
    cells = (_cell(f"{chr(65 + place)}{number}", value) for place, value in enumerate(row))
    return f'<row r="{number}">{"".join(cells)}</row>'


def _cell(place: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, int | float):
        style = ' s="1"' if isinstance(value, Day) else ""
        return f'<c r="{place}"{style}><v>{float(value)!r}</v></c>'
    return f'<c r="{place}" t="inlineStr"><is><t>{escape(str(value))}</t></is></c>'
