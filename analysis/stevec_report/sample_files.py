"""Reads the compressed files of a trial to their end, which checks their length and checksum."""

import gzip
import hashlib
import zlib
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO

from stevec_report.compact_form import Compact
from stevec_report.wording import count_of

FILE_MAX_BYTES = 8_000_000_000  # of one decompressed file
CHUNK_BYTES = 1 << 20


def check_logs(folder: Path, log_lines: dict[str, int]) -> list[str]:
    """Return sentences on log files that are missing, damaged, or not of the length given in trial.json."""
    problems = []
    for name, expected in sorted(log_lines.items()):
        file_name = f"{name}.log.gz"
        try:
            lines = count_lines(folder / file_name)
        except (OSError, ValueError) as error:
            problems.append(f"{file_name} {describe_error(error)}")
            continue
        if lines != expected:
            problems.append(f"{file_name} has {count_of(lines, 'line')}, and trial.json says {expected}")
    return problems


def check_compact_logs(compact: Compact, log_lines: dict[str, int]) -> list[str]:
    """Return sentences on logs, gone since, that were not of the length given in trial.json."""
    return [
        f"the log {name} had {count_of(lines, 'line')}, and trial.json says {log_lines[name]}"
        for name, lines in compact.log_lines.items()
        if name in log_lines and lines != log_lines[name]
    ]


def check_parquet(file: Path, compact: Compact) -> None:
    """Raise ValueError if `file` is not the one that trial.json names, OSError if it cannot be read."""
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    if digest != compact.files.get(file.name):
        raise ValueError("is not the file that trial.json names")


def count_lines(file: Path) -> int:
    """Return the number of lines of a compressed file; ValueError if it is damaged."""
    return decompress(file, None)


def decompress(source: Path, target: Path | None) -> int:
    """Decompress `source` to its end, into `target` unless that is None; return its number of lines.

    ValueError if the file is cut off, damaged, or larger than FILE_MAX_BYTES when decompressed.
    """
    lines = size_bytes = 0
    last = b"\n"
    try:
        with gzip.open(source, "rb") as reader, _open_target(target) as writer:
            while chunk := reader.read(CHUNK_BYTES):
                size_bytes += len(chunk)
                if size_bytes > FILE_MAX_BYTES:
                    raise ValueError(f"is larger than {FILE_MAX_BYTES} bytes when decompressed")
                if writer is None:
                    lines += chunk.count(b"\n")
                    last = chunk
                else:
                    writer.write(chunk)
    except EOFError:
        raise ValueError("is cut off before its end") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"is damaged ({error})") from error
    return lines if last.endswith(b"\n") else lines + 1


def _open_target(target: Path | None) -> AbstractContextManager[BinaryIO | None]:
    return nullcontext() if target is None else target.open("wb")


def describe_error(error: Exception) -> str:
    """Say in words what is wrong with a file, as the end of a sentence that begins with its name."""
    if isinstance(error, FileNotFoundError):
        return "is missing"
    return f"cannot be read ({error.strerror})" if isinstance(error, OSError) else str(error)
