"""SVG files: small, legible on a light and on a dark page, and apart from each other on one page."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from stevec_report import palette, plot_style, svg

LINE_CONTRAST_MIN = 3.0  # WCAG 2.2, 1.4.11
TEXT_CONTRAST_MIN = 4.5  # WCAG 2.2, 1.4.3
CURVE = [at * at for at in range(60)]


def draw(label="reads"):
    with plot_style.style():
        figure, (axes,) = plot_style.new_figure(2.0)
        axes.plot(CURVE, marker="o", color=plot_style.OKABE_ITO["blue"], label=label)
        axes.scatter([1, 2], [3000, 2000], facecolor="none", edgecolor=plot_style.MUTED)
        axes.set_title("a < b & c")
        plot_style.legend_above(figure, axes, 1)
        return plot_style.to_svg(figure)


def channel(value):
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def luminance(colour):
    red, green, blue = (channel(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("name", palette.OKABE_ITO)
def test_every_line_stands_out_on_both_pages(name):
    colour = palette.OKABE_ITO[name]
    assert contrast(colour, palette.PAPER) >= LINE_CONTRAST_MIN
    assert contrast(palette.dark(colour), palette.dark(palette.PAPER)) >= LINE_CONTRAST_MIN


@pytest.mark.parametrize("colour", [palette.INK, palette.MUTED])
def test_all_text_can_be_read_on_both_pages(colour):
    assert contrast(colour, palette.PAPER) >= TEXT_CONTRAST_MIN
    assert contrast(palette.dark(colour), palette.dark(palette.PAPER)) >= TEXT_CONTRAST_MIN


def test_colours_of_the_page_are_those_of_its_figures():
    style = (Path(svg.__file__).parent / "templates/report.css").read_text(encoding="utf-8")
    cards = re.findall(r"--card: (#[0-9a-f]{6}); --ink: (#[0-9a-f]{6}); --muted: (#[0-9a-f]{6})", style)
    names = (palette.PAPER, palette.INK, palette.MUTED)
    assert cards[:2] == [names, tuple(palette.dark(name) for name in names)]


def test_a_file_has_a_background_and_its_own_dark_colours():
    text = draw()
    ET.fromstring(text)
    assert svg.BACKGROUND in text
    light, dark = re.search(
        r"<style>(.*)@media screen and \(prefers-color-scheme:dark\)\{(.*)\}</style>", text
    ).groups()
    assert palette.INK in light and palette.dark(palette.INK) in dark
    assert not {colour for colour in palette.DARK if colour in dark}


def test_a_figure_of_a_page_lies_on_the_page():
    text = svg.inline(draw(), "one & two")
    assert text.startswith("<svg ") and svg.BACKGROUND not in text
    assert 'role="img" aria-label="one &amp; two"' in text
    assert not re.search(r"<svg[^>]* (width|height)=", text)


def test_ids_and_selectors_are_below_the_prefix():
    text = svg.scope(draw(label='#figure id="figure'), "e-1")
    ids = re.findall(r'\bid="([^"]+)"', re.sub(r"<text.*?</text>", "", text))
    assert ids[0] == "e-1" and all(name.startswith("e-1-") for name in ids[1:])
    assert {*re.findall(r'(?:href="|url\()#([^")]+)', text)} == {*ids[1:]}
    selectors = re.findall(r"[}{>]([^{}@<>]+)\{", re.search(r"<style>.*</style>", text)[0])
    assert selectors and all(selector.startswith("#e-1") for selector in selectors)
    assert '#figure id="figure' in text, "the words of a label stay as they are"


def test_text_stays_text_and_numbers_are_short():
    text = draw()
    assert ">a &lt; b &amp; c</text>" in text
    outlines = re.sub(r"<style>.*</style>|<defs>.*?</defs>", "", text)
    numbers = re.findall(r"-?\d+\.(\d+)", " ".join(re.findall(r' (?:d|x|y|transform)="([^"]*)"', outlines)))
    assert numbers and max(map(len, numbers)) == svg.DECIMALS


def test_the_curve_goes_where_matplotlib_drew_it():
    (path,) = (one for one in re.findall(r' d="M([^"CzQ]*)"', draw()) if one.count(" ") > 20)
    numbers = [float(number) for number in path.replace("L", " ").split()]
    xs, ys = numbers[::2], numbers[1::2]
    assert xs == sorted(xs) and ys == sorted(ys, reverse=True)
    share = (ys[0] - ys[len(ys) // 2]) / (ys[0] - ys[-1])
    x_share = (xs[len(xs) // 2] - xs[0]) / (xs[-1] - xs[0])
    assert share == pytest.approx(x_share**2, abs=0.02)


def test_the_same_figure_gives_the_same_bytes():
    assert draw() == draw()
