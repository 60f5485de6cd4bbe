# SPDX-License-Identifier: Apache-2.0
"""The flame graph, the table and the sandwich of the page in a browser, with made profiles.

    pytest tests/e2e/page/test_flame.py --build BUILD-FOLDER

What is looked at is what a user sees: words on the page, what is drawn on the canvas, and what the panel
tells the page around it (web/test/stage.tsx). Each step waits for what it leads to, not for time to pass.
"""
import subprocess
import time
from pathlib import Path

import pytest

import browser

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
from selenium.webdriver.common.keys import Keys

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 8  # s, for a busy machine
ROW = 20
GRAPH = ".flame-scroller canvas"

# Notes what the graph draws: the texts of the last drawing with their places, and how much it was.
OBSERVE = """
    window.seen = {draws: 0, rects: 0, texts: []};
    const pen = CanvasRenderingContext2D.prototype;
    const {clearRect, fillRect, fillText} = pen;
    const isGraph = (pen) => pen.canvas.getAttribute('role') === 'application';
    pen.clearRect = function(...all) {
        if (isGraph(this))
            seen = {draws: seen.draws + 1, rects: 0, texts: []};
        clearRect.apply(this, all);
    };
    pen.fillRect = function(...all) { seen.rects += isGraph(this); fillRect.apply(this, all); };
    pen.fillText = function(...all) { seen.texts.push(all); fillText.apply(this, all); };
    Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (text) => { window.copied = text; }}});
"""

SERVER = """['all', 0,
    ['group:kv-server (4242)', 0,
        ['main', 1, ['parse', 20, ['malloc', 30]],
            ['run', 9, ['parse', 10, ['malloc', 15], ['copy', 5]], ['kernel:do_syscall_64', 10]]]],
    ['group:worker (7)', 0, ['idle', 30, ['mark:[truncated: stack memory not readable]', 5]], ['mark:[smaller]', 2]]]"""


class Page:
    """The stage in a browser, and what a user does with it."""

    def __init__(self, driver, address):
        self.driver = driver
        self.address = address

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def until(self, test, what):
        end = time.monotonic() + PATIENCE
        while not (result := test()):
            if time.monotonic() > end:
                pytest.fail(f"waited for {what}; drawn: {self.labels()[:20]}; {self.run('return document.body.innerText')}"[:1500])
            time.sleep(0.01)
        return result

    def show(self, answers=f"[stage.written({SERVER})]", state="{}", more=""):
        """answers, state: JavaScript."""
        draws = self.run("return seen.draws")
        self.run(f"stage.show({answers}, {{show: 'graph', ...{state}}}{more})")
        if "table" not in state:
            self.until(lambda: self.run("return seen.draws") > draws, "a drawing")

    def state(self, name):
        return self.run("return stage.state[arguments[0]]", name)

    def labels(self):
        return [text[0] for text in self.run("return seen.texts")]

    def draws(self, *labels, without=()):
        self.until(lambda: set(labels) <= set(self.labels()) and not set(without) & set(self.labels()),
                   f"{labels} without {without}")

    def sees(self, words, css="body"):
        self.until(lambda: words in " ".join(self.find(css).text.split()), f"{words!r} in {css}")

    def hears(self, words):
        """What a screen reader says."""
        self.until(lambda: words in self.run(
            "return [...document.querySelectorAll('[role=status]')].map((e) => e.textContent).join()"),
            f"{words!r} for screen readers")

    def find(self, css):
        return self.driver.find_element("css selector", css)

    def all(self, css):
        return self.driver.find_elements("css selector", css)

    def click(self, css):
        self.until(lambda: self.all(css), css)
        self.find(css).click()

    def button(self, words):
        self.until(lambda: [b for b in self.all("button") if b.text.strip() == words], f"the button {words}")
        next(b for b in self.all("button") if b.text.strip() == words).click()

    def keys(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def on(self, label, css=GRAPH):
        """An action at the frame with this label, which is drawn."""
        self.draws(label)
        text = next(text for text in self.run("return seen.texts") if text[0] == label)
        return self.at(text[1] + 4, text[2], css)

    def at(self, x, y, css=GRAPH):
        """An action at a point of an element, from its top left."""
        box = self.find(css).rect
        return ActionChains(self.driver, duration=0).move_to_element_with_offset(
            self.find(css), int(x - box["width"] / 2), int(y - box["height"] / 2))

    def touch(self, kind, *points):
        box = self.find(GRAPH).rect
        self.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [
            {"x": box["x"] + x, "y": box["y"] + y, "id": i} for i, (x, y) in enumerate(points)]})

    def rows(self):
        """The names in the table, as far as they are on the page."""
        return self.run("return [...document.querySelectorAll('.flame-row bdi')].map((e) => e.textContent)")


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    driver = browser.start(tmp_path_factory.mktemp("profile"))
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": OBSERVE})
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def stage(request, tmp_path_factory):
    folder = Path(request.config.getoption("--build")).resolve() / "web"
    if not (folder / "npm/fetched").exists():
        pytest.skip(f"there is no {folder}/npm: the page was not built (npm is missing)")
    made = tmp_path_factory.mktemp("stage")
    subprocess.run([ROOT / "web/test/stage.sh", folder, made], check=True)
    return f"file://{made}/stage.html"


