"""Measures the age of responses: which reads were stale, by how many versions and by how many seconds.

`history.py` judges reads against acknowledged edits, as arrays; `clusters.py` groups them by edit; `trial.py` takes
both from one trial's samples.
"""

from stevec_report.freshness.clusters import ClusterSums, ClusterTally
from stevec_report.freshness.history import History, Verdicts
from stevec_report.freshness.trial import Freshness, FreshnessError, measure, measure_files

__all__ = [
    "ClusterSums",
    "ClusterTally",
    "Freshness",
    "FreshnessError",
    "History",
    "Verdicts",
    "measure",
    "measure_files",
]
