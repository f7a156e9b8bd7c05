"""The pages of experiments: list, form with its estimate, progress, verdict, and who may."""

from decimal import Decimal

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from batchboard import experimenting, filing
from batchboard.arm_text import ArmPlan
from batchboard.models import Experiment, ExperimentState, NewItem, Preparation, TaskType
from batchboard.states import BatchState, ItemState
from dispatch import intake_tasks
from dispatch.forecast import Counted

HOSTILE = "<script>alert(1)</script>\u202e"


@pytest.fixture(autouse=True)
def _no_provider_and_no_broker(monkeypatch):
    monkeypatch.setattr("dispatch.forecast.count", lambda work, rows: Counted())
    monkeypatch.setattr(intake_tasks, "nudge", lambda: None)


@pytest.fixture
def make_experiment(version, person):
    def make(*modes, n=6, **options):
        return experimenting.create(
            version.definition,
            [NewItem(f"k{number}", {"x": f"row {number}"}, 10) for number in range(n)],
            [ArmPlan(mode) for mode in modes or ("single", "cached")],
            **{"seed": "s", "budget": None, "source": "items.csv", "version": version,
               "by": person} | options,
        )  # fmt: skip

    return make


@pytest.fixture
def ended(make_experiment, worker):
    """An experiment of which every item has a result; cached costs a third."""

    def make(**options):
        experiment = make_experiment(n=12, **options)
        experiment.start()
        for batch, cost in zip(experiment.batches, ("0.03", "0.01"), strict=True):
            for number, item in enumerate(batch.items.order_by("position")):
                type(item).objects.filter(pk=item.pk).update(
                    state=ItemState.SUCCEEDED, outcome="ok", tries=1,
                    cost=Decimal(cost) * (100 + number % 3) / 100,
                )  # fmt: skip
            type(batch).objects.filter(pk=batch.pk).update(
                succeeded=batch.total, cost=Decimal(cost) * batch.total,
                started_at=experiment.created_at,
            )  # fmt: skip
            batch.refresh_from_db()
            batch.finish()
        return Experiment.objects.with_arms().get(pk=experiment.pk)

    return make


def fresh(page, query=""):
    """A new form's address."""
    return page.get(f"{reverse('experiment_new')}{query}").headers["Location"]


def form(version, source="", **fields):
    return {
        "task_type": version.pk, "source": source, "arms": "0,1", "mode-0": "single",
        "mode-1": "cached", "n": "4", "no_budget": "on",
    } | fields  # fmt: skip


def post(page, address, name, fields, **headers):
    public_id = address.partition("?")[0].rstrip("/").rpartition("/")[2]
    return page.post(reverse(name, args=[public_id]), fields, **headers)


# The list and the page


def test_an_empty_list_teaches(page):
    content = page.get("/experiments/").content.decode()
    assert "No experiment yet" in content
    assert "An example of what it says" in content


def test_the_list_names_experiments_with_their_arms(page, make_experiment):
    make_experiment(name=HOSTILE)
    content = page.get("/experiments/").content.decode()
    assert "single, cached" in content
    assert "<script>alert" not in content
    assert "⟨U+202E⟩" in content


def test_the_list_reads_a_fixed_number_of_queries(
    page, make_experiment, django_assert_max_num_queries
):
    for _ in range(5):
        make_experiment()
    with django_assert_max_num_queries(20):
        page.get("/experiments/")


def test_a_draft_shows_what_each_arm_will_cost_and_can_be_started(page, make_experiment):
    experiment = make_experiment(budget=Decimal(3))
    address = reverse("experiment", args=[experiment.public_id])
    content = page.get(address).content.decode()
    assert "What it will cost" in content
    assert "budget $3.00" in content
    assert page.post(f"{address}run").status_code == 302
    batches = Experiment.objects.with_arms().get(pk=experiment.pk).batches
    assert {batch.state for batch in batches} == {BatchState.QUEUED}


def test_what_was_cancelled_is_told_and_does_not_count_as_done(page, make_experiment):
    experiment = make_experiment()
    address = reverse("experiment", args=[experiment.public_id])
    page.post(f"{address}cancellation")
    content = page.get(address).content.decode()
    assert content.count(f"· {experiment.n} cancelled") == 2
    listed = page.get("/experiments/").content.decode()
    assert f"</span>0 of {2 * experiment.n}</td>" in listed


