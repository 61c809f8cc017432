"""What a user tolerates."""

TOLERATED_MS = 4000  # of waiting for a page, in the study
