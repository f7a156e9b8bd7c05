"""Every way in which an attempt can end has words for people."""

from batchboard.views.failures import NAMES, said
from dispatch.outcome import Outcome


def test_every_outcome_has_words() -> None:
    assert set(NAMES) == set(Outcome)
    assert said(Outcome.MISSING) == "missing in the answer to several"


def test_an_outcome_that_nobody_knows_any_more_is_unknown() -> None:
    assert said("long gone") == "unknown"
