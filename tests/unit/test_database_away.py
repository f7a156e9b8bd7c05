"""What the command line says where the database cannot be used."""

from django.conf import settings

from batchboard.cli.refusals import bad_input, database_away


def test_it_names_the_place_and_the_reason_and_never_the_password(monkeypatch):
    there = {"HOST": "db.internal", "PORT": 5433, "NAME": "batches", "PASSWORD": "very secret"}
    monkeypatch.setitem(settings.DATABASES, "default", there)
    said = database_away(Exception("no connection after 10.00 sec.\nand more"))
    assert said.startswith(
        "The database at db.internal:5433 cannot be used: no connection after 10.00 sec. Is it"
    )
    assert "secret" not in said


def test_a_question_keeps_its_mark():
    assert str(bad_input("Did you mean x?")) == "Did you mean x? Nothing was created."
    assert str(bad_input("There is no x.")) == "There is no x. Nothing was created."
