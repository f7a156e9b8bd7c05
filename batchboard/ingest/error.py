"""What a person is told when a file cannot be used."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from batchboard.wording import listed

_SHOWN = 20
_LONGEST = 60
BY_SEMICOLONS = "The header is divided by semicolons: save the file with commas."


class IngestError(ValueError):
    """`message` says what is wrong and where, `hint` what to do; both are whole sentences.

    `line` counts from 1 (in a sheet it is the row); `column` is the name of a column or field.
    """

    def __init__(
        self,
        message: str,
        line: int | None = None,
        column: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.hint = hint

    def __str__(self) -> str:
        return " ".join(filter(None, (self.message, self.hint, "Nothing was created.")))


def shown(name: str) -> str:
    """A name from the file in quotes, on one line and cut to a readable length."""
    whole = "".join(letter if letter.isprintable() else "·" for letter in name[: _LONGEST + 1])
    return f'"{whole}"' if len(whole) <= _LONGEST else f'"{whole[:_LONGEST]}…"'


def missing(clause: str, wanted: Sequence[str], found: Iterable[str], line: int) -> IngestError:
    """The error for columns that are not among those found; the clause says so."""
    names = list(found)
    some = ", ".join(map(shown, names[:_SHOWN]))
    rest = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    near = [close[0] for name in wanted if (close := get_close_matches(name, names, n=1))]
    hint = f"Did you mean {quoted(dict.fromkeys(near))}?" if near else None
    if by_semicolons(names):
        hint = BY_SEMICOLONS
    return IngestError(
        f"{clause}. What is there: {some}{rest}.", line=line, column=wanted[0], hint=hint
    )


def no_columns(wanted: Sequence[str], who: str, found: Iterable[str], line: int) -> IngestError:
    """The error for all columns that `who` names and the file does not have, told at once."""
    there = "There is no column" if len(wanted) == 1 else "There are no columns"
    return missing(f"{there} {quoted(wanted)}, which {who} names", wanted, found, line)


def quoted(names: Iterable[str]) -> str:
    """Names in quotes: the first few, with "and" before the last."""
    all_names = list(names)
    some = [shown(name) for name in all_names[:_SHOWN]]
    if len(all_names) > _SHOWN:
        some.append(f"{len(all_names) - _SHOWN} more")
    return listed(some)


def by_semicolons(names: list[str]) -> bool:
    """Whether a header looks like one that a spreadsheet divided by semicolons."""
    return len(names) == 1 and ";" in names[0]
