"""What people say to each other about a batch, beside what the engine records."""

from typing import Any

from django.conf import settings
from django.db import models, transaction

from batchboard import signals
from batchboard.roles import Right, require
from batchboard.states import MoveRefused

LONGEST_COMMENT = 5_000


class CommentManager(models.Manager["Comment"]):
    def write(self, batch: Any, text: str, by: Any) -> "Comment":
        """Add a comment. Raises MoveRefused for an empty or an overlong one."""
        require(by, Right.COMMENT, f"comment on {batch.name}")
        text = text.replace("\x00", "").replace("\r\n", "\n").strip()
        if not text:
            raise MoveRefused("The comment is empty: write something first.")
        if len(text) > LONGEST_COMMENT:
            raise MoveRefused(
                f"The comment has {len(text):,} characters; {LONGEST_COMMENT:,} fit."
                " Shorten it, or link to a longer text."
            )
        with transaction.atomic():
            comment = self.create(batch=batch, author=by, text=text)
            public_id = batch.public_id
            transaction.on_commit(lambda: signals.announce_batch(public_id))
        return comment


class Comment(models.Model):
    """Plain text, as it was written; it is never changed."""

    batch = models.ForeignKey("Batch", models.CASCADE, related_name="comments", db_index=False)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT)
    text = models.TextField()
    at = models.DateTimeField(auto_now_add=True)

    objects = CommentManager()

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["batch", "-id"], name="comment_by_batch")]

    def __str__(self) -> str:
        return f"comment at {self.at:%Y-%m-%d %H:%M:%S}"
