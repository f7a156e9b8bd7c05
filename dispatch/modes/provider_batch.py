"""provider_batch: a request per item, thousands of them in one message batch of the provider.

Half the price, and the provider's own time: usually under an hour, a day at the most. Requests of a
batch are worked on in any order and together, so nothing waits for a first answer to write the
cache: the mark is kept for an hour, and what is read of it is luck.
"""

from dispatch.modes.cached import Cached

LIFETIME = "1h"


class ProviderBatch(Cached):
    submits = True
