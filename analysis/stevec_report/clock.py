"""Whether the clock of a trial can be trusted, and whether background and probe ran at the same time.

All times of day in a trial come from one machine's clock. If the clock is set during the trial (NTP, a suspended
laptop), durations and the order of events are wrong. The step appears as a difference from the monotonic clock, or as
samples outside of the trial.
"""

from stevec_report.trial_record import TrialRecord
from stevec_report.trial_stats import TrialStats

# Both clocks cannot be read at exactly one moment; this is the tolerance. Slewing moves both alike (clock_gettime(2)).
STEP_MAX_S = 0.05
OUTSIDE_MAX_S = 0.5


def check_clock(record: TrialRecord, stats: TrialStats | None) -> list[str]:
    """Return sentences on a clock that stepped during the trial; none if it did not."""
    found = []
    if record.clock_step_s is not None and abs(record.clock_step_s) > STEP_MAX_S:
        found.append(f"the clock stepped by {record.clock_step_s:+.1f} s during the trial".replace("-", "−"))
    if stats is None:
        return found
    early_s = record.started_at.timestamp() - stats.first_sent_us / 1e6
    late_s = stats.last_done_us / 1e6 - record.finished_at.timestamp()
    if early_s > OUTSIDE_MAX_S:
        found.append(f"samples from {early_s:.1f} s before the trial began: a clock that stepped")
    if late_s > OUTSIDE_MAX_S:
        found.append(f"samples until {late_s:.1f} s after the trial ended: a clock that stepped")
    return found


def check_overlap(record: TrialRecord, stats: TrialStats | None) -> list[str]:
    """Return sentences if the background did not run from before the probe's start until after its end."""
    if record.number("background_vus") <= 0:
        return []
    if record.background is None:
        return ["trial.json says nothing of a background, but the settings have one"]
    found = [] if record.overlap_proved else ["that background and probe overlapped is not proved"]
    if stats is None or stats.background is None:
        return found
    late_s = (stats.background.first_sent_us - stats.first_sent_us) / 1e6
    early_s = (stats.last_done_us - stats.background.last_done_us) / 1e6
    if late_s > 0:
        found.append(f"the background began {late_s:.3f} s after the probe")
    if early_s > 0:
        found.append(f"the background ended {early_s:.3f} s before the probe")
    return found
