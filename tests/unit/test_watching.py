"""What the live view of the command line can say."""

from batchboard.cli.watching import WAITS
from batchboard.states import Wait


def test_whatever_a_batch_waits_for_has_words():
    assert set(WAITS) == set(Wait)
