"""Files are read and stored in the background, and nothing is lost when that is interrupted."""

import csv
import io
import threading
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from batchboard import filing, intake, leasing, rows
from batchboard.models import Batch, Item, Preparation, Upload, UploadChunk
from batchboard.models.upload import CHUNK_BYTES
from dispatch import forecast
from tests.factories import person

pytestmark = pytest.mark.django_db
WRITTEN = {
    "task_type": "write",
    "d-name": "Triage",
    "d-model": "claude-haiku-5-5",
    "d-prompt": "Ticket {{ ticket }}: {{ text }}",
    "d-max_tokens": "100",
}


@pytest.fixture(autouse=True)
def counts(monkeypatch):
    """The provider is not asked."""
    monkeypatch.setattr(forecast, "count", lambda *_: forecast.Counted(40, 100, 30))


def table(rows=3, header="ticket,text"):
    return (header + "\n" + "".join(f"T-{n},Where is it? {n}\n" for n in range(rows))).encode()


def uploaded(content=None, name="tickets.csv", by=None):
    return Upload.objects.receive(name, [table() if content is None else content], by)


def storing(upload, **fields):
    return Preparation.objects.create(
        owner=person(), upload=upload, state="storing", fields=WRITTEN | {"key": "ticket"} | fields
    )


def test_an_upload_is_kept_in_even_chunks_and_read_back_from_any_place():
    content = bytes(range(256)) * 9000
    upload = Upload.objects.receive(
        "x", [content[:7], content[7:1_500_000], content[1_500_000:]], None
    )
    sizes = [len(chunk.data) for chunk in upload.chunks.order_by("number")]
    assert sizes[:-1] == [CHUNK_BYTES] * (len(sizes) - 1)
    with upload.open() as stream:
        assert stream.read() == content
        stream.seek(CHUNK_BYTES - 3)
        assert stream.read(10) == content[CHUNK_BYTES - 3 : CHUNK_BYTES + 7]


def test_reading_finds_rows_columns_and_the_first_rows():
    upload = uploaded(table(2_000))
    filing.work_through()
    upload.refresh_from_db()
    assert (upload.state, upload.rows, upload.columns) == ("ready", 2_000, ["ticket", "text"])
    assert upload.head[0] == {"ticket": "T-0", "text": "Where is it? 0"}
    assert len(upload.head) == 5


def test_a_file_that_cannot_be_used_says_where_and_why():
    upload = uploaded(b'ticket,text\nT-1,"open\n')
    filing.work_through()
    upload.refresh_from_db()
    assert upload.state == "failed"
    assert "Line 2" in upload.error["message"] or "line 2" in upload.error["message"]


def test_a_form_becomes_a_draft_with_its_rows():
    preparation = storing(uploaded())
    filing.work_through()
    preparation.refresh_from_db()
    assert preparation.state == "done"
    assert list(preparation.batch.items.values_list("key", flat=True)) == ["T-0", "T-1", "T-2"]
    assert preparation.batch.state == "draft"
    assert preparation.batch.estimate_expected > 0


def test_it_starts_where_that_was_asked_for():
    preparation = storing(uploaded())
    Preparation.objects.update(starts=True)
    filing.work_through()
    preparation.refresh_from_db()
    assert preparation.batch.state == "queued"
    assert preparation.batch.started_by == preparation.owner


def test_only_the_first_rows_are_taken():
    preparation = storing(uploaded(table(50)), only_first="20")
    filing.work_through()
    preparation.refresh_from_db()
    assert preparation.batch.total == 20


def test_a_row_that_cannot_be_stored_gives_the_form_back_with_the_reason(monkeypatch):
    def refuse(*_, **__):
        raise intake_error

    from batchboard.ingest import IngestError

    intake_error = IngestError("Line 3 is broken.", line=3, hint="Mend it.")
    monkeypatch.setattr(intake, "create", refuse)
    preparation = storing(uploaded())
    filing.work_through()
    preparation.refresh_from_db()
    assert preparation.state == "editing"
    assert preparation.error["message"] == "Line 3 is broken."
    assert not Batch.objects.exists()


def test_what_a_dead_process_held_is_taken_up_once_its_lease_is_over(clock):
    upload, now = uploaded(), rows.now()
    Upload.objects.update(lease_until=now + timedelta(seconds=5))
    assert filing.work_through() == 0
    clock.advance(6)
    assert filing.work_through() == 1
    upload.refresh_from_db()
    assert upload.state == "ready"


