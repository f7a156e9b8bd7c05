"""`manage.py recurring …`: batches that recur, from the command line."""

from batchboard.cli import recurring
from batchboard.cli.answering import VerbsCommand
from batchboard.cli.options import add_run_options


class Command(VerbsCommand):
    help = "Make batches recur: list, add, pause, resume, run, remove."

    def add_verbs(self) -> None:
        self.verb("list", recurring.list_, "all, with their next time", takes_id=False)
        add = self.verb("add", recurring.add, "make a batch recur", takes_id=False)
        source = add.add_mutually_exclusive_group(required=True)
        source.add_argument("--items", metavar="FILE", help="CSV, TSV, JSONL or XLSX; it is kept")
        source.add_argument("--command", metavar="NAME", help="one of BATCHBOARD_COMMANDS")
        source.add_argument("--from-batch", metavar="ID", help="the items of a batch")
        add.add_argument("--task-type", required=True, metavar="NAME|FILE.toml")
        add.add_argument("--fixed", action="store_true",
                         help="always this version; else the newest at each run")  # fmt: skip
        add.add_argument("--cron", required=True, help='as in "0 9 * * 1": Mondays at 09:00')
        add.add_argument("--zone", default="UTC", help="whose clock that is, as Europe/Berlin")
        add.add_argument("--name", default="")
        add.add_argument("--key", default="", help="the column that names an item")
        add_run_options(add, budget_is_asked_for=True)
        self.verb("pause", recurring.pause, "run no more until it is resumed")
        self.verb("resume", recurring.resume, "go on from now")
        self.verb("run", recurring.run, "once now, beside its times")
        self.verb("remove", recurring.remove, "forget it; its batches stay")
