"""Reads the lines of a recorded trace one by one, however hostile the file, in bounded memory."""

import gzip
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

LINE_MAX_BYTES = 65_536
BYTES_MAX = 64 * 1024**3  # unpacked
GZIP_MAGIC = b"\x1f\x8b"


class TraceError(Exception):
    """A trace cannot be used; `str(error)` says why, and at which line where that matters."""


def read_lines(path: str) -> Iterator[bytes | None]:
    """Yield each line of the file `path` without its end, or of standard input for "-"; None for a line of more than
    `LINE_MAX_BYTES`.

    A file packed with gzip is unpacked. TraceError if the file cannot be read or unpacked, or is larger than
    `BYTES_MAX`.
    """
    number = total = 0
    try:
        with _opened(path) as file:
            while line := file.readline(LINE_MAX_BYTES + 1):
                number += 1
                total += len(line)
                too_long = len(line) > LINE_MAX_BYTES
                while too_long and not line.endswith(b"\n") and (line := file.readline(LINE_MAX_BYTES)):
                    total += len(line)
                    _check_size(path, total)
                _check_size(path, total)
                yield None if too_long else line.rstrip(b"\r\n")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise TraceError(f"{path} cannot be unpacked after line {number} ({error})") from error
    except OSError as error:
        raise TraceError(f"{path} cannot be read ({error.strerror})") from error


def _check_size(path: str, total: int) -> None:
    if total > BYTES_MAX:
        raise TraceError(f"{path} has more than {BYTES_MAX // 1024**3} GiB: replay a part of it")


@contextmanager
def _opened(path: str) -> Iterator[IO[bytes] | gzip.GzipFile]:
    if path == "-":
        yield _unpacked(sys.stdin.buffer)
        return
    with Path(path).open("rb") as file:
        yield _unpacked(file)


def _unpacked(file: IO[bytes]) -> IO[bytes] | gzip.GzipFile:
    packed = file.peek(2)[:2] == GZIP_MAGIC  # type: ignore[attr-defined]
    return gzip.open(file) if packed else file