@pytest.fixture
def page(driver, stage):
    """At the end the browser had nothing to complain about."""
    page = Page(driver, stage)
    browser.set_screen(driver)
    calm(driver)
    driver.get(stage)
    yield page
    assert [error for error in browser.errors(driver) if "willReadFrequently" not in error] == []


def calm(driver, motion="reduce"):
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                           {"features": [{"name": "prefers-reduced-motion", "value": motion}]})


def test_icicle_and_flame(page):
    page.show()
    page.draws("all", "kv-server (4242)", "main", "parse", "run")
    y = {text[0]: text[2] for text in page.run("return seen.texts")}
    assert y["all"] == ROW / 2 and y["main"] == 2.5 * ROW
    page.button("Flame")
    page.until(lambda: page.run("return seen.texts.find((text) => text[0] === 'all')[2]") > 400, "the root below")
    assert page.state("mode") == "flame"
    page.keys("i")
    page.until(lambda: page.state("mode") == "icicle", "icicle")


def test_zoom_by_click_and_out(page):
    page.show()
    page.on("run").click().perform()
    page.draws("run", "copy", without=["worker (7)", "idle"])
    zoom = page.state("zoom")
    assert zoom.isalnum() and len(zoom) <= 20 and page.run("return stage.steps") == 1
    assert page.run("return stage.details.path") == ["all", "kv-server (4242)", "main", "run"]
    page.keys(Keys.ESCAPE)
    page.draws("malloc", without=["idle"])  # to its caller
    page.button("Show all")
    page.draws("idle")
    assert page.state("zoom") == ""
    page.show(state=f"{{zoom: '{zoom}'}}")  # as a link brings it
    page.draws("run", without=["idle"])
    page.show(state="{zoom: 'zzzzzzzzzzzzzz'}")
    page.draws("idle")


def test_zoom_moves_unless_that_is_not_wanted(page):
    calm(page.driver, "no-preference")
    page.show()
    before = page.run("return seen.draws")
    page.on("run").click().perform()
    page.draws("copy", without=["idle"])
    assert page.run("return seen.draws") - before > 2
    zoom = page.state("zoom")
    page.driver.get(page.address)
    page.show(state=f"{{zoom: '{zoom}'}}")  # a link is there at once
    page.draws("copy", without=["idle"])
    assert page.run("return seen.draws") == 1
    page.keys(Keys.HOME)
    page.draws("idle")


