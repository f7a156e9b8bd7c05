"""The stored records of the prices that were applied, kept by number in each process."""

from functools import partial
from hashlib import sha256

from django.db import transaction

from batchboard.models import Price
from batchboard.models.prices import Applied

_numbers: dict[str, int] = {}


def price_row(model: str, price: Applied) -> int:
    """The id of the stored record of what is applied."""
    digest = sha256(f"{model} {price}".encode()).hexdigest()
    if digest in _numbers:
        return _numbers[digest]
    row, _ = Price.objects.get_or_create(
        digest=digest,
        defaults={"model": model, "rates": price.rates.as_json(), "source": price.source},
    )
    # Not before it is committed: the row of a decision that came to nothing is not there, and its
    # number may be another's one day.
    transaction.on_commit(partial(_numbers.setdefault, digest, row.pk))
    return row.pk


def forget() -> None:
    """Look each up anew when it is asked for next."""
    _numbers.clear()
