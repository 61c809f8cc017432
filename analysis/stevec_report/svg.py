"""Makes matplotlib's SVG fit to stand beside others in one HTML page."""

import re

from markupsafe import Markup, escape


def scope(svg, prefix):
    """Return `svg` with every id, and what refers to it, begun with `prefix`; without comments and metadata.

    An id is unique in a page, not in an inline SVG: the outlines of one letter would otherwise come from
    another figure. The same holds for its style sheet, which would style the whole page.
    """
    svg = re.sub(r"<!--.*?-->\n?", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r'href="#', f'href="#{prefix}-', svg)
    svg = re.sub(r"url\(#", f"url(#{prefix}-", svg)
    svg = re.sub(r'(<style type="text/css">)\*', rf"\1#{prefix} *", svg)
    return svg.replace("<svg ", f'<svg id="{prefix}" ', 1)


def inline(svg, title):
    """Return `svg` (already scoped) as markup for an HTML page: without prolog and size, named `title`."""
    svg = svg[svg.index("<svg ") :].strip()
    head, body = svg.split(">", 1)
    head = re.sub(r'\s(width|height)="[^"]*"', "", head)
    return Markup(f'{head} role="img" aria-label="{escape(title)}">{body}')
