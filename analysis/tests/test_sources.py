"""Rules for every source file: types that agree, at most 300 lines, functions of at most 60 unless explained."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ANALYSIS = Path(__file__).parents[1]
SOURCES = [file for file in sorted(ANALYSIS.rglob("*.py")) if "tests" not in file.relative_to(ANALYSIS).parts]
FILE_LINES_MAX = 300
FUNCTION_LINES_MAX = 60
REASON = "# Long: "  # with the reason, in the line above a function


def long_parts(text):
    """Return descriptions of what is too long in a source file."""
    lines = text.splitlines()
    found = [f"{len(lines)} lines"] if len(lines) > FILE_LINES_MAX else []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = node.end_lineno - node.lineno + 1
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            explained = first > 1 and lines[first - 2].strip().startswith(REASON)
            if length > FUNCTION_LINES_MAX and not explained:
                found.append(f"{node.name}: {length} lines")
    return found


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: file.relative_to(ANALYSIS).as_posix())
def test_no_source_is_too_long(file):
    assert long_parts(file.read_text(encoding="utf-8")) == []


def test_a_long_function_needs_a_reason():
    function = "def work():\n" + "    pass\n" * FUNCTION_LINES_MAX
    assert long_parts(function) == [f"work: {FUNCTION_LINES_MAX + 1} lines"]
    assert long_parts(f"# Long: a table\n{function}") == []
    assert long_parts("x = 1\n" * (FILE_LINES_MAX + 1)) == [f"{FILE_LINES_MAX + 1} lines"]


def check_types(*arguments):
    """Run mypy with the project's settings; return its exit status and its output."""
    command = [sys.executable, "-m", "mypy", *arguments]
    done = subprocess.run(command, cwd=ANALYSIS, capture_output=True, text=True, check=False, timeout=600)
    return done.returncode, done.stdout + done.stderr


def test_the_types_agree():
    status, said = check_types()
    assert status == 0, said


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def count() -> int:\n    return 'one'\n", "Incompatible return value type"),
        ("def count(trials):\n    return len(trials)\n", "missing a type annotation"),
    ],
)
def test_a_wrong_or_missing_type_is_an_error(tmp_path, source, words):
    file = tmp_path / "planted.py"
    file.write_text(source, encoding="utf-8")
    status, said = check_types(str(file))
    assert status == 1
    assert words in said
