"""The limits page: what is allowed and used, and changing it."""

import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from batchboard.models import (
    Batch,
    Event,
    Limits,
    Measured,
    ModelLimit,
    Sample,
    Spend,
    TaskVersion,
    User,
    Worker,
)
from tests.face.conftest import MakeBatch

pytestmark = pytest.mark.django_db
FORM = {
    "concurrency": "20", "headroom": "80", "budget": "", "budget_period": "month",
    "starter_may_approve": "yes",
}  # fmt: skip


@pytest.fixture
def boss(client: Client, admin: User) -> Client:
    client.force_login(admin)
    return client


def save(client: Client, **values: str) -> Any:
    return client.post(reverse("limits"), FORM | values, follow=True)


def test_a_change_is_saved_and_said(boss: Client, admin: User) -> None:
    text = save(boss, headroom="75 %", concurrency="1,000").content.decode()
    assert "Headroom: 80\u202f% → 75\u202f%" in text
    assert "In force now." in text
    stored = Limits.objects.get()
    assert (stored.cap, stored.headroom, stored.budget) == (1_000, 0.75, None)
    assert Event.objects.get(verb="limits.changed").actor == admin


@pytest.mark.parametrize(
    ("name", "value"),
    [("concurrency", "0"), ("headroom", "2"), ("headroom", "x"), ("budget", "a lot")],
)
def test_what_does_not_fit_is_said_beside_it_and_nothing_is_saved(
    boss: Client, name: str, value: str
) -> None:
    answer = save(boss, **{"concurrency": "7", name: value})
    assert 'role="alert" tabindex="-1" autofocus' in answer.content.decode()
    assert answer.status_code == 422
    text = answer.content.decode()
    assert f"“{value}” is not" in text
    assert f'value="{value}"' in text
    assert "Save anyway" not in text
    assert Limits.objects.get().concurrency is None


def test_a_ceiling_under_what_is_spent_is_asked_for_once_more(boss: Client, clock: Any) -> None:
    Spend.objects.create(month="2026-11", known=Decimal("11.38"))
    answer = save(boss, budget="$10.00")
    assert answer.status_code == 422
    assert "$11.38 spent and reserved" in answer.content.decode()
    assert "Save anyway" in answer.content.decode()
    assert Limits.objects.get().budget is None
    assert save(boss, budget="$10.00", anyway="1").status_code == 200
    assert Limits.objects.get().budget == 10
    assert save(boss, budget="10", headroom="70").status_code == 200, "asked for the new one only"


@pytest.fixture
def underway(version: TaskVersion, make_batch: MakeBatch) -> Batch:
    """4,000 items to go, of about 1,200 tokens in and 300 out and 30 s each, as measured."""
    Measured.objects.create(
        version=version, mode="cached", calls=10, items=10, bytes=100, input_tokens=12_000,
        output_tokens=3_000, latency_ms=300_000,
    )  # fmt: skip
    batch = make_batch("running", succeeded=1)
    Batch.objects.filter(pk=batch.pk).update(total=4_001)
    return batch


@pytest.mark.parametrize(
    ("rate", "value", "why"),
    [
        ("rpm", "3", "The 4,000 items on claude-haiku-4-5-20251001 would need over a day."),
        ("itpm", "1,000", "One item of Ticket triage needs about 1,200 input tokens, and only 800"),
        ("otpm", "350", "One item of Ticket triage needs about 300 output tokens, and only 280"),
        ("otpm", "500", "would need about 2 days."),
    ],
)
@pytest.mark.parametrize("model", ["", "claude-haiku-4-5-20251001"])
def test_a_limit_that_would_starve_what_is_under_way_is_asked_for_once_more(
    boss: Client, underway: Batch, model: str, rate: str, value: str, why: str
) -> None:
    ModelLimit.objects.create(pk="claude-haiku-4-5-20251001")
    name = f"{rate} {model}".strip()
    answer = boss.post(reverse("limits-models"), {name: value})
    text = answer.content.decode()
    assert answer.status_code == 422
    assert why in text
    assert "Save anyway" in text
    assert f'value="{value}"' in text
    assert Limits.objects.get().configured(rate) != int(value.replace(",", ""))
    boss.post(reverse("limits-models"), {name: value, "anyway": "1"})
    kept = ModelLimit.objects.get() if model else Limits.objects.get()
    assert getattr(kept, rate) == int(value.replace(",", ""))
    again = boss.post(reverse("limits-models"), {name: value})
    assert again.status_code == 302, "asked for the new one only"


def test_a_limit_of_a_model_that_nothing_runs_on_is_saved(boss: Client, underway: Batch) -> None:
    ModelLimit.objects.create(pk="claude-sonnet-5-5")
    assert boss.post(reverse("limits-models"), {"rpm claude-sonnet-5-5": "1"}).status_code == 302


@pytest.mark.parametrize(
    ("name", "value", "where"),
    [("concurrency", "1", "under way"), ("headroom", "5", "on claude-haiku-4-5-20251001")],
)
def test_a_cap_or_headroom_that_would_starve_is_asked_for_once_more(
    boss: Client, underway: Batch, name: str, value: str, where: str
) -> None:
    Limits.objects.current().change(rpm=40)
    text = save(boss, **{name: value}).content.decode()
    assert f"The 4,000 items {where} would need over a day." in text
    assert "Save anyway" in text
    assert getattr(Limits.objects.get(), name) is None
    save(boss, **{name: value, "anyway": "1"})
    assert getattr(Limits.objects.get(), name) == {"concurrency": 1, "headroom": 0.05}[name]


