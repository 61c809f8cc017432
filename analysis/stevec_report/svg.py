"""Makes matplotlib's SVG small and gives it the colours of the page, light or dark.

The result is a file of its own, with a background: a page may be dark while the reader's browser asks for light
pictures. `inline` takes the background away for an HTML page.
"""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator

from markupsafe import Markup, escape

from stevec_report import palette

FONTS = "'DejaVu Sans',Verdana,sans-serif"  # Verdana is as wide; what else a reader has is narrower, so labels fit
PROLOG = '<?xml version="1.0" encoding="utf-8"?>\n'
BACKGROUND = '<rect class="paper" width="100%" height="100%"/>'
DECIMALS = 1  # of coordinates, in points
MARK_DECIMALS = 2  # of the outlines of marks, which are a few points wide
NAMES = "abcdefghijklmnopqrstuvwxyz"
_SVG, _XLINK_HREF = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
_TOKEN = re.compile(r"[A-Za-z]|-?[\d.]+(?:e-?\d+)?")
_REFERENCE = re.compile(r"#([\w.-]+)")


def compact(text: str) -> str:
    """Return matplotlib's SVG `text` without what draws nothing, with classes instead of styles.

    Its ids and classes are below the id `figure`; see `scope`.
    """
    root = ET.fromstring(text)
    for metadata in root.findall(f"{_SVG}metadata"):
        root.remove(metadata)
    for parent in list(root.iter()):
        for style in parent.findall(f"{_SVG}style"):
            parent.remove(style)
    _clean(root, _short_ids(root), DECIMALS)
    rules = _take_styles(root)
    head = f'{PROLOG}<svg id="figure" xmlns="http://www.w3.org/2000/svg" viewBox="{root.get("viewBox")}" '
    size = f'width="{root.get("width")}" height="{root.get("height")}">'
    body = "".join(ET.tostring(child, encoding="unicode") for child in root).replace(" />", "/>")
    return f"{head}{size}<style>{_style_sheet(rules)}</style>{BACKGROUND}{body}</svg>\n"


def scope(text: str, prefix: str) -> str:
    """Return `text` (of `compact`) with the id `prefix` for `figure`, and so in every id and selector.

    The ids and style sheets of inline SVGs apply to the whole page. Without the prefix, a figure could take a mark
    from another.
    """

    def renamed(found: re.Match[str]) -> str:
        return re.sub(r'(\bid="|#)figure\b', rf"\1{prefix}", found[0])

    return re.sub(r"<style>.*?</style>|<[^>]*>", renamed, text)


def inline(text: str, title: str) -> Markup:
    """Return `text` (already scoped) for an HTML page: without prolog, size and background, with the name `title`."""
    head, body = text[text.index("<svg ") :].strip().replace(BACKGROUND, "", 1).split(">", 1)
    head = re.sub(r'\s(width|height)="[^"]*"', "", head)
    return Markup(f'{head} role="img" aria-label="{escape(title)}">{body}')


def _short_ids(root: ET.Element) -> dict[str, str]:
    """{id that something refers to: its short id}, in the order of the file."""
    values = (value for element in root.iter() for value in element.attrib.values())
    used = {name for value in values for name in _REFERENCE.findall(value)}
    ids = [element.get("id", "") for element in root.iter()]
    return {name: f"figure-{_name(at)}" for at, name in enumerate(own for own in ids if own in used)}


def _name(at: int) -> str:
    """a … z, ba, bb, …"""
    return ("" if at < len(NAMES) else _name(at // len(NAMES))) + NAMES[at % len(NAMES)]


def _clean(parent: ET.Element, ids: dict[str, str], decimals: int) -> None:
    """Shorten all below `parent`: ids, numbers, spaces, groups without a purpose."""
    children = []
    for child in list(parent):
        child.tag = child.tag.removeprefix(_SVG)
        inner = MARK_DECIMALS if child.tag == "defs" else decimals
        _shorten_attributes(child, ids, decimals)
        _clean(child, ids, inner)
        child.tail = None
        if child.tag != "text":
            child.text = None
        children += list(_kept(child))
    parent[:] = children


def _kept(element: ET.Element) -> Iterator[ET.Element]:
    """The element, its children if it is a bare group, or nothing if it draws nothing."""
    if element.tag in ("g", "defs") and not len(element):
        return
    if element.tag == "g" and not element.attrib:
        yield from element
        return
    style = element.get("style", "")
    draws = "stroke:#" in style or "fill:none" not in style
    if "id" in element.attrib or (draws and "opacity:0" not in style.split(";")):
        yield element


def _shorten_attributes(element: ET.Element, ids: dict[str, str], decimals: int) -> None:
    own = element.attrib
    if name := ids.get(own.pop("id", "")):
        own["id"] = name
    if _XLINK_HREF in own:
        own["href"] = own.pop(_XLINK_HREF)
    if "style" in own:
        own["style"] = re.sub(r"\s*([:;,])\s*", r"\1", own["style"]).replace("font-family:'DejaVu Sans';", "")
    if own.get("transform", "").startswith("rotate(-0 "):
        del own["transform"]
    for name, value in own.items():
        if name == "d":
            own[name] = _short_path(value, decimals)
        elif name in ("x", "y", "width", "height", "transform"):
            own[name] = re.sub(r"-?\d+\.\d+", lambda found: _short_number(float(found[0]), decimals), value)
        else:
            own[name] = re.sub(_REFERENCE, lambda found: f"#{ids.get(found[1], found[1])}", value)


def _short_path(path: str, decimals: int) -> str:
    """The same path in fewer characters: rounded, without repeated commands and points that stay in place."""
    found: list[str] = []
    letter = at = ""
    for command, numbers in _segments(path, decimals):
        target = " ".join(numbers[-2:])
        if command == "L" and target == at:
            continue
        implied = numbers and (command == letter or (letter == "M" and command == "L"))
        found += [" " if implied else command, " ".join(numbers)]
        letter, at = command, target
    return "".join(found)


def _segments(path: str, decimals: int) -> Iterator[tuple[str, list[str]]]:
    counts = {"M": 2, "L": 2, "Q": 4, "C": 6, "z": 0, "Z": 0}
    tokens = iter(_TOKEN.findall(path))
    for command in tokens:
        yield command, [_short_number(float(next(tokens)), decimals) for _ in range(counts[command])]


def _short_number(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _take_styles(root: ET.Element) -> dict[str, str]:
    """Replace each style by a class; return {style: class}, in the order of the file."""
    rules: dict[str, str] = {}
    for element in root.iter():
        style = element.attrib.pop("style", None)
        if style:
            element.set("class", rules.setdefault(style, _name(len(rules))))
    return rules


def _style_sheet(rules: dict[str, str]) -> str:
    base = {
        f"#figure{{font-family:{FONTS};stroke-linejoin:round}}": "",
        f"#figure .paper{{fill:{palette.PAPER}}}": f"#figure .paper{{fill:{palette.dark(palette.PAPER)}}}",
    }
    for style, name in rules.items():
        turned = re.sub(r"#[0-9a-f]{6}", lambda found: palette.dark(found[0]), style)
        changed = [one for one, old in zip(turned.split(";"), style.split(";"), strict=True) if one != old]
        base[f"#figure .{name}{{{style}}}"] = f"#figure .{name}{{{';'.join(changed)}}}" if changed else ""
    dark = "".join(base.values())
    return "".join(base) + f"@media screen and (prefers-color-scheme:dark){{{dark}}}"
