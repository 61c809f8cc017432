"""E1, read-hot: many reads over few pages (tables 1.1 and 1.2, figure 1.3 of the study)."""

from stevec_report.experiments.read_hot import plots, tables, verdict

TEMPLATE = "read_hot.html.j2"
FIGURES = {
    "figure-1.3": ("Mean response time by path, the study's and this run's", plots.draw_means),
    "response-times": ("Distribution of response times by door and cache status", plots.draw_response_times),
    "drift": ("Trial means in the order of time", plots.draw_drift),
}


def csv_tables(analysis):
    """Return {file name: (header, rows)}."""
    return {
        "table-1.1.csv": tables.origin_requests_csv(analysis),
        "table-1.2.csv": tables.means_csv(analysis),
        "table-1.2-summary.csv": tables.summary_csv(analysis),
    }


def context(analysis):
    """Return what read_hot.html.j2 needs beyond what every report has."""
    return {
        "verdict": verdict.decide(analysis),
        "origin_requests": tables.origin_requests(analysis),
        "means": tables.means(analysis),
        "summary": tables.summary(analysis),
        "study_summary": tables.study_summary(),
        "deviations": tables.deviations(analysis.run.experiment),
        "drift": plots.run_drift(analysis),
    }
