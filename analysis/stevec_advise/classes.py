"""Which class of URLs an URL belongs to: what one rule of a cache can tell apart."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

CLASSES_MAX = 20
PATTERN_MAX_CHARS = 500
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
EXTENSIONS = (
    *("avif", "bmp", "gif", "ico", "jpeg", "jpg", "png", "svg", "webp"),
    *("css", "js", "map", "mjs", "otf", "ttf", "woff", "woff2"),
    *("mp3", "mp4", "pdf", "webm", "zip"),
)
SEGMENT = re.compile(r"/([A-Za-z0-9._~-]{1,40})/")


class ClassError(Exception):
    """A class cannot be used; `str(error)` says why."""


@dataclass(frozen=True)
class UrlClass:
    """URLs whose path matches `pattern`, and that of no class before it. `pattern` is for nginx, Varnish and Python."""

    name: str
    pattern: str


def class_given(text: str) -> UrlClass:
    """Parse `name=pattern`, such as `pages=^/wiki/`. ClassError if it is none."""
    name, equals, pattern = text.partition("=")
    if not equals or not NAME.fullmatch(name):
        raise ClassError(f"a class is NAME=PATTERN, such as pages=^/wiki/, not {text[:60]!r}")
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ClassError(f"the pattern of the class {name} is no regular expression ({error})") from None
    # What goes into a configuration in quotes.
    if not 1 <= len(pattern) <= PATTERN_MAX_CHARS or not pattern.isprintable() or re.search(r"[\"';\s{}]", pattern):
        raise ClassError(f"the pattern of the class {name} has at most {PATTERN_MAX_CHARS} characters, without "
                         "quotes, spaces, braces and semicolons")  # fmt: skip
    return UrlClass(name, pattern)


def path_of(url: str) -> str:
    """The path of a request target, without its query."""
    if not url.startswith("/"):
        url = "/" + re.sub(r"^[a-z]+://[^/]*/?", "", url, flags=re.IGNORECASE)
    return url.partition("?")[0]


def normal_path_of(url: str) -> bytes:
    """The path with its escapes resolved, so that an edit and a read of a page have the same one."""
    return unquote_to_bytes(path_of(url).encode("utf-8", "surrogateescape"))


FILES = UrlClass("files", rf"(?i)\.({'|'.join(EXTENSIONS)})$")
TOP = UrlClass("top", "^/[^/]*$")


def usual_class_of(path: str) -> UrlClass:
    """The class of a path where none is given: files by their extensions, everything else by its first folder."""
    if re.search(FILES.pattern, path):
        return FILES
    match = SEGMENT.match(path)
    return TOP if match is None else UrlClass(f"/{match[1]}/", f"^/{re.escape(match[1])}/")


class Classifier:
    """Finds the class of each path. Without `given` classes there is one for files, and one for each folder at the
    top. `classes` are in the order in which their patterns are tried."""

    def __init__(self, given: Sequence[UrlClass]) -> None:
        """Begin with these classes, in this order. ClassError for too many, or two of one name."""
        if len(given) > CLASSES_MAX:
            raise ClassError(f"there are more than {CLASSES_MAX} classes")
        if len({one.name for one in given}) < len(given):
            raise ClassError("two classes have one name")
        self._patterns = [re.compile(one.pattern) for one in given]
        self.classes = list(given or [FILES])

    def number_of(self, path: str) -> int:
        """The place in `classes` of the class of a path; -1 for a path of none."""
        if self._patterns:
            return next((number for number, pattern in enumerate(self._patterns) if pattern.search(path)), -1)
        found = usual_class_of(path)
        if found not in self.classes:
            if len(self.classes) >= CLASSES_MAX:
                return -1
            self.classes.append(found)
        return self.classes.index(found)
