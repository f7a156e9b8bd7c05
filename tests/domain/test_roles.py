"""Who may do what: the roles, and that no verb can be used without the right to it."""

import inspect

import pytest
from django.contrib.auth.models import Group

from batchboard.export import FORMATS, export
from batchboard.models import Batch, Comment, Limits, RunOptions, User
from batchboard.models.approving import Approving
from batchboard.models.lifecycle import Lifecycle
from batchboard.models.reviewing import Reviewing
from batchboard.roles import NotAllowed, Right, Role, may, require, rights_of
from tests.factories import draft, in_review, judge_all, person, queued, task_version

pytestmark = pytest.mark.django_db

SHARED = {Right.COMMENT, Right.EXPORT}


def test_the_four_roles_are_there_from_the_first_migration_on():
    assert set(Group.objects.values_list("name", flat=True)) == {role.value for role in Role}


@pytest.mark.parametrize(
    ("roles", "rights"),
    [
        ([], set()),
        ([Role.VIEWER], set()),
        ([Role.OPERATOR], {Right.OPERATE, *SHARED}),
        ([Role.REVIEWER], {Right.REVIEW, *SHARED}),
        ([Role.OPERATOR, Role.REVIEWER], {Right.OPERATE, Right.REVIEW, *SHARED}),
        ([Role.ADMIN], set(Right)),
    ],
)
def test_roles_give_their_rights_together(roles, rights):
    assert rights_of(person(roles=roles)) == rights


def test_whoever_is_switched_off_may_nothing():
    user = person(roles=[Role.ADMIN])
    user.is_active = False
    assert rights_of(user) == set()


def test_the_machine_s_own_operator_needs_no_right():
    require(None, Right.ADMINISTER, "do anything")


def test_a_refusal_says_who_may():
    with pytest.raises(NotAllowed, match=r"^Only a reviewer or an administrator may judge\.$"):
        require(person(roles=[]), Right.REVIEW, "judge")


VERBS = [
    (owner, name)
    for owner in (Lifecycle, Reviewing, Approving, Limits, User)
    for name, verb in vars(owner).items()
    if inspect.isfunction(verb)
    and not name.startswith("_")
    and "by" in inspect.signature(verb).parameters
]
RECORDING = {"record"}
ARGUMENTS = {
    "key": "k0", "keys": None, "verdict": "pass", "count": 1, "reason": "no", "verb": "x",
    "model": "claude-haiku-5-5", "roles": [Role.ADMIN], "values": {},
}  # fmt: skip


def test_the_verbs_are_found():
    names = {name for _, name in VERBS}
    assert {"start", "retry", "approve", "reject", "change", "pause_all", "switch_off"} <= names


@pytest.mark.parametrize(("owner", "name"), [verb for verb in VERBS if verb[1] not in RECORDING])
@pytest.mark.parametrize("state", ["draft", "running", "paused", "review", "blocked"])
def test_a_viewer_is_refused_by_every_verb_in_every_state(owner, name, state):
    """A verb that is added later is found here by its `by`."""
    subject = {
        Lifecycle: lambda: batch_in(state),
        Reviewing: lambda: batch_in(state),
        Approving: lambda: batch_in(state),
        Limits: Limits.objects.current,
        User: person,
    }[owner]()
    verb = getattr(subject, name)
    given = {
        parameter.name: ARGUMENTS[parameter.name]
        for parameter in inspect.signature(verb).parameters.values()
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    }
    before = type(subject).objects.filter(pk=subject.pk).values().get()
    with pytest.raises(NotAllowed):
        verb(**given, by=person(roles=[Role.VIEWER]))
    assert type(subject).objects.filter(pk=subject.pk).values().get() == before


def batch_in(state):
    batch = in_review(5, bad=1) if state == "review" else draft()
    if state == "blocked":
        Batch.objects.filter(pk=batch.pk).update(state="running", blocked="budget")
    elif state != "review":
        Batch.objects.filter(pk=batch.pk).update(state=state)
    batch.refresh_from_db()
    return batch


def test_a_viewer_and_a_reviewer_create_nothing():
    for roles in ([Role.VIEWER], [Role.REVIEWER]):
        with pytest.raises(NotAllowed):
            draft(by=person(roles=roles))
    with pytest.raises(NotAllowed):
        Batch.objects.create_with_items(
            name="x", version=task_version(), items=[], options=RunOptions(),
            by=person(roles=[Role.OPERATOR]), rerun_of=queued(),
        )  # fmt: skip
    assert Batch.objects.count() == 1


@pytest.mark.parametrize("roles", [[], [Role.VIEWER]])
def test_who_only_looks_neither_comments_nor_exports(roles):
    looks, batch = person(roles=roles), in_review(3)
    with pytest.raises(NotAllowed, match="an operator, a reviewer or an administrator may comment"):
        Comment.objects.write(batch, "Is this right?", by=looks)
    judge_all(batch)
    batch.approve()
    for format_ in FORMATS:
        with pytest.raises(NotAllowed, match="may export the results of Pile"):
            export(batch, format_, by=looks)
    assert not batch.events.filter(verb="results.exported").exists()
    assert not Comment.objects.exists()


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.REVIEWER, Role.ADMIN])
def test_everybody_else_comments_and_exports(role):
    ada, batch = person(roles=[role]), in_review(3)
    Comment.objects.write(batch, "Looks right.", by=ada)
    judge_all(batch)
    batch.approve()
    assert b"".join(export(batch, "csv", by=ada))


def test_an_operator_runs_and_does_not_judge():
    ada = person(roles=[Role.OPERATOR])
    batch = draft(by=ada)
    batch.start(ada)
    batch.pause(ada)
    batch.resume(ada)
    batch.cancel(ada)
    waiting = in_review(3)
    with pytest.raises(NotAllowed):
        waiting.judge("k0", "pass", by=ada)


def test_a_reviewer_judges_and_a_rejection_may_send_items_again():
    ben = person(roles=[Role.REVIEWER])
    batch = in_review(5, bad=1)
    judge_all(batch, by=ben)
    with pytest.raises(NotAllowed):
        batch.retry(by=ben)
    again = batch.reject("wrong", by=ben, rerun="bad")
    assert (again.state, again.owner) == ("queued", ben)


@pytest.mark.parametrize(
    ("role", "pauses", "changes"),
    [(Role.OPERATOR, True, False), (Role.REVIEWER, False, False), (Role.ADMIN, True, True)],
)
def test_operators_may_stop_everything_and_administrators_set_the_limits(role, pauses, changes):
    user, limits = person(roles=[role]), Limits.objects.current()
    assert may(user, Right.OPERATE) == pauses
    for allowed, verb in (
        (pauses, lambda: limits.pause_all(user)),
        (changes, lambda: limits.change(by=user, rpm=5)),
        (changes, lambda: limits.change_model("claude-haiku-5-5", by=user, rpm=5)),
    ):
        if allowed:
            assert verb()
        else:
            with pytest.raises(NotAllowed):
                verb()