def test_a_lease_is_kept_through_a_step_that_tells_nothing(monkeypatch):
    renewed = threading.Event()
    monkeypatch.setattr(leasing, "KEEP_SECONDS", 0.01)
    monkeypatch.setattr(leasing, "_renew", lambda _: renewed.set())
    uploaded()
    upload = leasing.claim(Upload.objects.all())
    with leasing.keeping(upload):
        assert renewed.wait(10)


def test_who_renewed_the_lease_by_the_clock_may_still_tell_and_settle(clock):
    uploaded()
    upload = leasing.claim(Upload.objects.all())
    tell = leasing.teller(upload, [])
    for _ in range(3):
        clock.advance(5)
        assert leasing._renew(upload)
    clock.advance(1)
    tell(rows=1)
    clock.advance(15)
    assert leasing.claim(Upload.objects.all()) is None, "the lease was renewed"
    leasing.settle(upload, state="ready")
    assert Upload.objects.get().state == "ready"


def test_a_process_that_lost_its_lease_leaves_no_half_batch(monkeypatch):
    preparation = storing(uploaded())
    upload = preparation.upload
    filing._read_one()
    create = intake.create

    def overtaken(*args, **kwargs):
        Preparation.objects.filter(pk=preparation.pk).update(
            lease_until=timezone.now() + timedelta(hours=1)
        )
        return create(*args, **kwargs)

    monkeypatch.setattr(intake, "create", overtaken)
    filing.work_through()
    preparation.refresh_from_db()
    assert preparation.state == "storing"
    assert not Batch.objects.exists()
    assert not Item.objects.exists()
    assert upload.chunks.exists()


def test_the_provider_counts_in_the_background():
    preparation = Preparation.objects.create(
        owner=person(), upload=uploaded(), fields=WRITTEN, count_wanted="abc"
    )
    filing.work_through()
    preparation.refresh_from_db()
    assert preparation.counted == {"digest": "abc", "shared_tokens": 40, "bytes": 100, "tokens": 30}
    assert preparation.count_wanted == ""


def test_files_that_nothing_uses_go_after_a_day():
    used, unused, fresh = uploaded(), uploaded(), uploaded()
    Preparation.objects.create(owner=person(), upload=used)
    Upload.objects.exclude(pk=fresh.pk).update(created_at=timezone.now() - timedelta(days=2))
    filing.work_through()
    assert set(Upload.objects.values_list("pk", flat=True)) == {used.pk, fresh.pk}
    assert not UploadChunk.objects.filter(upload_id=unused.pk).exists()


def test_a_workbook_is_read_as_well():
    xlsxwriter = pytest.importorskip("xlsxwriter")
    content = io.BytesIO()
    with xlsxwriter.Workbook(content, {"in_memory": True}) as book:
        sheet = book.add_worksheet()
        for number, row in enumerate(csv.reader(io.StringIO(table().decode()))):
            sheet.write_row(number, 0, row)
    upload = uploaded(content.getvalue(), "tickets.xlsx")
    filing.work_through()
    upload.refresh_from_db()
    assert (upload.state, upload.rows) == ("ready", 3)


def test_a_file_that_breaks_its_reader_fails_and_holds_up_nothing(monkeypatch):
    read = filing.read_rows

    def breaks(stream, name, **choices):
        if name == "evil.csv":
            raise RuntimeError("nobody thought of this")
        return read(stream, name, **choices)

    monkeypatch.setattr(filing, "read_rows", breaks)
    evil, good = uploaded(name="evil.csv"), uploaded()
    assert filing.work_through() == 2
    evil.refresh_from_db()
    good.refresh_from_db()
    assert (evil.state, good.state) == ("failed", "ready")
    assert evil.error["message"] == "Something unexpected happened."
    assert filing.work_through() == 0


def test_a_form_that_breaks_its_storing_can_be_mended(monkeypatch):
    preparation = storing(uploaded())
    filing._read_one()

    def breaks(*_, **__):
        raise RuntimeError("nobody thought of this")

    monkeypatch.setattr(intake, "create", breaks)
    filing.work_through()
    preparation.refresh_from_db()
    assert preparation.state == "editing"
    assert preparation.error["message"] == "Something unexpected happened."


def test_a_database_that_is_away_fails_no_file_and_delays_it_no_longer_than_it_is(monkeypatch):
    def away(*_, **__):
        raise OperationalError("away")

    upload = uploaded()
    with monkeypatch.context() as while_away:
        while_away.setattr(filing, "read_rows", away)
        with pytest.raises(OperationalError):
            filing.work_through()
    upload.refresh_from_db()
    assert upload.state == "reading"
    assert filing.work_through() == 1
    upload.refresh_from_db()
    assert upload.state == "ready"
