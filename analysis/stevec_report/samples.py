"""Reads the measurements of the trials (samples.csv.gz, background.csv.gz) and condenses them.

Every file is first decompressed to its end, which checks its length and checksum. Only an intact file is passed to
duckdb, which converts it to a Parquet file in a temporary folder. All numbers come from these Parquet files. A damaged
file becomes a problem of its trial and does not affect others.

Memory is bounded for any number of samples: duckdb may use MEMORY_LIMIT, and holds only one trial at a time.
Times are summed as whole nanoseconds, so the result does not depend on the order or the number of threads.
"""

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import duckdb

from stevec_report.compact_form import Compact
from stevec_report.door_times import read_door_time
from stevec_report.early import measure_early
from stevec_report.freshness import Freshness, FreshnessError, measure_files
from stevec_report.freshness.trial import literal_path
from stevec_report.run_folder import Run, Trial
from stevec_report.sample_files import check_compact_logs, check_logs, check_parquet, decompress, describe_error
from stevec_report.sample_table import (
    CSV_FORMAT,
    HEADER,
    HEADER_MAX_BYTES,
    IS_ANSWERED,
    IS_READ,
    IS_RIGHT,
    IS_SERVED,
    RESPONSE_MS,
    columns_of,
    from_compact,
    open_database,
    select_samples,
)
from stevec_report.trial_record import TrialRecord
from stevec_report.trial_stats import BackgroundStats, TrialStats, condense, count_cut_off

SAMPLES_MAX = 100_000_000  # rows of a whole run
THREADS = 2
MEMORY_LIMIT = "500MB"
DURATION_MAX_MS = 1e9  # 11 days


@dataclass
class Samples:
    """All samples of a run: one Parquet file per trial, and the statistics by number of trial.

    Columns: those of docs/results-format.md, cache_status '' where the door has none, null where an older file lacks
    a column; and answered, served, is_read, response_ms (from the planned time, where there is one). Planned requests
    that were never sent are left out.
    """

    database: duckdb.DuckDBPyConnection
    scratch: tempfile.TemporaryDirectory
    stats: dict[int, TrialStats] = field(default_factory=dict)

    def query(self, sql: str, numbers: Iterable[int], **parameters: Any) -> list[tuple[Any, ...]]:
        """Rows of `sql`, in which {samples} stands for the samples of the probes of the trials `numbers`.

        $name in `sql` stands for the keyword argument `name`. Trials without samples are left out; if none has samples,
        there are no rows.
        """
        files = [str(self.path(number)) for number in numbers if number in self.stats]
        if not files:
            return []
        sql = sql.format(samples="read_parquet($files)")
        return self.database.execute(sql, {"files": files, **parameters}).fetchall()

    def path(self, number: int, kind: str = "samples") -> Path:
        """The Parquet file of a trial; `kind` is samples or background."""
        return Path(self.scratch.name) / f"{kind}-{number:04d}.parquet"

    def freshness(self, number: int, with_background: bool = False) -> Freshness:
        """The `Freshness` of a trial of one machine; its seconds and versions behind take 8 bytes per stale read."""
        kinds = ("samples", "background") if with_background else ("samples",)
        return measure_files([self.path(number, kind) for kind in kinds])

    def close(self) -> None:
        """Free the samples."""
        self.database.close()
        self.scratch.cleanup()


def load(run: Run) -> Samples:
    """Read the samples of every trial of `run` that has a record, and check its log files.

    Errors of a trial are added to its `problems`. Returns `Samples`, which the caller must close.
    """
    scratch = tempfile.TemporaryDirectory(prefix="stevec-report-")
    samples = Samples(open_database(THREADS, MEMORY_LIMIT, scratch.name), scratch)
    try:
        rows = 0
        for trial in run.trials:
            if trial.record is not None:
                folder = run.path / trial.folder
                trial.problems += _check_logs(trial.record, folder)
                rows += _load_trial(samples, trial, trial.record, folder, SAMPLES_MAX - rows)
    except BaseException:
        samples.close()
        raise
    return samples


def _check_logs(record: TrialRecord, folder: Path) -> list[str]:
    if record.compact:
        return check_compact_logs(record.compact, record.log_lines)
    return check_logs(folder, record.log_lines)


