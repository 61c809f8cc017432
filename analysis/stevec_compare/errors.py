"""The error of a comparison that cannot be made."""


class CompareError(Exception):
    """`str(error)` is one line that says why, and what to do."""