def test_keys_and_words_for_screen_readers(page):
    page.show()
    page.run("document.querySelector(arguments[0]).focus()", GRAPH)
    page.keys(Keys.ARROW_DOWN)
    page.hears("all, Total 137 ns (100.00%)")
    page.keys(Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    page.hears("worker (7), Total 37 ns (27.01%)")
    page.keys(Keys.ARROW_LEFT, Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    page.hears("parse, Total 50 ns (36.50%), Self 20 ns")
    page.keys(Keys.ENTER)
    page.draws("malloc", without=["run"])
    page.keys("c")
    page.until(lambda: page.run("return window.copied") == "parse", "the name to be copied")
    page.keys(Keys.HOME)
    page.draws("idle")
    assert page.find(GRAPH).get_attribute("aria-label") == "Flame graph"
    assert page.run("return getComputedStyle(document.querySelector('.flame-graph')).boxShadow") != "none"


def test_search_counts_nested_matches_once(page):
    page.show("[stage.written(['all', 10, ['visit', 10, ['visit', 20, ['leaf', 10]]], ['other', 50]])]")
    page.keys("/", "VISIT")
    page.sees("40 ns (40.00%) in 2 frames", "output")
    page.keys(Keys.ENTER)
    page.hears("visit, Total 40 ns")
    page.keys(Keys.ESCAPE)
    page.until(lambda: page.state("search") == "", "no search")
    page.keys("/", "/o(/")
    page.sees("Not a regular expression", "output")
    page.keys(Keys.BACKSPACE, Keys.BACKSPACE, Keys.BACKSPACE, "ther|leaf/")
    page.sees("60 ns (60.00%) in 2 frames", "output")
    page.run("document.activeElement.blur()")
    page.keys("n")
    page.hears("other, Total 50 ns")
    page.keys("n")
    page.hears("leaf, Total 10 ns")
    page.keys("N")
    page.hears("other, Total 50 ns")


def test_search_in_what_is_zoomed(page):
    page.show(state="{search: 'malloc'}")
    page.sees("45 ns (32.85%) in 2 frames", "output")
    page.on("run").click().perform()
    page.sees("30.61% of zoomed", "output")
    page.button(".*")
    page.until(lambda: page.state("isRegex"), "a regular expression")


def test_the_next_match_is_shown_wherever_it_is(page):
    page.show(state="{search: 'idle'}")
    page.on("run").click().perform()
    page.draws("copy", without=["idle"])
    page.keys("n")
    page.draws("idle", "copy")
    page.hears("idle, Total 35 ns")
    assert page.state("zoom") == ""


def test_another_answer_keeps_what_is_looked_at(page):
    page.show()
    page.on("run").click().perform()
    page.draws("copy", without=["idle"])
    page.run(f"stage.update(stage.written({SERVER.replace('15', '75')}))")
    page.sees("run Total 109 ns", ".flame-bar")
    page.draws("copy", without=["idle"])
    page.run("stage.update(stage.written(['all', 0, ['other', 5]]))")
    page.draws("other")
    page.sees("Choose a frame", ".flame-bar")
    page.run(f"stage.update(stage.written({SERVER}))")
    page.draws("copy", without=["idle"])  # the link is what it was


def test_table_and_graph_share_the_search(page):
    page.show(state="{show: 'both'}")
    assert page.rows()[:3] == ["malloc", "parse", "idle"]
    page.button("Total")
    page.until(lambda: page.rows()[0] == "main", "another order")
    assert page.state("sort") == "total"
    page.button("Function")
    page.until(lambda: page.rows()[0].startswith("["), "another order")
    next(row for row in page.all(".flame-row") if "parse" in row.text).click()
    page.sees("80 ns (58.39%) in 2 frames", "output")
    assert page.state("search") == '"parse"'
    page.until(lambda: "parse" in page.find(".flame-marked").text, "the row to be marked")
    assert len(page.rows()) > 5, "all are still there"
    page.keys("/", Keys.BACKSPACE, "parse")
    page.until(lambda: page.rows() == ["parse"], "only those that were found")
    page.run("document.querySelector('.flame-table').focus()")
    page.keys(Keys.ARROW_DOWN, "s")
    page.until(lambda: page.state("sandwich"), "a sandwich")
    assert page.state("sandwich")["name"] == "parse"


def test_a_table_of_20000_functions(page):
    page.show("[stage.written(['all', 0, ...Array.from({length: 20000}, (_, i) => ['f' + i, i + 1])])]",
              "{show: 'table'}")
    page.until(lambda: page.rows()[:1] == ["f19999"], "the table")
    assert len(page.rows()) < 80
    page.run("document.querySelector('.flame-table').focus()")
    page.keys(Keys.END)
    page.until(lambda: page.rows()[-1:] == ["f0"], "the last row")
    assert len(page.rows()) < 80
    page.until(lambda: page.find(".flame-at bdi").text == "f0", "the last row chosen")


def test_hidden_frames_are_spent_by_their_callers(page):
    page.show()
    page.on("run").click().perform()
    page.keys("h")
    page.until(lambda: page.state("hide") == ['"run"'], "run to be hidden")
    page.keys(Keys.HOME)
    page.draws("idle", without=["run"])
    page.on("main").move_by_offset(1, 0).perform()
    page.sees("10 ns 7.30%", ".flame-tooltip")  # its own, and what run had
    page.click(".flame-hidden button")
    page.draws("run")
    assert page.state("hide") == []


def test_tooltip_and_what_can_be_done(page):
    page.show()
    page.on("run").click().perform()
    page.draws("run", without=["idle"])
    page.on("parse").perform()
    page.sees("parse native · /usr/bin/app of all of zoomed Total 30 ns 21.90% 61.22%", ".flame-tooltip")
    page.button("Focus")
    page.until(lambda: page.run("return stage.focused") == {"name": "run", "image": "/usr/bin/app"}, "focus")
    page.button("Details")
    assert page.run("return stage.details.name") == "run"
    page.keys("k")
    page.sees("app", ".flame-legend")


def test_marks_are_drawn_apart_and_smaller_asks_for_more(page):
    page.show("[stage.written(['all', 0, ['main', 50, ['mark:[smaller]', 50]]])]")
    page.on("[smaller]").click().perform()
    page.until(lambda: page.run("return stage.focused?.name") == "main", "the server to be asked")
    assert page.state("zoom") == ""
    pixels = page.run("""
        const canvas = document.querySelector('.flame-scroller canvas');
        const middle = canvas.getContext('2d').getImageData(10, 46, 200, 8).data;
        return new Set(Array.from({length: 1600}, (_, i) => middle.slice(4 * i, 4 * i + 3).join())).size;""")
    assert pixels > 3, "hatched"


def test_sandwich(page):
    page.show(state="{sandwich: {name: 'parse', image: ''}, show: 'both'}", more="""
        , 'light', {self: 30, total: 80, unit: 'ns', callers: stage.written(['', 0, ['run', 30, ['main', 0]], ['main', 50]]),
            callees: stage.written(['', 30, ['malloc', 45], ['copy', 5]])}""")
    page.sees("Total 80 ns (58.39%), Self 30 ns (21.90%)", ".flame-sandwich")
    assert len(page.all(GRAPH)) == 2
    page.sees("Callers", ".flame-sandwich")
    page.draws("parse")
    page.keys(Keys.ESCAPE)
    page.until(lambda: page.state("sandwich") is None and len(page.all(GRAPH)) == 1, "the graph again")


DIFF = """[stage.written(['all', 0, ['main', 10, ['new', 40], ['gone', 0], ['same', 50]]],
    ['all', 0, ['main', 10, ['new', 0], ['gone', 40], ['same', 50]]])]"""


def test_comparison(page):
    page.show(DIFF, "{colour: 'change', show: 'both', sort: 'change'}")
    page.sees("blue shrank, red grew", ".flame-legend")
    page.sees("+40.00 points", ".flame-table")
    page.sees("−40.00 points", ".flame-table")
    assert {"new", "gone"} == set(page.rows()[:2])
    page.on("new").perform()
    page.sees("grew: +40.00 points, new", ".flame-tooltip")
    page.sees("Total before 0 ns 0.00%", ".flame-tooltip")
    page.keys("/", "gone")
    page.sees("0 ns (0.00%) in 1 frame, before 40.00%", "output")


def test_two_beside_each_other_share_the_zoom(page):
    page.show(f"[stage.written({SERVER}), stage.written({SERVER})]")
    page.until(lambda: len(page.all(GRAPH)) == 2, "two graphs")
    page.sees("side 2")
    page.on("run").click().perform()
    page.until(lambda: page.state("zoom"), "zoom")
    page.until(lambda: page.run("""return [...document.querySelectorAll('.flame-mark')]
        .every((mark) => !mark.hidden && mark.offsetWidth < 300)"""), "both to be zoomed")


def test_wheel_drag_and_map(page):
    page.show("[stage.made(3000)]")
    mark = "return document.querySelector('.flame-mark').getBoundingClientRect().toJSON()"
    whole = page.run(mark)["width"]
    origin = ScrollOrigin.from_element(page.find(GRAPH))
    ActionChains(page.driver).key_down(Keys.CONTROL).scroll_from_origin(origin, 0, -600).key_up(Keys.CONTROL).perform()
    page.until(lambda: 0 < page.run(mark)["width"] < whole / 2, "closer")
    before = page.run(mark)
    page.at(600, 100).click_and_hold().move_by_offset(-200, 0).release().perform()
    page.until(lambda: page.run(mark)["x"] > before["x"] + 5, "the graph moved")
    assert page.state("zoom") == "", "a drag is no click"
    page.at(30, 20, ".flame-map canvas").click().perform()
    page.until(lambda: page.run(mark)["x"] < 60, "the mark to come")
    page.run("document.querySelector(arguments[0]).focus()", GRAPH)
    page.keys(Keys.ESCAPE)
    page.until(lambda: page.run(mark)["width"] in (0, whole), "the whole again")


def test_the_tooltip_follows_what_the_wheel_moves(page):
    page.show("[stage.written(['all', 0, ['left', 50], ['right', 50]])]")
    page.at(400, ROW + 5).perform()
    page.sees("left", ".flame-tooltip")
    origin = ScrollOrigin.from_element(page.find(GRAPH))
    ActionChains(page.driver).key_down(Keys.CONTROL).scroll_from_origin(origin, 0, -300).key_up(Keys.CONTROL).perform()
    page.at(400, ROW + 5).perform()
    page.sees("left", ".flame-tooltip")
    page.run("""arguments[0].dispatchEvent(new WheelEvent('wheel', {deltaX: 500, bubbles: true, cancelable: true,
        clientX: arguments[0].getBoundingClientRect().x + 400,
        clientY: arguments[0].getBoundingClientRect().y + arguments[1]}))""", page.find(GRAPH), ROW + 5)
    page.sees("right", ".flame-tooltip")


def test_fingers(page):
    browser.set_screen(page.driver, width=400)
    page.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})
    try:
        page.show("[stage.made(3000)]")
        mark = "return document.querySelector('.flame-mark').offsetWidth"
        page.touch("touchStart", (150, 200))
        page.touch("touchStart", (150, 200), (250, 200))
        for i in range(5):
            page.touch("touchMove", (140 - 20 * i, 200), (260 + 20 * i, 200))
        page.touch("touchEnd")
        page.until(lambda: 0 < page.run(mark) < 300, "closer")
        assert page.state("zoom") == ""
    finally:
        page.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})


