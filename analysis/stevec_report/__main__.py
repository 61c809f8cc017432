"""The command: python -m stevec_report RUN_DIR."""

import argparse
import contextlib
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from stevec_report.run_folder import RunFolderError
from stevec_report.study_folder import read_results

DESCRIPTION = "Turn a finished run or study folder into tables, figures and one HTML report, in RUN_DIR/report/."
EXAMPLE = """\
examples:
  python -m stevec_report results/20261121T100000Z-read-hot-abc1234
  python -m stevec_report results/20261121T100000Z-study-abc1234
  python -m stevec_report results/20261121T100000Z-read-hot-abc1234 --figure figure-1.3 --output means.svg
  python -m stevec_report results/20261121T100000Z-study-abc1234 --figure overload/figure-1.4 --output load.svg

The report can be built again at any time; the same data give the same bytes. With --figure only that
figure is written, and the report stays as it is. The last line on standard output is the path of what
was written.
Exit status: 0 written (a run with invalid trials too: the report says so), 1 not written, 2 wrong use.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with `arguments` (those of the process if None); return its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m stevec_report",
        description=DESCRIPTION,
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run_dir", metavar="RUN_DIR", help="a folder that `stevec run` made, of a run or a study")
    parser.add_argument(
        "--figure", metavar="NAME", help="write only this figure, such as figure-1.3 or overload/figure-1.4"
    )
    parser.add_argument("--output", metavar="FILE", help="where --figure writes to, .svg or .png")
    options = parser.parse_args(arguments)
    if (options.figure is None) != (options.output is None):
        parser.error("--figure and --output go together")

    # A stopped report cleans up like a failed one.
    with contextlib.suppress(ValueError):  # not in the main thread, so signals are handled elsewhere
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        print(_write(options))
    except RunFolderError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"The report could not be written: {error}. What was there before is unchanged.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped. What was there before is unchanged.", file=sys.stderr)
        return 130
    return 0


def _write(options: argparse.Namespace) -> Path:
    """Write the report or the figure that `options` select; return its path."""
    results = read_results(options.run_dir)
    # matplotlib takes a second to load; this late import keeps --help and the error for a mistyped path fast.
    from stevec_report import report_folder

    if options.figure is None:
        return report_folder.write_report(results, _say)
    target = Path(options.output)
    if target.suffix not in report_folder.FIGURE_SUFFIXES:
        raise RunFolderError(f"{target} ends in neither .svg nor .png. Give --output such a name.")
    report_folder.write_figure(results, options.figure, target)
    return target


def _say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
