"""What `manage.py ledger` prints: sums of what attempts cost, or every attempt as CSV."""

import json
import sys
from pathlib import Path
from typing import Any

from rich.table import Table

from batchboard import ledger
from batchboard.cli.terminal import Terminal, printable
from batchboard.ledger import By, Chosen, Group, Sums, Total
from batchboard.ledger_export import ledger_csv
from batchboard.summary import number


def show(options: dict[str, Any]) -> None:
    chosen = Chosen(since=options["since"], until=options["until"])
    if options["csv"]:
        _write(chosen, options["csv"])
        if options["csv"] != "-" and not options["json"]:
            print(f"Every attempt written to {options['csv']}")
        return
    by = By(options["by"])
    sums = ledger.sums(chosen, by)
    if options["json"]:
        groups = [
            {str(by): one.label} | _total(one.total) | {"share": sums.share(one)}
            for one in sums.groups
        ]
        print(json.dumps({"by": str(by), "total": _total(sums.total), "groups": groups}))
        return
    _print(by, sums)


def _print(by: By, sums: Sums) -> None:
    numbers = ("attempts", "input", "written", "read", "output", "cost", "unknown", "share")
    table = Table(box=None, pad_edge=False)
    table.add_column(str(by), overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right")
    for group in [*sums.groups, Group("", "in all", sums.total)]:
        total, part = group.total, sums.share(group)
        table.add_row(
            printable(group.label),
            f"{total.attempts:,}",
            f"{total.input_tokens:,}",
            f"{total.cache_write_tokens:,}",
            f"{total.cache_read_tokens:,}",
            f"{total.output_tokens:,}",
            "–" if total.known_cost is None else f"${total.cost:.4f}",
            _unknown(total),
            "–" if part is None else f"{part:.0%}",
        )
    Terminal().print(table)


def _unknown(total: Total) -> str:
    said = [f"at most ${total.unknown_cost:.4f}"] if total.unknown_attempts else []
    if total.unpriced_attempts:
        said.append(f"{total.unpriced_attempts:,} unpriced")
    return ", ".join(said) or "0"


def _total(total: Total) -> dict[str, Any]:
    return {
        "attempts": total.attempts,
        "unknown_attempts": total.unknown_attempts,
        "unpriced_attempts": total.unpriced_attempts,
        "tokens": {
            "input": total.input_tokens,
            "output": total.output_tokens,
            "cache_write_5m": total.cache_write_5m_tokens,
            "cache_write_1h": total.cache_write_1h_tokens,
            "cache_read": total.cache_read_tokens,
        },
        "cost_usd": number(total.known_cost),
        "unknown_cost_usd": number(total.unknown_cost),
    }


def _write(chosen: Chosen, path: str) -> None:
    if path == "-":
        sys.stdout.flush()
        sys.stdout.buffer.writelines(ledger_csv(chosen))
        sys.stdout.buffer.flush()
        return
    with Path(path).open("wb") as file:
        file.writelines(ledger_csv(chosen))
