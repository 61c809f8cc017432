"""The compact form of a run: the same report, from a fraction of the bytes."""

import gzip

import pytest
from run_folder_fixture import build_run_folder, edit_column, edit_json, edit_samples

from stevec_report.__main__ import main
from stevec_report.compact import main as compact
from stevec_report.run_folder import read_run
from stevec_report.samples import load

RAW = ("samples.csv.gz", "background.csv.gz", "edge.log.gz", "origin.log.gz", "local.log.gz")


def read_tables(run):
    """{path below the report: content} of all tables of a run's report, which is built now."""
    assert main([str(run)]) == 0
    tables = run / "report" / "tables"
    found = {str(file.relative_to(tables)): file.read_text() for file in sorted(tables.rglob("*.csv"))}
    assert len(found) > 3
    return found


def sizes(run, names):
    """Bytes of the files of these names in the trials of a run."""
    return sum(file.stat().st_size for file in run.glob("trials/*/*") if file.name in names)


@pytest.mark.usefixtures("without_pictures")
class TestCompactRun:
    """A run of each kind of experiment."""

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("experiment", "settings"),
        [
            ("overload", {"factors": {"door": ["source", "cached"], "background_vus": [0, 20, 250]}}),
            ("mixed-write", {"failures_at": {2: 3}}),
            ("overload-open", {}),
            ("read-hot", {"repetitions": 2, "background_vus": 10, "edit_ratio": 0.1}),
        ],
    )
    def test_has_the_same_tables_in_its_report(self, tmp_path, experiment, settings):
        run = build_run_folder(tmp_path / "res[ul]ts", experiment=experiment, **settings)
        before, raw_bytes = read_tables(run), sizes(run, RAW)
        assert compact([str(run)]) == 0
        assert read_tables(run) == before
        assert sizes(run, RAW) == 0
        assert sizes(run, ("samples.parquet", "background.parquet")) < raw_bytes

    def test_stays_as_it_is_when_it_is_done_again(self, overload_folder, capsys):
        assert compact([str(overload_folder)]) == 0
        files = {file: file.read_bytes() for file in overload_folder.rglob("*") if file.is_file()}
        # A command that was killed in the end left a raw file.
        left = overload_folder / "trials" / "0001" / "edge.log.gz"
        left.write_bytes(gzip.compress(b""))
        capsys.readouterr()
        assert compact([str(overload_folder)]) == 0
        assert {file: file.read_bytes() for file in overload_folder.rglob("*") if file.is_file()} == files
        before, _, after, _ = capsys.readouterr().out.split()
        assert int(after) < int(before)

    def test_keeps_a_trial_as_it_is_whose_files_are_not_whole(self, run_folder, capsys):
        (run_folder / "trials" / "0002" / "origin.log.gz").unlink()
        edit_samples(run_folder / "trials" / "0003", lambda lines: ["no table", *lines[1:]])
        edit_column(run_folder / "trials" / "0004", "duration_ms", lambda text: f"{float(text):.6f}4")
        assert compact([str(run_folder)]) == 0
        error = capsys.readouterr().err
        assert "trial 2 stays as it is: origin.log.gz is missing" in error
        assert "trial 3 stays as it is: samples.csv.gz has another header" in error
        assert "trial 4 stays as it is: it has 60 durations with a part of a nanosecond" in error
        assert (run_folder / "trials" / "0003" / "samples.csv.gz").is_file()
        assert not (run_folder / "trials" / "0001" / "samples.csv.gz").exists()

    def test_names_a_file_that_was_changed_or_is_missing(self, run_folder):
        assert compact([str(run_folder)]) == 0
        with (run_folder / "trials" / "0001" / "samples.parquet").open("ab") as file:
            file.write(b"x")
        (run_folder / "trials" / "0002" / "samples.parquet").unlink()
        edit_json(run_folder / "trials" / "0003" / "trial.json", lambda trial: trial["log_lines"].update(edge=7))
        edit_json(run_folder / "trials" / "0004" / "trial.json", lambda trial: trial["compact"].update(files=3))
        run = read_run(run_folder)
        load(run).close()
        assert run.trials[0].problems == ["samples.parquet is not the file that trial.json names"]
        assert run.trials[1].problems == ["samples.parquet is missing"]
        assert "lines, and trial.json says 7" in run.trials[2].problems[0]
        assert run.trials[3].problems == ["trial.json: files is missing or not of type dict"]