def test_the_canvas_is_no_larger_than_the_window(page):
    page.show("""(() => {
        let deep = ['leaf', 1];
        for (let i = 0; i < 1000; i++)
            deep = ['visit ' + (1000 - i), Number(i === 999), deep];
        return [stage.written(deep)];
    })()""")
    page.draws("visit 2")
    assert page.find(GRAPH).rect["height"] < 800
    page.run("document.querySelector('.flame-scroller').scrollTop = 1e6")
    page.draws("leaf", without=["visit 2"])
    page.keys("/", "leaf")
    page.sees("(50.00%) in 1 frame", "output")
    page.run("document.querySelector('.flame-scroller').scrollTop = 0")
    page.draws("visit 2")
    page.keys(Keys.ENTER)
    page.draws("leaf")


def test_what_is_drawn_is_bounded(page):
    page.show("[stage.made(100000)]")
    assert page.run("return seen.rects") < 45 * 1280
    assert page.run("return seen.draws") <= 2


HOSTILE = """['all', 0, ['\\u202e</script><img src=x onerror=window.hacked=1>\\u0007', 50, ['שלום', 20]],
    ['n'.repeat(100000), 40]]"""


def test_hostile_names_are_only_text(page):
    page.show(f"[stage.written({HOSTILE})]", "{show: 'both', search: 'n'}")
    page.until(lambda: len(page.rows()) == 2, "the table")
    page.at(100, ROW * 1.5).click().perform()
    page.until(lambda: page.run("return stage.details"), "details")
    page.sees("</script><img", ".flame-bar")
    shown = page.run("return document.body.innerText + seen.texts.map((text) => text[0]).join('')")
    assert not any(c in shown for c in "\u202e\x07")
    assert page.run("return window.hacked ?? document.querySelectorAll('img, body script:not([src])').length") == 0
    assert page.run("return stage.details.name").startswith("\u202e"), "the page asks the server by the true name"
    assert page.run("return document.documentElement.scrollWidth") <= 1280


def test_nothing(page):
    page.show("[stage.written(['all', 0])]")
    page.sees("Nothing was recorded here.")
    assert page.run("return document.querySelector('.flame-mark').hidden")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_on_a_narrow_screen(page, theme):
    browser.set_screen(page.driver, width=400, ratio=2)
    page.show("[stage.made(3000, {isDiff: true})]", "{show: 'both', colour: 'change'}", f", '{theme}'")
    assert page.run("return document.documentElement.scrollWidth") <= 400
    assert page.find(GRAPH).rect["width"] > 300
    assert page.find(GRAPH).rect["height"] > 100
    box = page.find(".flame-table").rect
    assert box["width"] > 300 and box["height"] > 100
