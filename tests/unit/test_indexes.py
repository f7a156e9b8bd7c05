"""Every index costs each write: none is there for what another does already."""

import pytest
from django.apps import apps
from django.db import models

MODELS = list(apps.get_app_config("batchboard").get_models())


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_no_index_is_the_beginning_of_another(model):
    alone = {
        field.name
        for field in model._meta.local_fields
        if isinstance(field, models.ForeignKey) and field.db_index and not field.unique
    }
    wholes = [
        one
        for one in (*model._meta.constraints, *model._meta.indexes)
        if isinstance(one, models.UniqueConstraint | models.Index) and one.condition is None
    ]
    assert not alone & {one.fields[0] for one in wholes if one.fields}
