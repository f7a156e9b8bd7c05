"""Uploads: files of items as they were given, kept in the database until a batch holds their rows.

In the database, so that a worker on any machine can read them and a restart loses nothing.
"""

import io
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, BinaryIO

from django.conf import settings
from django.db import models
from django.utils import timezone

from batchboard.models.opaque_id import opaque_id

CHUNK_BYTES = 1 << 20
MAX_UPLOAD_BYTES = 500_000_000
KEPT = timedelta(days=1)


class UploadTooLarge(Exception):
    """More bytes than an upload may have."""


class UploadState(models.TextChoices):
    RECEIVING = "receiving", "its bytes are being stored"
    READING = "reading", "it waits to be read, or is being read"
    READY = "ready", "every row was read"
    FAILED = "failed", "it cannot be used; `error` says why"


def new_upload_id() -> str:
    return opaque_id("u")


class UploadQuerySet(models.QuerySet["Upload"]):
    def receive(self, name: str, chunks: Iterable[bytes], by: Any) -> "Upload":
        """Store a file, in short transactions however large it is. Raises UploadTooLarge."""
        upload = self.create(name=name[:200], owner=by)
        size = number = 0
        for number, chunk in enumerate(_even(chunks)):
            size += len(chunk)
            if size > MAX_UPLOAD_BYTES:
                upload.delete()
                raise UploadTooLarge
            UploadChunk.objects.create(upload=upload, number=number, data=chunk)
        upload.size, upload.state = size, UploadState.READING
        upload.save(update_fields=["size", "state"])
        return upload

    def abandoned(self, now: datetime) -> "UploadQuerySet":
        """Those that nothing uses, a day after they came."""
        return self.filter(created_at__lt=now - KEPT, preparations=None, recurrings=None)


class Upload(models.Model):
    """One file. `profile` is what reading it found out; `head` its first rows."""

    public_id = models.CharField(max_length=20, unique=True, default=new_upload_id, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True)
    name = models.CharField(max_length=200, help_text='"-" for what was pasted.')
    size = models.PositiveBigIntegerField(default=0)
    state = models.CharField(max_length=10, choices=UploadState, default=UploadState.RECEIVING)
    rows = models.PositiveIntegerField(default=0)
    bytes_read = models.PositiveBigIntegerField(default=0)
    columns = models.JSONField(default=list)
    head = models.JSONField(default=list)
    profile = models.JSONField(null=True)
    error = models.JSONField(null=True)
    lease_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = UploadQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["id"], condition=models.Q(state="reading"), name="upload_reading")
        ]

    def __str__(self) -> str:
        return "pasted text" if self.name == "-" else self.name

    @property
    def share_read(self) -> float:
        return self.bytes_read / self.size if self.size else 0.0

    def open(self) -> BinaryIO:
        """Its bytes as a stream that can be read again from any place."""
        return io.BufferedReader(_Chunks(self), CHUNK_BYTES)


class UploadChunk(models.Model):
    """A megabyte of an upload; only the last is shorter."""

    upload = models.ForeignKey(Upload, models.CASCADE, related_name="chunks", db_index=False)
    number = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["upload", "number"], name="one_chunk_per_number")
        ]

    def __str__(self) -> str:
        return f"chunk {self.number} of {self.upload_id}"


class _Chunks(io.RawIOBase):
    """Reads an upload chunk by chunk, with one of them in memory."""

    def __init__(self, upload: Upload) -> None:
        self._chunks = UploadChunk.objects.filter(upload=upload)
        self._place = 0
        self._number = -1
        self._chunk = b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_END:
            raise io.UnsupportedOperation("seek from the end")
        self._place = offset if whence == io.SEEK_SET else self._place + offset
        return self._place

    def tell(self) -> int:
        return self._place

    def readinto(self, buffer: Any) -> int:
        number, offset = divmod(self._place, CHUNK_BYTES)
        if number != self._number:
            found = self._chunks.filter(number=number).values_list("data", flat=True).first()
            self._number, self._chunk = number, b"" if found is None else bytes(found)
        part = self._chunk[offset : offset + len(buffer)]
        buffer[: len(part)] = part
        self._place += len(part)
        return len(part)


def _even(chunks: Iterable[bytes]) -> Iterable[bytes]:
    """The same bytes in chunks of the size that they are stored in."""
    waiting = bytearray()
    for chunk in chunks:
        waiting += chunk
        while len(waiting) >= CHUNK_BYTES:
            yield bytes(waiting[:CHUNK_BYTES])
            del waiting[:CHUNK_BYTES]
    if waiting:
        yield bytes(waiting)