def test_the_page_hears_of_its_arms_and_htmx_gets_only_what_changes(page, make_experiment):
    address = reverse("experiment", args=[make_experiment().public_id])
    whole = page.get(address).content.decode()
    assert "sse:watched" in whole
    assert "?experiment=e_" in whole
    part = page.get(address, headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part
    assert "arm-line" in part


def test_at_its_end_the_page_gives_the_verdict_and_the_way_to_review(page, ended):
    experiment = ended()
    content = page.get(reverse("experiment", args=[experiment.public_id])).content.decode()
    assert "Cost per task fell by 67" in content
    assert "quality not compared" in content.lower()
    for batch in experiment.batches:
        assert reverse("review", args=[batch.public_id]) in content


def test_the_costs_page_offers_the_experiment_and_opens_it(page, ended, version):
    experiment = ended()
    content = page.get(f"/costs/?experiment={experiment.public_id}").content.decode()
    assert f'value="experiment:{experiment.public_id}" selected' in content
    assert "Cost per task fell by 67" in content
    csv = page.get(
        f"/costs/comparison.csv?type={version.task_type_id}"
        f"&compare=experiment:{experiment.public_id}"
    )
    assert csv.content.decode().splitlines()[1].startswith("single,")


def test_the_costs_page_leads_to_an_experiment_that_has_nothing_to_compare(page, make_experiment):
    public_id = make_experiment().public_id
    answer = page.get(f"/costs/?experiment={public_id}")
    assert answer.headers["Location"] == reverse("experiment", args=[public_id])
    assert page.get("/costs/?experiment=e_none").status_code == 404


def test_arms_have_pages_of_their_own_and_no_card(page, make_experiment):
    experiment = make_experiment()
    batch = experiment.batches[0]
    content = page.get(reverse("batch", args=[batch.public_id])).content.decode()
    assert reverse("experiment", args=[experiment.public_id]) in content
    assert reverse("batch-run", args=[batch.public_id]) not in content
    assert batch.public_id not in page.get("/").content.decode()


# The form


def test_a_fresh_form_takes_the_task_type_the_last_batch_and_n_from_the_address(
    page, version, make_batch
):
    batch = make_batch(BatchState.REVIEW, succeeded=9, started_at=make_batch().created_at)
    address = fresh(page, f"?type={version.task_type_id}&items=7")
    content = page.get(address).content.decode()
    assert f'value="{version.pk}" selected' in content
    assert f'value="{batch.public_id}" selected' in content
    assert 'name="n" value="7"' in content
    assert "expected for all arms" in content


def test_the_estimate_follows_the_arms(page, version, make_batch):
    batch = make_batch(waiting=9)
    address = fresh(page)
    script = {"headers": {"HX-Request": "true"}}
    two = post(page, address, "experiment-form", form(version, batch.public_id), **script)
    assert two.content.decode().count('<tr><th scope="row">') == 2
    fields = form(version, batch.public_id, arms="0,1,2", **{"mode-2": "packed", "size-2": "3"})
    three = post(page, address, "experiment-form", fields, **script).content.decode()
    assert '<tr><th scope="row">packed k=3</th>' in three


def test_arms_are_added_and_removed_without_a_script_too(page, version, make_batch):
    fields, address = form(version, make_batch(waiting=9).public_id), fresh(page)
    assert post(page, address, "experiment-form", fields | {"add": "1"}).status_code == 302
    stored = Preparation.objects.get().fields
    assert (stored["arms"], stored["mode-2"]) == ("0,1,2", "session")
    post(page, address, "experiment-form", stored | {"remove": "1"})
    stored = Preparation.objects.get().fields
    assert stored["arms"] == "0,2"
    assert "mode-1" not in stored


def test_an_earlier_batch_becomes_an_experiment_that_starts(page, version, make_batch):
    fields = form(version, make_batch(waiting=9).public_id, start="", budget="2.00")
    del fields["no_budget"]
    address = fresh(page)
    assert post(page, address, "experiment-start", fields).status_code == 302
    assert "Drawing and storing" in page.get(address).content.decode()
    filing.work_through()
    experiment = Experiment.objects.with_arms().get()
    assert experiment.state is ExperimentState.RUNNING
    assert [batch.total for batch in experiment.batches] == [4, 4]
    assert sum(batch.budget for batch in experiment.batches) == Decimal(2)
    found = page.get(address.partition("?")[0])
    assert found.headers["Location"] == reverse("experiment", args=[experiment.public_id])


def test_a_file_becomes_a_draft(page, version):
    address = fresh(page, f"?type={version.task_type_id}")
    file = SimpleUploadedFile("rows.csv", b"key,x\n" + b"".join(b"k%d,v\n" % n for n in range(30)))
    post(page, address, "experiment-items", {"file": file})
    filing.work_through()
    assert "30 rows" in page.get(address).content.decode()
    post(page, address, "experiment-start", form(version, draft=""))
    filing.work_through()
    experiment = Experiment.objects.with_arms().get()
    assert (experiment.state, experiment.n) == (ExperimentState.DRAFT, 4)
    assert experiment.source == "rows.csv"


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"no_budget": ""}, "Give a budget, or say that there is none."),
        ({"budget": "lots", "no_budget": ""}, "Give an amount in dollars"),
        ({"arms": "0"}, "Add an arm"),
        ({"mode-1": "packed", "size-1": "0"}, "k is a whole number from 1 to 1,000."),
        ({"at_once-1": "many"}, "N is a whole number"),
        ({"n": "1"}, "Give a whole number from 2 to 5,000."),
        ({"n": "10"}, "There are 9 items."),
        ({"task_type": ""}, "Choose a task type"),
        ({"source": ""}, "Give a file of items"),
        ({"source": "b_none"}, "Choose a batch of this task type"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_made(page, version, make_batch, fields, says):
    given = form(version, make_batch(waiting=9).public_id) | fields
    answer = post(page, fresh(page), "experiment-start", given)
    assert answer.status_code == 422
    content = answer.content.decode()
    assert says in content or "Give items" in content
    filing.work_through()
    assert not Experiment.objects.exists()


def test_items_of_another_task_type_are_not_taken(page, version, make_batch):
    batch = make_batch(waiting=9)
    other = TaskType.objects.create(name="Other").versions.create(
        number=1, digest="o", model=version.model, prompt="{{ x }}", max_tokens=10
    )
    answer = post(page, fresh(page), "experiment-start", form(other, batch.public_id))
    assert answer.status_code == 422


# Who may


def test_a_viewer_looks_and_does_nothing(client, viewer, make_experiment):
    experiment = make_experiment()
    client.force_login(viewer)
    address = reverse("experiment", args=[experiment.public_id])
    content = client.get(address).content.decode()
    assert "Start all arms" not in content
    assert "New experiment" not in client.get("/experiments/").content.decode()
    for path in (f"{address}run", f"{address}cancellation"):
        assert client.post(path).status_code == 403
    assert client.get("/experiments/new/").status_code == 403
    for name in ("form", "items", "start", "discard"):
        path = reverse(f"experiment-{name}", args=["p_abcdefghjk"])
        assert client.post(path).status_code == 403
    assert Experiment.objects.with_arms().get().state is ExperimentState.DRAFT


def test_a_form_is_its_owners_and_no_batch_can_be_made_at_its_address(
    page, client, admin, version, make_batch
):
    address = fresh(page)
    post(page, address, "experiment-form", form(version))
    public_id = Preparation.objects.get().public_id
    assert page.get(reverse("new-batch", args=[public_id])).status_code == 404
    client.force_login(admin)
    assert client.get(reverse("experiment-form", args=[public_id])).status_code == 404


@pytest.mark.parametrize("verb", ["run", "cancellation"])
def test_verbs_take_posts_with_a_token_alone(page, make_experiment, verb):
    address = f"{reverse('experiment', args=[make_experiment().public_id])}{verb}"
    assert page.get(address).status_code == 405
    forged = type(page)(enforce_csrf_checks=True)
    forged.cookies = page.cookies
    assert forged.post(address).status_code == 403


def test_what_cannot_be_is_said(page, ended):
    experiment = ended()
    address = reverse("experiment", args=[experiment.public_id])
    answer = page.post(f"{address}cancellation", headers={"HX-Request": "true"})
    assert (answer.status_code, "has ended" in answer.content.decode()) == (409, True)
    assert page.get("/experiments/e_none/").status_code == 404
