"""What the items of a new batch look like before it is made: first rows, and the first prompt."""

from batchboard import template
from batchboard.estimate import TOKENS_PER_BYTE
from batchboard.models import Preparation, UploadState
from batchboard.preparing import Prepared, counted


def rows(preparation: Preparation, prepared: Prepared) -> list[tuple[list[str], int | None]]:
    """The first rows as texts, with the input tokens that each will need, about."""
    upload = preparation.upload
    if upload is None or upload.state != UploadState.READY:
        return []
    seen = counted(preparation, prepared)
    ratio = seen.tokens / seen.bytes if seen.bytes else TOKENS_PER_BYTE
    found = []
    for row in upload.head:
        tokens = None
        if prepared.definition is not None and prepared.fills_prompt:
            size = len(template.render(prepared.definition.prompt, row).encode())
            tokens = round(size * ratio)
        cells = [template.as_text(row.get(name)) for name in upload.columns]
        found.append((cells, tokens))
    return found


def prompt(preparation: Preparation, prepared: Prepared) -> list[tuple[str, bool]]:
    """The first item's prompt, with what came from the item told apart; as it is written where the
    items lack what it names."""
    upload = preparation.upload
    if not prepared.prompt:
        return []
    row = upload.head[0] if upload is not None and upload.head else None
    if row is None or not prepared.fills_prompt:
        return [(prepared.prompt, False)]
    return template.parts(prepared.prompt, row)