def _load_trial(samples: Samples, trial: Trial, record: TrialRecord, folder: Path, rows_left: int) -> int:
    """Add the statistics of one trial to `samples`, or the reason to its `problems`; return its number of rows."""
    sums = record.compact.background if record.compact else None
    kinds = ["samples"] if record.background is None or sums else ["samples", "background"]
    rows, whole = 0, True
    for kind in kinds:
        file = folder / f"{kind}.{'parquet' if record.compact else 'csv.gz'}"
        try:
            rows += _load_file(samples, trial.number, record.compact, file, kind, rows_left - rows)
        except (OSError, ValueError) as error:
            trial.problems.append(f"{file.name} {describe_error(error)}")
            whole = False
    if not whole:
        return rows
    try:
        files = [samples.path(trial.number, kind) for kind in kinds]
        background = files[1] if len(files) > 1 else None
        stats = condense(
            samples.database,
            files[0],
            background,
            never_sent=record.never_sent,
            clock_skew_bound_ms=record.clock_skew_bound_ms,
        )
    except FreshnessError as error:
        trial.problems.append(str(error))
        return rows
    if record.fault is not None:
        cut_off = count_cut_off(samples.database, samples.path(trial.number), record.fault)
        stats = replace(stats, cut_off=cut_off)
    if sums:
        stats = replace(stats, background=BackgroundStats(**sums.stats))
    stats = replace(
        stats,
        door_time=read_door_time(samples.database, record, folder, files),
        early=measure_early(samples.database, record, files[0]),
    )
    samples.stats[trial.number] = stats
    if not stats.mean_ms and not _may_fail(record):
        cause = "was answered" if stats.mean_ms is None else "took any time"
        trial.problems.append(f"none of its {stats.requests} requests {cause}")
    return rows


def _may_fail(record: TrialRecord) -> bool:
    """Whether the trial applies load under which requests may fail, even all of them."""
    return record.background is not None or record.setting("model") == "open" or record.number("vus", 1) > 1


def _load_file(samples: Samples, number: int, compact: Compact | None, file: Path, kind: str, rows_left: int) -> int:
    """Convert one file of samples to Parquet; return its number of rows. ValueError or OSError on failure."""
    target = samples.path(number, kind)
    if compact:
        check_parquet(file, compact)
        described = samples.database.execute("DESCRIBE SELECT * FROM read_parquet(?)", [literal_path(file)]).fetchall()
        return _to_parquet(samples, file, target, from_compact([row[0] for row in described]), rows_left)
    plain = Path(samples.scratch.name) / "samples.csv"
    try:
        decompress(file, plain)
        with plain.open("rb") as opened:
            columns = columns_of(opened.readline(HEADER_MAX_BYTES))
        if columns is None:
            raise ValueError(f"has another header than {HEADER.decode()}")
        table = select_samples(f"read_csv(?, {CSV_FORMAT}, columns = {columns!r})", columns)
        return _to_parquet(samples, plain, target, table, rows_left)
    finally:
        plain.unlink(missing_ok=True)


def _to_parquet(samples: Samples, source: Path, target: Path, table: str, rows_left: int) -> int:
    """Write the samples that the SELECT `table` reads from `source`, its one parameter."""
    # A quote in the path is escaped.
    quoted = str(target).replace("'", "''")
    try:
        samples.database.execute(
            f"COPY (SELECT * REPLACE (coalesce(cache_status, '') AS cache_status), "
            f"{IS_ANSWERED} AND {IS_RIGHT} AS answered, {IS_SERVED} AS served, {IS_READ} AS is_read, "
            f"{RESPONSE_MS} AS response_ms "
            f"FROM ({table})) "
            f"TO '{quoted}' (FORMAT parquet, COMPRESSION lz4)",
            [literal_path(source)],
        )
        rows, untimed, unnamed = samples.database.execute(
            "SELECT count(*), "
            "count(*) FILTER (NOT coalesce(isfinite(duration_ms) AND duration_ms >= 0 AND duration_ms < ? "
            "AND sent_at_us BETWEEN 0 AND 10000000000000000, false)), "
            "count(*) FILTER (page IS NULL OR status IS NULL OR method IS NULL) FROM read_parquet(?)",
            [DURATION_MAX_MS, str(target)],
        ).fetchall()[0]
        if rows == 0:
            raise ValueError("has no rows")
        if rows > rows_left:
            raise ValueError(f"takes the run over {SAMPLES_MAX} samples")
        if untimed or unnamed:
            raise ValueError(f"has {untimed} rows without a time and {unnamed} without a page, method or status")
    except duckdb.Error as error:
        raise ValueError(f"is not a table of samples ({str(error).splitlines()[0][:200]})") from error
    return rows
