"""The waiting time that a user tolerates."""

TOLERATED_MS = 4000  # wait for a page, from the study
