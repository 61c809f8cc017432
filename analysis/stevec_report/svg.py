"""Prepares matplotlib's SVG for an HTML page with several figures."""

import re

from markupsafe import Markup, escape


def scope(svg: str, prefix: str) -> str:
    """Return `svg` with `prefix` before every id and every reference to it; without comments and metadata.

    Ids of inline SVGs share the scope of the page. Without the prefix, a letter could use an outline from
    another figure. Its style sheet, too, would apply to the whole page.
    """
    svg = re.sub(r"<!--.*?-->\n?", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r'href="#', f'href="#{prefix}-', svg)
    svg = re.sub(r"url\(#", f"url(#{prefix}-", svg)
    svg = re.sub(r'(<style type="text/css">)\*', rf"\1#{prefix} *", svg)
    return svg.replace("<svg ", f'<svg id="{prefix}" ', 1)


def inline(svg: str, title: str) -> Markup:
    """Return `svg` (already scoped) as markup for an HTML page: without prolog and size, with the name `title`."""
    svg = svg[svg.index("<svg ") :].strip()
    head, body = svg.split(">", 1)
    head = re.sub(r'\s(width|height)="[^"]*"', "", head)
    return Markup(f'{head} role="img" aria-label="{escape(title)}">{body}')
