"""The commit of the analysing code."""

import shutil
import subprocess

import pytest

from stevec_report import code_version


def git(folder, *arguments):
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    return subprocess.run(
        ["git", "-C", str(folder), *identity, *arguments], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture
def checkout(tmp_path):
    """A repository with analysis code and other code, two commits."""
    git(tmp_path, "init", "-q")
    folder = tmp_path / "analysis"
    (folder / "stevec_report").mkdir(parents=True)
    (folder / "stevec_report/page.py").write_text("1")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "analysis")
    (tmp_path / "other.js").write_text("1")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "other")
    return folder


def test_it_is_the_last_commit_that_changed_the_analysis(checkout):
    assert code_version.describe(checkout) == git(checkout, "rev-parse", "HEAD~1")


def test_changes_of_the_analysis_are_said(checkout):
    (checkout.parent / "other.js").write_text("2")
    assert "uncommitted" not in code_version.describe(checkout)
    code_version.describe.cache_clear()
    (checkout / "stevec_report/page.py").write_text("2")
    assert code_version.describe(checkout).endswith(", with uncommitted changes")


def test_outside_of_a_checkout_it_is_not_known(checkout):
    shutil.rmtree(checkout.parent / ".git")
    assert code_version.describe(checkout) == code_version.NOT_KNOWN
