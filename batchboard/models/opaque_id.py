"""Ids that stand in addresses."""

import secrets

ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"
LENGTH = 10


def opaque_id(kind: str) -> str:
    """A new one: a letter for the kind and ten that say nothing, and are easy to read aloud: no 0,
    1, i, l or o."""
    return f"{kind}_" + "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))
