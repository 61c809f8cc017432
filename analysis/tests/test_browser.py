"""The page in a real browser, without the page's own scripts: the first screen, the widths of tables, and printing.

Chromium is the one of the wiki's tests. A script of the test measures a copy of the page that has no content security
policy and no script of its own.
"""

import json
import os
import re
import shutil
import subprocess

import pytest
from run_folder_fixture import build_run_folder

from stevec_report.__main__ import main

CHROMIUM = os.environ.get("CHROMIUM_BIN") or shutil.which("chromium") or shutil.which("google-chrome")
TIMEOUT_S = 120
SCREEN, PHONE = (1280, 800), (500, 900)  # Chromium has no narrower window
NARROW = 400  # of a frame in that window
MEASURE = """
const folds = [...document.querySelectorAll('details')]
const found = {
  width: innerWidth,
  firstEnds: document.getElementById('answer').getBoundingClientRect().bottom,
  open: folds.filter((fold) => fold.open).map((fold) => fold.id),
}
for (const fold of folds) fold.open = true
found.pageOverflow = document.documentElement.scrollWidth - innerWidth
found.wide = [...document.querySelectorAll('.scroll')]
  .filter((box) => box.scrollWidth > box.clientWidth).map((box) => `${box.id} ${box.scrollWidth}`)
found.headings = [...document.querySelectorAll('h1, h2, h3, h4')].map((heading) => Number(heading.tagName[1]))
found.unnamed = [...document.querySelectorAll('table')].filter((table) => !table.caption
  || [...table.querySelectorAll('th')].some((heading) => !heading.scope)).length
document.body.replaceChildren(Object.assign(document.createElement('pre'), { textContent: JSON.stringify(found) }))
"""
IN_FRAME = """
addEventListener('load', () => {
  const inner = document.querySelector('iframe').contentWindow
  const box = inner.document.getElementById('hypotheses-table')
  const screen = box.getBoundingClientRect()
  const cells = [...box.querySelectorAll('tbody tr:first-child td')].slice(2).filter((cell) => {
    const place = cell.getBoundingClientRect()
    return place.width > 0 && place.right <= screen.right && place.left >= screen.left
  })
  const found = {
    width: inner.innerWidth, wide: box.scrollWidth - box.clientWidth, labels: cells.map((cell) => cell.dataset.label)
  }
  document.body.replaceChildren(Object.assign(document.createElement('pre'), { textContent: JSON.stringify(found) }))
})
"""

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: make setup")]


@pytest.fixture(scope="module")
def overload_report(tmp_path_factory):
    """The report of one run of an experiment with a verdict and many cells."""
    run = build_run_folder(
        tmp_path_factory.mktemp("results"),
        experiment="overload",
        repetitions=2,
        factors={"door": ["source", "cached"], "background_vus": [0, 20, 250]},
    )
    assert main([str(run)]) == 0
    return run / "report/index.html"


def browse(*arguments):
    """What Chromium prints."""
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", *arguments]
    return subprocess.run(command, capture_output=True, check=True, timeout=TIMEOUT_S).stdout.decode()


def measure(page, scratch, size, target=""):
    """What MEASURE finds of a page in a window of `size`; `target` is the hash of its address."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"<meta http-equiv.*?>|<script>.*?</script>", "", text, flags=re.DOTALL)
    copy = scratch / "page.html"
    script = f"<script>addEventListener('load', () => setTimeout(() => {{{MEASURE}}}, 200))</script></body>"
    copy.write_text(text.replace("</body>", script), encoding="utf-8")
    shown = browse(
        f"--window-size={size[0]},{size[1]}", "--virtual-time-budget=5000", "--dump-dom", f"file://{copy}{target}"
    )
    found = re.search(r"<pre>(.*?)</pre>", shown, re.DOTALL)
    assert found, shown[-500:]
    return json.loads(found[1].replace("&gt;", ">").replace("&amp;", "&"))


@pytest.fixture(scope="module")
def study_on_a_screen(reported_study, tmp_path_factory):
    """What MEASURE finds of the report of a study."""
    return measure(reported_study / "report/index.html", tmp_path_factory.mktemp("screen"), SCREEN)


def test_a_run_answers_on_the_first_screen(overload_report, tmp_path):
    found = measure(overload_report, tmp_path, SCREEN)
    assert found["open"] == []
    assert found["firstEnds"] <= SCREEN[1]


def test_a_study_answers_on_the_first_screen(study_on_a_screen):
    found = study_on_a_screen
    assert found["open"] == []
    assert found["firstEnds"] <= SCREEN[1]


def test_no_table_is_wider_than_its_place(study_on_a_screen):
    found = study_on_a_screen
    assert found["pageOverflow"] <= 0
    assert found["wide"] == []


def test_on_a_phone_only_tables_scroll(reported_study, tmp_path):
    found = measure(reported_study / "report/index.html", tmp_path, PHONE)
    assert found["pageOverflow"] <= 0
    assert found["wide"] != []


def test_the_hypotheses_stack_where_the_screen_is_narrow(reported_study, tmp_path):
    text = (reported_study / "report/index.html").read_text(encoding="utf-8")
    (tmp_path / "page.html").write_text(re.sub(r"<meta http-equiv.*?>|<script>.*?</script>", "", text, flags=re.DOTALL))
    frame = tmp_path / "frame.html"
    frame.write_text(f"<iframe src=page.html width={NARROW} height=900></iframe><script>{IN_FRAME}</script>")
    shown = browse("--allow-file-access-from-files", "--virtual-time-budget=5000", "--dump-dom", f"file://{frame}")
    found = json.loads(re.search(r"<pre>(.*?)</pre>", shown, re.DOTALL)[1])
    assert found["width"] == NARROW
    assert found["wide"] <= 0
    assert found["labels"] == ["ratio", "here (95\u202f% interval)", "the study", "p, corrected", "what could be wrong"]


def test_headings_are_in_order_and_tables_are_named(study_on_a_screen):
    found = study_on_a_screen
    assert found["headings"][0] == 1
    steps = [after - before for before, after in zip(found["headings"], found["headings"][1:], strict=False)]
    assert max(steps) <= 1
    assert found["unnamed"] == 0


def test_a_link_opens_what_it_leads_to(reported_study, tmp_path):
    found = measure(reported_study / "report/index.html", tmp_path, SCREEN, "#overload-trials-table")
    assert found["open"] == ["overload", "overload-trials-section"]


def test_all_is_open_when_printed(overload_report, tmp_path):
    plain, printed = (tmp_path / name for name in ("plain.html", "page.pdf"))
    text = overload_report.read_text(encoding="utf-8")
    folded = re.sub(r"<meta http-equiv.*?>|<script>.*?</script>", "", text, flags=re.DOTALL)
    sizes = []
    for one in (folded, folded.replace("<details", "<details open")):
        plain.write_text(one, encoding="utf-8")
        browse(f"--print-to-pdf={printed}", f"file://{plain}")
        sizes.append(len(re.findall(rb"/Type\s*/Page\b", printed.read_bytes())))
    assert sizes[0] == sizes[1] > 2
