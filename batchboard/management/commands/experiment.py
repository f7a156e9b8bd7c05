"""`manage.py experiment …`: experiments from the command line."""

from batchboard.cli import experiments
from batchboard.cli.answering import VerbsCommand
from batchboard.cli.options import add_experiment_options


class Command(VerbsCommand):
    help = (
        "Run the same random sample of items in several ways, and say what each costs. The first"
        " arm is the measure that the others are held against."
    )

    def add_verbs(self) -> None:
        for name, action, help_ in (
            ("estimate", experiments.estimate, "what each arm would cost and take"),
            ("run", experiments.run, "create an experiment and start it"),
        ):
            added = self.verb(name, action, help_, takes_id=False)
            add_experiment_options(added)
        added.add_argument("--name", default="")
        added.add_argument(
            "--wait", action="store_true", help="until every arm ended or is blocked"
        )

        self.verb("list", experiments.list_, "all experiments, newest first", takes_id=False)
        self.verb("show", experiments.show, "one experiment: its arms, and the comparison")
        self.verb("cancel", experiments.cancel, "end every arm that has items left to do")
