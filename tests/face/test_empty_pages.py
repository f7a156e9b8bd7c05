"""A page with nothing on it yet says what will be there, with an example and what to do."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from batchboard.models import Sample, TaskVersion, User
from batchboard.models.preparation import new_preparation_id
from tests.face.conftest import MakeBatch

pytestmark = pytest.mark.django_db


def test_a_new_batch_without_any_task_type(page: Client) -> None:
    text = page.get(f"/new/{new_preparation_id()}/").content.decode()
    assert "There is no task type yet." in text
    assert "Sort this ticket by topic: {{ subject }}" in text
    assert 'data-fill="task_type" data-value="write"' in text


def test_a_new_batch_where_there_is_one(page: Client, version: TaskVersion) -> None:
    text = page.get(f"/new/{new_preparation_id()}/").content.decode()
    assert "There is no task type yet." not in text


def test_people_where_there_is_only_one(client: Client, admin: User) -> None:
    client.force_login(admin)
    assert "Only you so far" in client.get("/people/").content.decode()
    User.objects.create_user("dana")
    assert "Only you so far" not in client.get("/people/").content.decode()


def test_task_types_where_there_is_none(page: Client) -> None:
    text = page.get("/task-types/").content.decode()
    assert "No task type yet" in text
    assert "Sort this ticket: {{ text }}" in text
    assert "Write the first one" in text


def test_limits_before_anything_was_measured(page: Client) -> None:
    text = page.get("/limits/").content.decode()
    assert "Nothing was measured yet." in text
    assert "Make a batch" in text
    assert "plot-name" not in text


def test_limits_before_any_call_was_made(page: Client, clock: Any) -> None:
    Sample.objects.create(seconds=10, at=clock.now - timedelta(minutes=2), in_flight=0, cap=20)
    text = page.get("/limits/").content.decode()
    assert "No call was made in this time." in text
    assert ">cap in force</text>" in text
    assert ">requests</text>" not in text


def test_a_review_that_has_not_begun(page: Client, make_batch: MakeBatch) -> None:
    batch = make_batch("running", waiting=3)
    text = page.get(f"/batches/{batch.public_id}/review/").content.decode()
    assert "Nothing to review yet" in text
    assert "For example: 7 of 160 results are drawn" in text
    assert "Open the batch" in text


def test_a_search_that_finds_nothing(page: Client) -> None:
    text = page.get("/search/?q=zzz").content.decode()
    assert "Nothing found" in text
    assert "“T-10” finds “T-104”" in text
    assert "Look on the board" in text
