"""Whether each wiki of a run had an equal share of a core. Without that, a second wiki is not a second machine."""

from stevec_report.run_folder import Run

WITHOUT = (
    "Nothing can be concluded about more servers: the wikis of this run took the same cores from each other, as no "
    "control group gave each its share"
)
FACTOR = "wikis"


def missing(run: Run) -> str | None:
    """Why nothing can be concluded about more servers, as a sentence; None if each wiki had its share."""
    settings = run.experiment.get("settings")
    if not isinstance(settings, dict) or settings.get("wiki_cpu_share") is None:
        return f"{WITHOUT} (wiki_cpu_share is not set)."
    reason = run.manifest.get("wiki_shares_missing")
    return None if reason is None else f"{WITHOUT} ({str(reason)[:300].rstrip('.')})."
