"""Addresses: nouns, one view each."""

from django.contrib import admin
from django.urls import path

from batchboard.views import (
    batch,
    board,
    health,
    live,
    moves,
    new_batch,
    new_items,
    sign_in,
    task_type_edit,
    task_types,
    trials,
)

urlpatterns = [
    path("", board.board, name="board"),
    path("board/columns", board.board_columns, name="board-columns"),
    path("board/limits", board.board_limits, name="board-limits"),
    path("batches/<str:public_id>/", batch.batch, name="batch"),
    path("batches/<str:public_id>/live", batch.batch_live, name="batch-live"),
    path("batches/<str:public_id>/run", moves.run, name="batch-run"),
    path("batches/<str:public_id>/pause", moves.pause, name="batch-pause"),
    path("batches/<str:public_id>/resumption", moves.resumption, name="batch-resumption"),
    path("batches/<str:public_id>/cancellation", moves.cancellation, name="batch-cancellation"),
    path("batches/<str:public_id>/second-try", moves.second_try, name="batch-second-try"),
    path("new/", new_batch.new, name="new"),
    path("new/<str:public_id>/", new_batch.new_batch, name="new-batch"),
    path("new/<str:public_id>/form", new_batch.new_form, name="new-form"),
    path("new/<str:public_id>/items", new_items.new_items, name="new-items"),
    path("new/<str:public_id>/start", new_batch.new_start, name="new-start"),
    path("new/<str:public_id>/discard", new_batch.new_discard, name="new-discard"),
    path("new/<str:public_id>/trial", trials.new_batch_trial, name="new-trial"),
    path("task-types/", task_types.task_types, name="task-types"),
    path("task-types/new/", task_type_edit.new_task_type, name="task-type-new"),
    path("task-types/file", task_type_edit.from_file, name="task-type-file"),
    path("task-types/<int:pk>/", task_types.task_type, name="task-type"),
    path("task-types/<int:pk>/edit", task_type_edit.edit, name="task-type-edit"),
    path("task-types/<int:pk>/v<int:number>.toml", task_types.toml, name="task-type-toml"),
    path("task-types/<int:pk>/trials", trials.task_type_trial, name="task-type-trials"),
    path("trials/<str:public_id>", trials.trial, name="trial"),
    path("live", live.live, name="live"),
    path("sign-in/", sign_in.sign_in, name="sign-in"),
    path("sign-out/", sign_in.sign_out, name="sign-out"),
    path("password/", sign_in.password, name="password"),
    path("healthz", health.healthz, name="healthz"),
    path("admin/", admin.site.urls),
]
