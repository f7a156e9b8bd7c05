"""The domain: what is stored, and the verbs that change it."""

from batchboard.models.arriving import NewItem
from batchboard.models.attempt import Answer, Attempt, Price, Spend, Worker
from batchboard.models.batch import Batch
from batchboard.models.comment import Comment
from batchboard.models.event import Event
from batchboard.models.experiment import (
    Experiment,
    ExperimentArm,
    ExperimentState,
    NewArm,
)
from batchboard.models.item import Item, ItemInput
from batchboard.models.ledger_day import LedgerDay
from batchboard.models.limits import Limits, ModelLimit
from batchboard.models.measured import Measured, WarmCache
from batchboard.models.pair_tally import PairTally
from batchboard.models.preparation import Preparation, PreparationKind, PreparationState
from batchboard.models.prices import PriceNotPossible, StoredPrice
from batchboard.models.queue_sign import QueueSign
from batchboard.models.recurring import Recurring
from batchboard.models.recurring_run import RecurringRun, RunState
from batchboard.models.review import Review, ReviewState, SampledItem, Verdict
from batchboard.models.run_options import Mode, RunOptions, Schedule, suggested_deadline
from batchboard.models.sample import Sample
from batchboard.models.session import Session
from batchboard.models.sign_in_tries import SignInTries
from batchboard.models.submission import Submission
from batchboard.models.tally import Tally
from batchboard.models.task_type import TaskType, TaskVersion, VersionConflict
from batchboard.models.upload import Upload, UploadChunk, UploadState, UploadTooLarge
from batchboard.models.user import User

__all__ = [
    "Answer",
    "Attempt",
    "Batch",
    "Comment",
    "Event",
    "Experiment",
    "ExperimentArm",
    "ExperimentState",
    "Item",
    "ItemInput",
    "LedgerDay",
    "Limits",
    "Measured",
    "Mode",
    "ModelLimit",
    "NewArm",
    "NewItem",
    "PairTally",
    "Preparation",
    "PreparationKind",
    "PreparationState",
    "Price",
    "PriceNotPossible",
    "QueueSign",
    "Recurring",
    "RecurringRun",
    "Review",
    "ReviewState",
    "RunOptions",
    "RunState",
    "Sample",
    "SampledItem",
    "Schedule",
    "Session",
    "SignInTries",
    "Spend",
    "StoredPrice",
    "Submission",
    "Tally",
    "TaskType",
    "TaskVersion",
    "Upload",
    "UploadChunk",
    "UploadState",
    "UploadTooLarge",
    "User",
    "Verdict",
    "VersionConflict",
    "WarmCache",
    "Worker",
    "suggested_deadline",
]
