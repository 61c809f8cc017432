"""The colours of figures, on a light page and on a dark one.

The hues are those of Okabe and Ito ("Color universal design", 2008). Three of them are too pale for a line on white,
and blue is too dark for one on a dark page, so they differ by page: every line has a contrast of 3:1 or more on both
(WCAG 2.2, 1.4.11). The colours of text, grid and background are those of templates/report.css.
"""

INK = "#1d2330"
MUTED = "#5b6472"
GRID = "#dfe3e8"
PAPER = "#ffffff"
OKABE_ITO = {  # of lines and marks
    "black": INK,
    "orange": "#c08000",
    "sky_blue": "#3a93c9",
    "green": "#009e73",
    "yellow": "#978c00",
    "blue": "#0072b2",
    "vermilion": "#d55e00",
    "purple": "#cc79a7",
}
# Areas are told apart by their hatches and neighbours, and keep the original colours.
AREAS = OKABE_ITO | {"orange": "#e69f00", "sky_blue": "#56b4e9", "yellow": "#f0e442"}
DARK = {  # {a colour on a light page: that on a dark one}; colours that are not here are the same on both
    INK: "#e8ebf0",
    MUTED: "#a3adbb",
    GRID: "#343d4b",
    PAPER: "#1b212b",
    OKABE_ITO["orange"]: AREAS["orange"],
    OKABE_ITO["sky_blue"]: AREAS["sky_blue"],
    OKABE_ITO["yellow"]: AREAS["yellow"],
    OKABE_ITO["blue"]: "#2a8fd0",
}


def dark(colour: str) -> str:
    """The colour on a dark page of `colour`, "#rrggbb" as on a light page."""
    return DARK.get(colour, colour)