def test_the_only_reviewer_is_told_what_the_rule_would_mean(boss: Client) -> None:
    answer = save(boss, starter_may_approve="no")
    assert "Only one person may approve" in answer.content.decode()
    save(boss, starter_may_approve="no", anyway="1")
    assert Limits.objects.get().starter_may_approve is False


def test_a_model_gets_limits_of_its_own(boss: Client) -> None:
    ModelLimit.objects.create(pk="claude-haiku-5-5")
    ask = {"rpm": "500", "itpm": "2,000,000", "otpm": "400000", "rpm claude-haiku-5-5": "90"}
    boss.post(reverse("limits-models"), ask)
    assert Limits.objects.get().configured("rpm") == 500
    own = ModelLimit.objects.get()
    assert (own.rpm, own.itpm) == (90, None)
    boss.post(reverse("limits-models"), ask | {"rpm claude-haiku-5-5": ""})
    own.refresh_from_db()
    assert own.rpm is None


def test_of_several_limits_all_or_none_are_saved(boss: Client) -> None:
    ModelLimit.objects.create(pk="claude-haiku-5-5")
    answer = boss.post(reverse("limits-models"), {"rpm": "500", "otpm claude-haiku-5-5": "<none>"})
    assert answer.status_code == 422
    assert "“&lt;none&gt;” is not a whole number" in answer.content.decode()
    assert Limits.objects.get().rpm is None


def test_everything_is_paused_and_resumed(page: Client, person: User) -> None:
    page.post(reverse("limits-pause"))
    assert Limits.objects.get().paused
    text = page.get(reverse("limits")).content.decode()
    assert "Everything is paused by Mara Voss" in text
    page.post(reverse("limits-resumption"))
    assert not Limits.objects.get().paused


def test_who_may_not_change_sees_why(page: Client) -> None:
    text = page.get(reverse("limits")).content.decode()
    assert "Only an administrator may change the limits." in text
    assert 'aria-disabled="true"' in text


def test_why_the_cap_is_what_it_is_is_told(page: Client) -> None:
    Limits.objects.current().change(concurrency=20)
    Event.objects.record("limits.cut", before=20, after=16, model="claude-haiku-5-5", seconds=8)
    Event.objects.record("limits.grew", before=16, after=17)
    text = page.get(reverse("limits")).content.decode()
    assert "<b>20 → 16</b> 429 on haiku-5.5" in text
    assert "<b>16 → 17</b> clean rounds" in text


@pytest.mark.parametrize(("shown", "seconds"), [("hour", 10), ("day", 120), ("week", 900)])
def test_use_is_plotted_from_samples_of_the_length_that_fits(
    page: Client, clock: Any, shown: str, seconds: int
) -> None:
    for n in range(1, 5):
        at = clock.now - timedelta(seconds=n * seconds)
        Sample.objects.create(seconds=seconds, at=at, in_flight=7, cap=20)
        Sample.objects.create(seconds=seconds, at=at, model="m", requests=3, limited=1)
    text = page.get(reverse("limits"), {"range": shown}).content.decode()
    assert "7 at most, 7 now, with a cap of 20 in force." in text
    assert 'class="plot-bar is-hold"' in text


def test_the_page_asks_the_same_however_much_there_is(
    page: Client, make_batch: MakeBatch, clock: Any
) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            page.get(reverse("limits"))
        return len(queries)

    ModelLimit.objects.create(pk="m0", paused_until=clock.now + timedelta(seconds=9))
    make_batch("running", running=1)
    asked()  # makes the one row of limits
    before = asked()
    for n in range(1, 6):
        ModelLimit.objects.create(pk=f"m{n}", paused_until=clock.now + timedelta(seconds=9))
        make_batch("running", running=2)
        Event.objects.record("limits.grew", before=n, after=n + 1)
    for n in range(200):
        Sample.objects.create(
            seconds=10, at=clock.now - timedelta(seconds=n * 10), in_flight=n, cap=20
        )
    assert asked() == before
    assert before <= 26


def test_the_history_of_a_young_installation_begins_with_its_first_minutes(
    page: Client, clock: Any
) -> None:
    def first_time() -> str:
        text = page.get(reverse("limits")).content.decode()
        return str(re.findall(r'class="plot-time"[^>]*>([^<]+)<', text)[0])

    Sample.objects.create(seconds=10, at=clock.now - timedelta(minutes=2), in_flight=7, cap=20)
    young = first_time()
    Sample.objects.create(seconds=10, at=clock.now - timedelta(minutes=55), in_flight=7, cap=20)
    old = first_time()
    assert (clock.now - timedelta(minutes=11)).strftime("%H:%M") < young
    assert old < (clock.now - timedelta(minutes=40)).strftime("%H:%M")


def test_a_worker_is_shown_with_its_heartbeat_and_what_it_holds_longest(
    page: Client, make_batch: MakeBatch, worker: Worker
) -> None:
    batch = make_batch("running", running=2, keys=["tallow/co", "quillstack"], name="Scan of June")
    Worker.objects.create(
        node="calls2@here", host="here", pid=2, consumed_at=timezone.now(),
        lease_until=timezone.now() + timedelta(seconds=15),
    )  # fmt: skip
    text = page.get("/limits/").content.decode()
    assert '<th scope="col" class="number">Heartbeat</th>' in text
    idle, held = re.findall(r'<th scope="row" class="mono">calls.*?</tr>', text, re.S)
    assert "2 calls" in held
    assert f'href="/batches/{batch.public_id}/items/tallow/co"' in held
    assert "Scan of June" in held
    assert "0 calls" in idle
    assert "<td>–</td>" in idle
