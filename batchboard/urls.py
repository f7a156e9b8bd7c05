"""Addresses: nouns, one view each."""

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from batchboard.views import (
    batch,
    batch_plot,
    batch_settings,
    board,
    bulk,
    clones,
    comments,
    copies,
    cost_estimates,
    costs,
    downloads,
    experiment_form,
    experiments,
    health,
    item,
    ledger,
    limits,
    live,
    moves,
    new_batch,
    people,
    prices,
    recurring,
    review,
    review_sheets,
    search,
    sign_in,
    task_type_edit,
    task_types,
    trials,
)


class KeyConverter(StringConverter):
    """An item's key, whatever characters it has."""

    regex = r"[\s\S]+"


register_converter(KeyConverter, "key")

handler500 = "batchboard.views.broken.broken"

urlpatterns = [
    path("", board.board, name="board"),
    path("board/columns", board.board_columns, name="board-columns"),
    path("board/limits", board.board_limits, name="board-limits"),
    path("batches/<str:public_id>/", batch.batch, name="batch"),
    path("batches/<str:public_id>/live", batch.batch_live, name="batch-live"),
    path("batches/<str:public_id>/run", moves.run, name="batch-run"),
    path("batches/<str:public_id>/pause", moves.pause, name="batch-pause"),
    path("batches/<str:public_id>/resumption", moves.resumption, name="batch-resumption"),
    path("batches/<str:public_id>/placement", moves.batch_placement, name="batch-placement"),
    path("batches/<str:public_id>/cancellation", moves.cancellation, name="batch-cancellation"),
    path("batches/<str:public_id>/clones", clones.clones, name="batch-clones"),
    path("copies/<str:public_id>/", copies.copy, name="copy"),
    path("copies/<str:public_id>/discard", copies.copy_discard, name="copy-discard"),
    path("batches/<str:public_id>/second-try", bulk.second_try, name="batch-second-try"),
    path("batches/<str:public_id>/plot", batch_plot.batch_plot, name="batch-plot"),
    path("batches/<str:public_id>/settings", batch_settings.batch_settings, name="batch-settings"),
    path("batches/<str:public_id>/comments", comments.comments, name="batch-comments"),
    path(
        "batches/<str:public_id>/item-cancellation",
        bulk.item_cancellation,
        name="item-cancellation",
    ),
    path("batches/<str:public_id>/items/<key:key>", item.item, name="item"),
    path("batches/<str:public_id>/place/<int:position>", item.item_at, name="item-at"),
    path(
        "batches/<str:public_id>/export.<str:format_>", downloads.batch_export, name="batch-export"
    ),
    path("costs/ledger/", ledger.costs_ledger, name="costs_ledger"),
    path("costs/ledger.csv", ledger.costs_ledger_csv, name="costs_ledger_csv"),
    path("limits/", limits.limits, name="limits"),
    path("limits/live", limits.limits_live, name="limits-live"),
    path("limits/models", limits.limits_models, name="limits-models"),
    path("limits/prices", prices.limits_prices, name="limits-prices"),
    path("limits/pause", limits.limits_pause, name="limits-pause"),
    path("limits/resumption", limits.limits_resumption, name="limits-resumption"),
    path("batches/<str:public_id>/review/", review.review, name="review"),
    path("batches/<str:public_id>/review/live", review.review_live, name="review-live"),
    path(
        "batches/<str:public_id>/review/reservation", review.reservation, name="review-reservation"
    ),
    path("batches/<str:public_id>/review/verdict", review.verdict, name="review-verdict"),
    path("batches/<str:public_id>/review/retraction", review.retraction, name="review-retraction"),
    path("batches/<str:public_id>/review/draw", review.draw, name="review-draw"),
    path("batches/<str:public_id>/review/prompt", review_sheets.prompt, name="review-prompt"),
    path("batches/<str:public_id>/review/approval", review_sheets.approval, name="review-approval"),
    path(
        "batches/<str:public_id>/review/rejection", review_sheets.rejection, name="review-rejection"
    ),
    path("new/", new_batch.new, name="new"),
    path("new/<str:public_id>/", new_batch.new_batch, name="new-batch"),
    path("new/<str:public_id>/form", new_batch.new_form, name="new-form"),
    path("new/<str:public_id>/items", new_batch.new_items, name="new-items"),
    path("new/<str:public_id>/start", new_batch.new_start, name="new-start"),
    path("new/<str:public_id>/discard", new_batch.new_discard, name="new-discard"),
    path("new/<str:public_id>/trial", trials.new_batch_trial, name="new-trial"),
    path("costs/", costs.costs, name="costs"),
    path("costs/comparison.csv", costs.costs_csv, name="costs_csv"),
    path("costs/estimates/", cost_estimates.cost_estimates, name="costs_estimates"),
    path("experiments/", experiments.experiments, name="experiments"),
    path("experiments/new/", experiment_form.new, name="experiment_new"),
    path("experiments/new/<str:public_id>/", experiment_form.form, name="experiment-form"),
    path("experiments/new/<str:public_id>/items", experiment_form.items, name="experiment-items"),
    path("experiments/new/<str:public_id>/start", experiment_form.start, name="experiment-start"),
    path(
        "experiments/new/<str:public_id>/discard",
        experiment_form.discard,
        name="experiment-discard",
    ),
    path("experiments/<str:public_id>/", experiments.experiment, name="experiment"),
    path("experiments/<str:public_id>/run", experiments.experiment_run, name="experiment-run"),
    path(
        "experiments/<str:public_id>/cancellation",
        experiments.experiment_cancellation,
        name="experiment-cancellation",
    ),
    path("task-types/", task_types.task_types, name="task-types"),
    path("task-types/new/", task_type_edit.new_task_type, name="task-type-new"),
    path("task-types/file", task_type_edit.from_file, name="task-type-file"),
    path("task-types/<int:pk>/", task_types.task_type, name="task-type"),
    path("task-types/<int:pk>/edit", task_type_edit.edit, name="task-type-edit"),
    path("task-types/<int:pk>/v<int:number>.toml", task_types.toml, name="task-type-toml"),
    path("task-types/<int:pk>/trials", trials.task_type_trial, name="task-type-trials"),
    path("trials/<str:public_id>", trials.trial, name="trial"),
    path("recurring/", recurring.recurrings, name="recurrings"),
    path("recurring/new/", recurring.recurring_new, name="recurring-new"),
    path("recurring/times", recurring.recurring_times, name="recurring-times"),
    path("recurring/<str:public_id>/", recurring.recurring, name="recurring"),
    path("recurring/<str:public_id>/live", recurring.recurring_live, name="recurring-live"),
    path("recurring/<str:public_id>/edit", recurring.recurring_edit, name="recurring-edit"),
    path("recurring/<str:public_id>/pause", recurring.recurring_pause, name="recurring-pause"),
    path(
        "recurring/<str:public_id>/resumption",
        recurring.recurring_resumption,
        name="recurring-resumption",
    ),
    path("recurring/<str:public_id>/run", recurring.recurring_run, name="recurring-run"),
    path(
        "recurring/<str:public_id>/deletion",
        recurring.recurring_deletion,
        name="recurring-deletion",
    ),
    path("search/", search.search, name="search"),
    path("live", live.live, name="live"),
    path("sign-in/", sign_in.sign_in, name="sign-in"),
    path("sign-out/", sign_in.sign_out, name="sign-out"),
    path("password/", sign_in.password, name="password"),
    path("account/", sign_in.account, name="account"),
    path("people/", people.people, name="people"),
    path("people/<int:pk>/", people.person, name="person"),
    path("people/<int:pk>/roles", people.person_roles, name="person-roles"),
    path("people/<int:pk>/access", people.person_access, name="person-access"),
    path("people/<int:pk>/password", people.person_password, name="person-password"),
    path("healthz", health.healthz, name="healthz"),
]
