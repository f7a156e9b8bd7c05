"""The forecast of a run: which limits it counts with."""

from collections import Counter

import pytest

from batchboard.models import Limits, ModelLimit, RunOptions
from batchboard.task_definition import TaskDefinition
from dispatch.forecast import Counted, draft_work, forecast

pytestmark = pytest.mark.django_db
MODEL = "claude-haiku-5-5"


def found(model=MODEL):
    limits = Limits.objects.current()
    limits.change(rpm=6_000, headroom=1.0, concurrency=100)
    definition = TaskDefinition("Triage", model, "", "Look at {{ x }}", 100, None, (), None)
    return forecast(
        draft_work(definition), Counter({30: 600}), RunOptions(mode="single"), limits, Counted()
    )


def test_without_limits_of_its_own_a_model_has_those_of_all():
    assert found().seconds < 60


@pytest.mark.parametrize("told", [{"rpm": 60}, {"told_rpm": 60}])
def test_a_model_s_own_limit_and_what_the_provider_said_of_it_count(told):
    ModelLimit.objects.create(pk=MODEL, **told)
    assert found().binding_limit == "rpm"
    assert 600 <= found().seconds < 610
    assert found("claude-sonnet-5-5").seconds < 60
