"""The work that the pictures show: competitors, merged pull requests and support tickets."""

import csv
from collections.abc import Iterable, Iterator
from itertools import cycle, islice, product
from pathlib import Path

from tests.acceptance.installation import ROOT

EXAMPLES = ROOT / "batchboard" / "examples"
TASK_TYPES = Path(__file__).parent / "task_types"
SCAN, NOTES = TASK_TYPES / "competitor-scan.toml", TASK_TYPES / "pr-notes.toml"
TRIAGE = EXAMPLES / "ticket-triage.toml"

COMPETITORS = """Quillstack|Fernway|Halden Metrics|Northlight CRM|Tallow & Co|Brightledger
Osprey Cloud|Juniper Desk|Mossbank|Ardent Queue|Birchline|Calm Inbox|Deskmoor|Eastgate Support
Fathom Reply|Greywater Desk|Harbour Line|Inkwell CRM|Jetty|Kestrel Help|Larkspur Desk|Meridian Inbox
Nightjar|Orchard Reply|Pinefold|Quarry Help|Redshank|Saltmarsh CRM|Teasel|Upland Desk|Vantage Reply
Wharfside|Yarrow Inbox|Zephyr Help|Alder Support|Bracken Desk|Cobalt Queue|Dunlin|Elmtree CRM
Foxglove Reply|Gannet"""
MARKETS = (
    "small shops",
    "software teams",
    "public offices",
    "hotels",
    "workshops with 5 to 50 seats",
)
PAGES = (
    "Growth is now ${new} per seat when paid monthly, ${yearly} when paid yearly. Starter stays at"
    " ${low}. New this week: shared inbox rules. Trials run for 14 days, no card needed.",
    "Three plans: Solo ${low}, Team ${new}, Company on request. All plans include a help centre,"
    " reports and 30 days of history. Pay yearly and two months are free.",
    "One price: ${new} per seat and month, everything included. Up to 3 seats are free for ever."
    " Moving from another help desk? We import your tickets at no charge.",
    "From ${low} per seat. Business at ${new} adds single sign-on, an audit log and a sandbox."
    " Prices rise on the first of next month for new customers.",
)
CHANGES = (
    ("Refuse an expired voucher with its date", "checkout", "The checkout said only “invalid”."),
    ("Keep the draft of a reply when the session ends", "inbox", "Drafts went with the session."),
    ("Send the invoice of a cancelled order once", "billing", "A retry sent it a second time."),
    ("Index orders by the customer's mail address", "search", "Support searched for 9 s."),
    ("Remove the second copy of uploaded photos", "storage", "Nothing read it since spring."),
    ("Let an owner move a ticket to another team", "inbox", "Asked for by four customers."),
    ("Round tax per line, as the invoice shows it", "billing", "Totals differed by a cent."),
    ("Ask for the password before a payout account changes", "account", "After the last audit."),
    ("Load the order list in pages of fifty", "search", "Workshops have thousands of orders."),
    ("Show delivery times in the customer's own zone", "checkout", "Islands saw yesterday."),
)


def competitors(folder: Path, count: int = 40) -> Path:
    """A row for each competitor; after the first forty, for their shops in Europe."""
    names = COMPETITORS.replace("\n", "|").split("|")[:40]
    names += [f"{name} Europe" for name in names]
    rows = (
        {
            "competitor": _slug(name),
            "name": name,
            "site": f"{_slug(name)}.example/pricing",
            "market": MARKETS[n % len(MARKETS)],
            "last_week": f"Starter ${low}, middle plan ${low * 2 + 1}. Free trial of 14 days.",
            "page_text": PAGES[n % len(PAGES)].format(new=low * 2 + 4, yearly=low * 2 - 3, low=low),
        }
        for n, name in enumerate(names[:count])
        for low in [9 + n * 7 % 13]
    )
    return _write(folder / f"competitors-{count}.csv", rows)


def pull_requests(folder: Path, count: int) -> Path:
    changes = product(range(1, 99), CHANGES)
    rows = (
        {
            "pull_request": f"PR-{4200 + n * 3}",
            "title": title if part == 1 else f"{title}, part {part}",
            "area": area,
            "files": 2 + n * 5 % 17,
            "lines": 14 + n * 37 % 611,
            "description": why,
        }
        for n, (part, (title, area, why)) in enumerate(islice(changes, count))
    )
    return _write(folder / f"pull-requests-{count}.csv", rows)


def tickets(folder: Path, count: int) -> Path:
    """The example's tickets, over and over, each time under new numbers."""
    with (EXAMPLES / "tickets.csv").open(newline="") as file:
        written = list(csv.DictReader(file))
    rows = (
        row | {"ticket": f"T-{88_121 + n}"}
        for n, row in enumerate(islice(cycle(written), count))
    )  # fmt: skip
    return _write(folder / f"tickets-{count}.csv", rows)


def _write(path: Path, rows: Iterable[dict[str, object]]) -> Path:
    rows: Iterator[dict[str, object]] = iter(rows)
    first = next(rows)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, first)
        writer.writeheader()
        writer.writerow(first)
        writer.writerows(rows)
    return path


def _slug(name: str) -> str:
    return name.lower().replace("&", "and").replace(" ", "-")
