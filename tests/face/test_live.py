"""The stream of changes: who hears what, how often, and what happens while Redis is away."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Set
from contextlib import suppress
from typing import Any

import pytest
import redis
from asgiref.sync import async_to_sync, sync_to_async
from django.test import AsyncClient, Client

from batchboard.models import User
from batchboard.roles import Role, rights_of
from batchboard.views import hub as hub_module
from batchboard.views import live as live_module
from batchboard.views import staying
from batchboard.views.hub import Hub, Listener
from batchboard.views.painting import Painted, View
from batchboard.views.staying import Stay, Stays, look


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "FOLD_SECONDS", 0.02)
    monkeypatch.setattr(hub_module, "PATCH_SECONDS", 0.01)
    monkeypatch.setattr(hub_module, "FIRST_WAIT_SECONDS", 0.01)


def in_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(5):
            await test()

    async_to_sync(limited)()


async def silence() -> AsyncIterator[str | None]:
    await asyncio.Event().wait()
    yield None


async def all_moved(changed: Set[str], views: Set[View]) -> Painted:
    return Painted()


async def all_still(changed: Set[str], views: Set[View]) -> Painted:
    return Painted(moved=False)


ONE, BOARD = View(batch="b_one"), View(board=True)


async def heard(listener: Listener, times: int) -> list[list[str]]:
    """The names of what is heard, `times` times."""
    news = listener.news()
    return [[name for name, _ in await anext(news)] for _ in range(times)]


def test_a_browser_hears_of_all_that_it_watches_when_it_comes(quick: None) -> None:
    async def test() -> None:
        with Hub(silence, all_moved).listening(ONE) as listener:
            assert await heard(listener, 1) == [["batch-b_one", "board"]]

    in_loop(test)


def test_only_the_batch_that_is_looked_at_is_named(quick: None) -> None:
    async def test() -> None:
        hub = Hub(silence, all_moved)
        with hub.listening(ONE) as one, hub.listening(BOARD) as board:
            await heard(one, 1)
            await heard(board, 1)
            hub.tell("b_two")
            assert await heard(one, 1) == [["board"]]
            hub.tell("b_one")
            assert await heard(one, 1) == [["batch-b_one", "board"]]
            assert await heard(board, 1) == [["board"]]

    in_loop(test)


def test_batches_that_are_watched_together_are_named_as_one(quick: None) -> None:
    async def test() -> None:
        hub = Hub(silence, all_still)
        arms = View(watched=frozenset({"b_one", "b_two"}))
        with hub.listening(arms) as listener:
            assert await heard(listener, 1) == [["board", "watched"]]
            hub.tell("b_other")
            hub.tell("b_two")
            assert await heard(listener, 1) == [["watched"]]

    in_loop(test)


def test_what_changed_where_it_stands_is_sent_along_and_nobody_asks(quick: None) -> None:
    async def paint(changed: Set[str], views: Set[View]) -> Painted:
        assert (changed, views) == ({"b_one"}, {BOARD, ONE})
        return Painted({BOARD: {"card-b_one": "<li>1</li>"}}, moved=False)

    async def test() -> None:
        hub = Hub(silence, paint)
        with hub.listening(BOARD) as board, hub.listening(ONE) as one:
            await heard(board, 1)
            await heard(one, 1)
            hub.tell("b_one")
            assert await anext(board.news()) == [("patch", "<li>1</li>")]
            assert await heard(one, 1) == [["batch-b_one"]]

    in_loop(test)


def test_a_slow_browser_is_sent_the_newest_of_each_element_once(quick: None) -> None:
    listener = Listener(BOARD)
    for number in range(1000):
        listener.show({"card-a": f"<li>{number}</li>", "card-b": "<li>b</li>"})

    async def test() -> None:
        (patch,) = [event for event in await anext(listener.news()) if event[0] == "patch"]
        assert patch == ("patch", "<li>999</li><li>b</li>")

    in_loop(test)


def test_patches_do_not_wait_for_names(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "FOLD_SECONDS", 3)

    async def test() -> None:
        listener = Listener(BOARD)
        news = listener.news()
        await anext(news)
        listener.hear("board")
        waiting = asyncio.ensure_future(anext(news))
        await asyncio.sleep(0.01)
        listener.show({"card-a": "<li></li>"})
        async with asyncio.timeout(0.5):
            assert await waiting == [("patch", "<li></li>")]

    in_loop(test)


def test_what_cannot_be_painted_is_asked_for(quick: None) -> None:
    async def paint(changed: Set[str], views: Set[View]) -> Painted:
        raise OSError("the database is away")

    async def test() -> None:
        hub = Hub(silence, paint)
        with hub.listening(BOARD) as board:
            await heard(board, 1)
            hub.tell("b_one")
            assert await heard(board, 1) == [["board"]]

    in_loop(test)


def test_many_changes_fold_into_one_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "FOLD_SECONDS", 0.2)

    async def test() -> None:
        hub = Hub(silence, all_moved)
        with hub.listening(ONE) as listener:
            news = listener.news()
            await anext(news)
            loop = asyncio.get_running_loop()
            began, count = loop.time(), 0
            while loop.time() - began < 0.5:
                hub.tell("b_one")
                waiting = asyncio.ensure_future(anext(news))
                while not waiting.done():
                    hub.tell("b_one")
                    await asyncio.sleep(0.005)
                count += 1
            assert 2 <= count <= 4

    in_loop(test)


def test_silence_ends_with_a_tick(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "TICK_SECONDS", 0.1)

    async def test() -> None:
        with Hub(silence, all_moved).listening(ONE) as listener:
            assert await heard(listener, 3) == [["batch-b_one", "board"]] * 3

    in_loop(test)


def test_changes_of_others_do_not_put_the_tick_off(
    quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "TICK_SECONDS", 0.15)

    async def test() -> None:
        hub = Hub(silence, all_moved)
        with hub.listening(ONE) as listener:
            news, seen = listener.news(), 0
            await anext(news)
            for _ in range(20):
                hub.tell("b_other")
                seen += ("batch-b_one", "") in await anext(news)
            assert seen >= 2

    in_loop(test)


def test_after_redis_was_away_everything_may_have_changed(quick: None) -> None:
    comings: list[str] = []

    async def changes() -> AsyncIterator[str | None]:
        comings.append("asked")
        if len(comings) == 1:
            raise redis.ConnectionError("away")
        yield None
        await asyncio.Event().wait()

    async def test() -> None:
        with Hub(changes, all_moved).listening(ONE) as listener:
            assert await heard(listener, 2) == [["batch-b_one", "board"]] * 2
            assert len(comings) == 2

    in_loop(test)


def test_nobody_is_subscribed_to_once_the_last_has_left(quick: None) -> None:
    ended: list[bool] = []

    async def changes() -> AsyncIterator[str | None]:
        try:
            await asyncio.Event().wait()
            yield None
        finally:
            ended.append(True)

    async def test() -> None:
        hub = Hub(changes, all_moved)
        with hub.listening(BOARD) as one, hub.listening(BOARD):
            await heard(one, 1)
            await asyncio.sleep(0.01)
        assert hub._tasks == []
        await asyncio.sleep(0.01)
        assert ended == [True]

    in_loop(test)


@pytest.mark.django_db
class TestView:
    @pytest.fixture
    def stream(self, person: User, monkeypatch: pytest.MonkeyPatch, quick: None) -> tuple[Hub, Any]:
        hub = Hub(silence, all_moved)
        monkeypatch.setattr(live_module, "hub", hub)
        client = AsyncClient()
        client.force_login(person)
        return hub, client

    def test_a_change_becomes_an_event(self, stream: tuple[Hub, Any]) -> None:
        hub, client = stream

        async def test() -> None:
            answer = await client.get("/live?batch=b_one")
            assert answer["Content-Type"] == "text/event-stream"
            assert answer["Cache-Control"] == "no-cache"
            assert answer["X-Accel-Buffering"] == "no"
            parts = aiter(answer.streaming_content)
            assert await anext(parts) == b"retry: 1000\n\n"
            first = b"id: 0\nevent: batch-b_one\ndata:\n\nid: 0\nevent: board\ndata:\n\n"
            assert await anext(parts) == first
            hub.tell("b_two")
            assert await anext(parts) == b"id: 0\nevent: board\ndata:\n\n"
            leaving = asyncio.ensure_future(anext(parts))
            await asyncio.sleep(0.05)
            leaving.cancel()
            with suppress(asyncio.CancelledError):
                await leaving
            assert not hub._listeners

        in_loop(test)

    def test_one_stream_serves_several_pages_and_says_which_one_is_meant(
        self, stream: tuple[Hub, Any]
    ) -> None:
        hub, client = stream

        async def test() -> None:
            answer = await client.get("/live?view=board&view=batch%3Db_one&view=batch%3Db_two")
            parts = aiter(answer.streaming_content)
            await anext(parts)
            first = sorted([(await anext(parts)).decode() for _ in range(3)])
            assert first == [
                "id: 0\nevent: board\ndata:\n\n",
                "id: 1\nevent: batch-b_one\ndata:\n\nid: 1\nevent: board\ndata:\n\n",
                "id: 2\nevent: batch-b_two\ndata:\n\nid: 2\nevent: board\ndata:\n\n",
            ]
            hub.tell("b_two")
            told = b"".join([await anext(parts) for _ in range(3)]).decode()
            assert "id: 2\nevent: batch-b_two" in told
            assert "batch-b_one" not in told
            leaving = asyncio.ensure_future(anext(parts))
            await asyncio.sleep(0.05)
            leaving.cancel()
            with suppress(asyncio.CancelledError):
                await leaving
            assert not hub._listeners

        in_loop(test)

    def test_what_the_address_says_cannot_write_into_the_stream(
        self, stream: tuple[Hub, Any]
    ) -> None:
        _, client = stream

        async def test() -> None:
            answer = await client.get("/live?batch=x%0Aevent:%20evil")
            parts = aiter(answer.streaming_content)
            await anext(parts)
            assert await anext(parts) == b"id: 0\nevent: board\ndata:\n\n"
            await parts.aclose()

        in_loop(test)

    def test_a_stream_ends_in_time_so_that_the_session_is_asked_for_again(
        self, stream: tuple[Hub, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(live_module, "LONGEST_SECONDS", 0)
        _, client = stream

        async def test() -> None:
            answer = await client.get("/live")
            assert len([part async for part in answer.streaming_content]) == 2

        in_loop(test)

    @pytest.mark.parametrize("what", ["signed out", "switched off", "role", "password"])
    def test_a_stream_ends_soon_after_its_owner_may_no_longer_see_it(
        self, stream: tuple[Hub, Any], person: User, what: str
    ) -> None:
        hub, client = stream

        def change() -> None:
            if what == "signed out":
                client.logout()
            elif what == "switched off":
                person.switch_off()
            elif what == "role":
                person.groups.clear()
            else:
                person.renew_password()

        async def test() -> None:
            answer = await client.get("/live")
            parts = aiter(answer.streaming_content)
            assert await anext(parts) == b"retry: 1000\n\n"
            assert b"event: board" in await anext(parts)
            await sync_to_async(change)()
            await sync_to_async(look)(list(staying.stays._open))
            hub.tell("b_one")
            assert [part async for part in parts] == []
            assert not hub._listeners

        in_loop(test)

    def test_all_streams_are_looked_at_in_a_few_queries(
        self, person: User, django_assert_num_queries: Any
    ) -> None:
        signed_in = []
        for n in range(5):
            user, _ = User.objects.add_person(f"person{n}", [Role.VIEWER])
            client = Client()
            client.force_login(user)
            signed_in.append(Stay(str(client.session.session_key), user.pk, rights_of(user)))
        gone = Stay("no such session", person.pk, rights_of(person))
        with django_assert_num_queries(3):
            look([*signed_in, gone])
        assert [stay.over for stay in (*signed_in, gone)] == [False] * 5 + [True]


def test_names_that_left_late_keep_those_that_follow_at_a_distance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hub_module, "FOLD_SECONDS", 0.2)

    async def test() -> None:
        time = asyncio.get_running_loop().time
        with Hub(silence, all_moved).listening(BOARD) as listener:
            news = listener.news()
            events = await anext(news)
            await asyncio.sleep(0.15)  # a network that is slow to take them
            listener.sent(events)
            left = time()
            listener.hear("board")
            assert [name for name, _ in await anext(news)] == ["board"]
            assert time() - left >= 0.2

    in_loop(test)


def test_open_streams_are_looked_at_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staying, "CHECKED_SECONDS", 0.01)

    async def test() -> None:
        looked, loop = asyncio.Event(), asyncio.get_running_loop()
        seen: list[list[Stay]] = []

        def note(streams: list[Stay]) -> None:
            seen.append(streams)
            if len(seen) == 2:
                loop.call_soon_threadsafe(looked.set)

        monkeypatch.setattr(staying, "look", note)
        stay, stays = Stay("session", 1, frozenset()), Stays()
        with stays.begun(stay):
            await looked.wait()
        assert seen[:2] == [[stay], [stay]]
        assert stays._task is None

    in_loop(test)
