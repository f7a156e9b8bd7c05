"""Addresses: nouns, one view each."""

from django.contrib import admin
from django.urls import path

from batchboard.views import (
    batch,
    board,
    health,
    live,
    moves,
    review,
    review_sheets,
    sign_in,
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
    path("live", live.live, name="live"),
    path("sign-in/", sign_in.sign_in, name="sign-in"),
    path("sign-out/", sign_in.sign_out, name="sign-out"),
    path("password/", sign_in.password, name="password"),
    path("healthz", health.healthz, name="healthz"),
    path("admin/", admin.site.urls),
]
