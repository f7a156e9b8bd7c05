"""The ways in which a call can be made to fail."""

from enum import StrEnum


class Fault(StrEnum):
    INVALID = "400"
    UNAUTHENTICATED = "401"
    BILLING = "402"
    FORBIDDEN = "403"
    NOT_FOUND = "404"
    RATE_LIMIT = "429"
    RAMP_LIMIT = "ramp_limit"
    SPEND_LIMIT = "spend_limit"
    SERVER = "500"
    OVERLOADED = "529"
    HANG = "hang"
    DROP = "drop"
    MALFORMED = "malformed"
    TRUNCATED = "truncated"
    REFUSAL = "refusal"
    STREAM_ERROR = "stream_error"
