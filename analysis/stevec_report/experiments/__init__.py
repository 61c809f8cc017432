"""One package an experiment, listed here by the experiment's name.

A package has

    TEMPLATE              its page, in stevec_report/templates/
    FIGURES               {name: (title, function of an Analysis that returns a matplotlib figure)}
    csv_tables(analysis)  {file name: (header, rows)}, written as CSV
    context(analysis)     what its template needs
"""

from stevec_report.experiments import read_hot
from stevec_report.run_folder import RunFolderError

_PACKAGES = {"read-hot": read_hot}


def module_for(name):
    """Return the package that reports on experiment `name`. RunFolderError if there is none yet."""
    if name not in _PACKAGES:
        raise RunFolderError(
            f"There is no report for the experiment {name[:60]!r} yet, only for "
            f"{', '.join(sorted(_PACKAGES))}. "
            "Add a package to analysis/stevec_report/experiments/."
        )
    return _PACKAGES[name]
