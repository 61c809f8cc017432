"""Measures the freshness of one trial, from the samples of all its processes.

All times are of one host's clock. But k6 stamps a request when its script continues, slightly after the
response arrived. A late stamp makes an edit appear to be acknowledged later, which hides staleness, and makes
a read appear to be sent later, which creates false staleness. Hence a tolerance (`TOLERANCE_MS`): an edit
counts only if it was acknowledged longer than that before the read was sent. The reads that are fresh only
because of this are counted as uncertain. Where generators ran on several machines, the lab has converted
their times, and the caller adds the bound of that error to the tolerance. A clock that is set during a trial
makes the trial invalid (`stevec_report/clock.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from stevec_report.freshness.clusters import ClusterSums, ClusterTally
from stevec_report.freshness.history import History
from stevec_report.sample_table import (
    CSV_FORMAT,
    DONE_AT,
    IS_ANSWERED,
    IS_READ,
    columns_of_file,
    open_database,
    select_samples,
)

TOLERANCE_MS = 1.0
FILES = ("samples.csv.gz", "background.csv.gz")
# As text, because an answer may carry anything in place of a revision, and that is a count here and no error.
AS_TEXT = {"error_code": "VARCHAR", "revision": "VARCHAR"}
CHUNK_ROWS = 1_000_000
ROWS_MAX = 50_000_000
THREADS = 1
MEMORY_LIMIT = "800MB"

# The response says that there is no page (RFC 9110, sections 15.5.5 and 15.5.11).
IS_ABSENT = "status IN (404, 410)"
REVISION = "try_cast(revision AS BIGINT)"
IS_JUDGED = f"{IS_READ} AND ({IS_ANSWERED} AND {REVISION} >= 0 OR {IS_ABSENT})"
IS_UNKNOWN = f"{IS_READ} AND {IS_ANSWERED} AND coalesce({REVISION}, -1) < 0"


class FreshnessError(Exception):
    """The freshness of a trial cannot be measured; `str(error)` says why in one line."""


@dataclass(frozen=True)
class Freshness:
    """The freshness of the responses of one trial.

    `judged` reads got a revision, or a response that there is no page; `unknown` reads got neither; `unanswered`
    reads failed. `uncertain` counts the judged reads that are taken for fresh only because of the tolerance.
    `behind_s` and `versions_behind` are of the stale reads, each sorted. `clusters` are the reads by the edit that they
    follow.
    """

    judged: int
    stale: int
    uncertain: int
    unknown: int
    unanswered: int
    edits: int
    tolerance_ms: float
    clusters: ClusterSums
    behind_s: np.ndarray = field(repr=False)
    versions_behind: np.ndarray = field(repr=False)

    @property
    def stale_ratio(self) -> float | None:
        """Stale reads ÷ judged reads; None if nothing was judged."""
        return self.stale / self.judged if self.judged else None

    def ratio_older_than(self, seconds: float) -> float | None:
        """Reads that were stale for more than `seconds` ÷ judged reads; None if nothing was judged."""
        if not self.judged:
            return None
        return (self.stale - int(np.searchsorted(self.behind_s, seconds, side="right"))) / self.judged

    def summary(self) -> dict[str, Any]:
        """Return one flat row with the column names of trials.csv; None where no read was stale."""
        row = {
            "reads_judged": self.judged,
            "reads_stale": self.stale,
            "reads_uncertain": self.uncertain,
            "reads_unknown": self.unknown,
            "edits_acknowledged": self.edits,
            "stale_ratio": self.stale_ratio,
        }
        for name, values, quantile in (
            ("staleness_{}_s", self.behind_s, np.quantile),
            ("versions_behind_{}", self.versions_behind, _smallest_reaching),
        ):
            for label, level in (("p50", 0.5), ("p95", 0.95), ("max", 1.0)):
                row[name.format(label)] = float(quantile(values, level)) if values.size else None
        return row


def measure(folder: Path, *, tolerance_ms: float = TOLERANCE_MS) -> Freshness:
    """Return the `Freshness` of the trial in `folder`, probe and background together.

    Raises:
        FreshnessError: the samples are missing, damaged or too many.
    """
    files = [folder / name for name in FILES if (folder / name).is_file()]
    if not files:
        raise FreshnessError("samples.csv.gz is missing")
    return measure_files(files, tolerance_ms=tolerance_ms)


def measure_files(files: Sequence[Path], *, tolerance_ms: float = TOLERANCE_MS) -> Freshness:
    """Return the `Freshness` over the samples in `files`, CSV or Parquet; FreshnessError as in `measure`."""
    with open_database(THREADS, MEMORY_LIMIT) as database:
        try:
            return _measure(database, files, tolerance_ms)
        except (duckdb.Error, ValueError) as error:
            raise FreshnessError(f"freshness cannot be told ({str(error).splitlines()[0][:200]})") from error


def _measure(database: duckdb.DuckDBPyConnection, files: Sequence[Path], tolerance_ms: float) -> Freshness:
    _load_edits(database, files)
    judged, unknown, reads = _load_reads(database, files)
    lost = _name_absences(database)
    edits = database.execute(
        f"SELECT code, done_at_us, revision FROM edits WHERE {IS_ANSWERED} AND revision >= 0"
    ).fetchnumpy()
    history = History(edits["code"], edits["done_at_us"], edits["revision"])
    tally = ClusterTally(history)
    uncertain, behind, versions = 0, [np.empty(0, np.float32)], [np.empty(0, np.int32)]
    rows_end = database.execute("SELECT coalesce(max(rowid) + 1, 0) FROM reads").fetchall()[0][0]
    for begin in range(0, rows_end, CHUNK_ROWS):
        chunk = database.execute(
            "SELECT code, sent_at_us, revision FROM reads WHERE rowid >= ? AND rowid < ? AND revision >= 0",
            [begin, begin + CHUNK_ROWS],
        ).fetchnumpy()
        verdicts = history.judge(chunk["code"], chunk["sent_at_us"], chunk["revision"], round(1000 * tolerance_ms))
        tally.add(chunk["code"], verdicts)
        uncertain += int(verdicts.uncertain.sum())
        behind.append((verdicts.behind_us[verdicts.stale] / 1e6).astype(np.float32))
        versions.append(verdicts.versions_behind[verdicts.stale].astype(np.int32))
    behind_s = np.sort(np.concatenate(behind))
    return Freshness(
        judged=judged - lost,
        stale=behind_s.size,
        uncertain=uncertain,
        unknown=unknown + lost,
        unanswered=reads - judged - unknown,
        edits=history.size,
        tolerance_ms=tolerance_ms,
        clusters=tally.sums(judged - lost),
        behind_s=behind_s,
        versions_behind=np.sort(np.concatenate(versions)),
    )


def _load_edits(database: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> None:
    """Fill the table `edits`, one row for each write, acknowledged or not."""
    sources = " UNION ALL ".join(
        f"SELECT page, method, status, {REVISION} AS revision, sent_at_us, {DONE_AT} AS done_at_us "
        f"FROM {_source(file)} WHERE NOT {IS_READ}"
        for file in files
    )
    database.execute(f"CREATE TABLE written AS {sources}", [literal_path(file) for file in files])
    # An enum type numbers the pages. A join with a table of pages would need twice the memory for the reads.
    database.execute("CREATE TYPE edited AS ENUM (SELECT DISTINCT page FROM written ORDER BY page)")
    database.execute("CREATE TABLE edits AS SELECT *, enum_code(page::edited)::INTEGER AS code FROM written")


def _load_reads(database: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> tuple[int, int, int]:
    """Fill the table `reads` with the judgeable reads of edited pages; reads of other pages cannot be stale.

    Returns (reads that can be judged, reads answered without a revision, all reads), over all pages.
    """
    # In this table, a null revision means that there was no page.
    database.execute("CREATE TABLE reads (code INTEGER, sent_at_us BIGINT, done_at_us BIGINT, revision BIGINT)")
    counts = np.zeros(4, dtype=np.int64)
    for file in files:
        counts += database.execute(
            f"SELECT count(*) FILTER ({IS_JUDGED}), count(*) FILTER ({IS_UNKNOWN}), "
            f"count(*) FILTER ({IS_READ}), count(*) FROM {_source(file)}",
            [literal_path(file)],
        ).fetchall()[0]
        if counts[3] > ROWS_MAX:
            raise ValueError(f"more than {ROWS_MAX} samples")
        database.execute(
            f"INSERT INTO reads SELECT enum_code(try_cast(page AS edited)), sent_at_us, {DONE_AT}, "
            f"CASE WHEN {IS_ANSWERED} THEN {REVISION} END FROM {_source(file)} "
            f"WHERE {IS_JUDGED} AND try_cast(page AS edited) IS NOT NULL",
            [literal_path(file)],
        )
    return tuple(counts[:3].tolist())


def _name_absences(database: duckdb.DuckDBPyConnection) -> int:
    """Assign each "no such page" response the revision of a possible deletion; return the number of unknown ones.

    The response does not say which deletion it reflects. The newest deletion sent before the response arrived is
    assumed, or, without one, revision 0, the time before the page was created: a read counts as stale only if it
    must be. A deletion whose acknowledgement was lost has no revision, so the responses after it are unknown.
    """
    lost = database.execute(
        "DELETE FROM reads WHERE revision IS NULL AND EXISTS (SELECT 1 FROM edits "
        f"WHERE edits.code = reads.code AND method = 'DELETE' AND NOT ({IS_ANSWERED} AND "
        "edits.revision >= 0) AND edits.sent_at_us < reads.done_at_us AND status NOT BETWEEN 400 AND 499)"
    ).fetchall()[0][0]
    database.execute(
        "UPDATE reads SET revision = coalesce((SELECT max(edits.revision) FROM edits "
        f"WHERE edits.code = reads.code AND method = 'DELETE' AND {IS_ANSWERED} "
        "AND edits.sent_at_us < reads.done_at_us), 0) WHERE revision IS NULL"
    )
    return lost


def _source(file: Path) -> str:
    if file.suffix == ".parquet":
        return "read_parquet(?)"
    columns = columns_of_file(file) | AS_TEXT
    table = (
        f"read_csv(?, {CSV_FORMAT}, compression = 'gzip', max_line_size = 100000, buffer_size = 4000000, "
        f"columns = {columns!r})"
    )
    return f"({select_samples(table, columns)})"


def literal_path(file: Path) -> str:
    """Return the path, escaped so that duckdb's read_csv takes it literally and not as a pattern."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(file))


def _smallest_reaching(values: np.ndarray, level: float) -> Any:
    return np.quantile(values, level, method="inverted_cdf")
