# SPDX-License-Identifier: Apache-2.0
"""The page of `report --format html` in a browser, opened from a file as a user does.

    pytest tests/e2e/page --build BUILD-FOLDER

How the flame graph itself behaves is in test_flame.py: here is what is of this page alone.

Needs Debian's chromium, chromium-driver and python3-selenium; without them the tests are skipped.
What is looked at is what a user sees: the words on the page and the pixels of the canvas.
"""
import os
import subprocess
import time

import pytest

import browser

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

# Counts what is drawn and how long each animation frame takes; runs before the page's own script.
OBSERVE = """
	window.seen = {draws: 0, rects: 0, texts: [], frames: []};
	const pen = CanvasRenderingContext2D.prototype;
	const {clearRect, fillRect, fillText} = pen;
	const isGraph = (pen) => pen.canvas.getAttribute('role') === 'application';
	pen.clearRect = function(...all) {
		if (isGraph(this))
			Object.assign(seen, {draws: seen.draws + 1, rects: 0, texts: []});
		clearRect.apply(this, all);
	};
	pen.fillRect = function(...all) { seen.rects += isGraph(this); fillRect.apply(this, all); };
	pen.fillText = function(...all) { seen.texts.push(all[0]); fillText.apply(this, all); };
	const request = seen.request = requestAnimationFrame.bind(window);
	window.requestAnimationFrame = (draw) => request((now) => {
		const began = performance.now();
		draw(now);
		seen.frames.push(performance.now() - began);
	});
"""


SEARCH = ".flame-search input"
FOUND = ".flame-search output"
CRUMBS = ".flame-crumbs"
CHOSEN = ".flame-about b"
GRAPH = ".flame-scroller canvas"


class Page:
    """A page in a browser, and what a user does with it."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, path):
        self.driver.get(f"file://{path}")
        self.settle()

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def settle(self, seconds=5):
        """Waits until the browser has made three frames in which nothing was drawn, however long it takes for one."""
        self.driver.execute_async_script("""
            const [seconds, done] = arguments, end = performance.now() + 1000 * seconds;
            let draws = -1, calm = 0;
            const look = () => {
                calm = seen.draws === draws ? calm + 1 : 0;
                draws = seen.draws;
                if (draws ? calm >= 3 : performance.now() > end)
                    done();
                else
                    seen.request(look);
            };
            look();""", seconds)

    def find(self, css):
        return self.driver.find_element("css selector", css)

    def text(self, css):
        return self.find(css).text

    def click(self, css):
        self.find(css).click()
        self.settle()

    def keys(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()
        self.settle()

    def search(self, text):
        field = self.find(SEARCH)
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(text)
        self.settle()

    def labels(self):
        return self.run("return seen.texts")

    def click_frame(self, x, y):
        """Clicks a point of the canvas, counted from its bottom left."""
        box = self.find(GRAPH).rect
        ActionChains(self.driver).move_to_element_with_offset(
            self.find(GRAPH), int(x - box["width"] / 2), int(box["height"] / 2 - y)).click().perform()
        self.settle()

    def colours(self):
        """The colours of the middle of each row, from the bottom up, at the left edge."""
        return self.run("""
            const canvas = document.querySelector('.flame-scroller canvas');
            const pen = canvas.getContext('2d');
            const rows = [];
            for (let y = canvas.height - 4; y > 0; y -= 20)
                rows.push([...pen.getImageData(1, y, 1, 1).data].join());
            return rows;""")

    def errors(self):
        return [entry["message"] for entry in self.driver.get_log("browser")
                if "willReadFrequently" not in entry["message"]]  # advice against colours()

    def requests(self):
        """All addresses that were asked for since the last call."""
        return browser.requests(self.driver)


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    driver = browser.start(tmp_path_factory.mktemp("profile"))
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": OBSERVE})
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def sample(request, tmp_path_factory):
    """Makes a page; the same one is made once."""
    folder = tmp_path_factory.mktemp("pages")
    tool = os.path.join(request.config.getoption("--build"), "tests/unit/show/flame_sample")
    if not os.path.exists(tool):
        pytest.skip(f"there is no {tool}")

    def make(shape, nodes):
        path = folder / f"{shape}-{nodes}.html"
        if not path.exists():
            subprocess.run([tool, "html", shape, str(nodes), path], check=True)
        return path
    return make


@pytest.fixture
def page(driver, sample):
    """Opens pages; afterwards nothing was reported and nothing was fetched but the pages."""
    page = Page(driver)
    page.make = sample
    browser.set_screen(driver)
    page.errors(), page.requests()
    yield page
    assert page.errors() == []
    assert [url for url in page.requests() if not url.startswith("file:///")] == []


def crumbs(page):
    return [button.text for button in page.driver.find_elements("css selector", CRUMBS + " button")]


def test_draws_from_the_root_up(page):
    page.open(page.make("server", 3000))
    assert page.text("h1") == "on-cpu, 10.0 s on host7, 2026-11-21 14:32:08"
    assert page.text("#summary").startswith("on-cpu, total 38.657 s")
    assert "3,000 frames" in page.text("#summary")
    assert {"all", "kv-server (4242)", "worker-0 (4243)"} <= set(page.labels())
    rows = page.colours()
    assert rows[0] == "223,227,232,255"  # the root, in the colour of groups
    assert len({row for row in rows if not row.endswith(",0")}) > 2
    assert page.text(".flame-legend").split("\n") == ["native", "kernel", "JIT", "no code", "found by a guess"]


def test_zoom_crumbs_back_and_whole(page):
    page.open(page.make("server", 3000))
    assert not page.find("#back").is_enabled()
    page.click_frame(100, 50)
    assert crumbs(page) == ["all", "kv-server (4242)", "worker-0 (4243)"]
    assert "worker-1 (4244)" not in page.labels()
    page.click_frame(100, 70)
    assert len(crumbs(page)) == 4
    page.click("#back")
    assert crumbs(page)[-1] == "worker-0 (4243)"
    page.click(CRUMBS + " button:nth-of-type(2)")
    assert crumbs(page)[-1] == "kv-server (4242)"
    page.keys(Keys.HOME)
    assert crumbs(page) == ["all"]
    assert "worker-1 (4244)" in page.labels()
    page.keys(Keys.BACKSPACE)
    assert crumbs(page)[-1] == "kv-server (4242)"


def test_search_counts_nested_matches_once(page):
    page.open(page.make("deep", 1000))
    page.search("visit")
    assert page.text(FOUND) == "999.000 us (100.00%) in 999 frames"
    page.open(page.make("server", 3000))
    page.search("worker-0")
    total = page.text(FOUND)
    assert "in 1 frame" in total and "53." in total
    page.click(".flame-search button")
    page.search("worker-[01] ")
    assert "80.00%" in page.text(FOUND)
    page.search("(")
    assert page.text(FOUND) == "Not a regular expression"
    page.find(SEARCH).send_keys(Keys.ESCAPE)
    assert page.text(FOUND) == ""


def test_matches_stand_out_even_when_narrow(page):
    page.open(page.make("wide", 100000))
    page.search("odd")
    assert "in 50,000 frames" in page.text(FOUND)
    assert page.colours()[1] == "156,39,176,255"
    page.search("nothing like it")
    assert "in 0 frames" in page.text(FOUND)
    assert page.colours()[1] != "156,39,176,255"


def test_keys(page):
    page.open(page.make("server", 3000))
    page.run("document.querySelector('.flame-scroller canvas').focus()")
    page.keys(Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_UP)
    assert page.text(CHOSEN) == "worker-0 (4243)"
    page.keys(Keys.ARROW_RIGHT)
    assert page.text(CHOSEN) == "worker-1 (4244)"
    page.keys(Keys.ENTER)
    assert crumbs(page)[-1] == "worker-1 (4244)"
    page.keys(Keys.ARROW_DOWN)
    assert page.text(CHOSEN) == "kv-server (4242)"
    page.keys(Keys.BACKSPACE)
    assert crumbs(page) == ["all"]
    page.keys("/", "malloc", Keys.ENTER)
    assert page.text(CHOSEN) == "malloc"
    first = page.text(".flame-about")
    page.keys(Keys.ESCAPE)
    page.keys("/", "malloc")
    page.run("document.activeElement.blur()")
    page.keys("n", "n", "N")
    assert page.text(".flame-about") == first
    page.keys("k")
    assert "kv-server" in page.text(".flame-legend")
    page.keys("?")
    assert page.find("#help-dialog").is_displayed()
    page.keys(Keys.ESCAPE)
    assert not page.driver.find_elements("css selector", "#help-dialog")


def test_nothing_is_offered_that_needs_a_server(page):
    page.open(page.make("server", 3000))
    page.click_frame(100, 90)
    assert page.find(".flame-actions").text.split("\n") == ["Copy", "Hide"]
    page.keys("f", "s", "v")
    assert page.driver.find_elements("css selector", ".flame-row")
    assert not page.driver.find_elements("css selector", ".flame-open, .flame-sandwich")


def test_icicle_has_its_root_at_the_top(page):
    page.open(page.make("server", 3000))
    bottom = page.colours()[0]
    page.keys("i")
    assert page.run("""return [...document.querySelector('.flame-scroller canvas').getContext('2d')
        .getImageData(1, 4, 1, 1).data].join()""") == bottom
    page.run("document.querySelector('.flame-scroller canvas').focus()")
    page.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert page.text(CHOSEN) == "kv-server (4242)"


def test_tooltip(page):
    page.open(page.make("server", 3000))
    page.click_frame(100, 50)
    canvas = page.find(GRAPH)
    ActionChains(page.driver).move_to_element_with_offset(
        canvas, 0, int(canvas.rect["height"] / 2 - 50)).perform()
    tip = page.text(".flame-tooltip")
    assert "worker-0 (4243)" in tip
    assert "of all of zoomed" in tip and "100.00%" in tip


def test_functions(page):
    page.open(page.make("server", 3000))
    page.keys("v")
    page.keys("v")
    rows = page.driver.find_elements("css selector", ".flame-row")
    assert len(rows) > 20
    page.find(".flame-head .flame-total button").click()
    assert page.find(".flame-head .flame-total").get_attribute("aria-sort") == "descending"
    name = page.run("return document.querySelector('.flame-row bdi').textContent")
    assert page.text(".flame-row .flame-total").endswith("%")
    page.click(".flame-row")
    assert page.find(SEARCH).get_attribute("value") == f'"{name}"'
    assert "%" in page.text(FOUND)


def test_functions_are_those_of_the_zoomed_frame(page):
    page.open(page.make("server", 3000))
    page.keys("v")
    whole = page.text(".flame-row .flame-self")
    page.keys("v")
    page.keys("v")
    page.click_frame(1000, 50)
    page.keys("v")
    assert page.text(".flame-row .flame-self") != whole


def test_diff(page):
    page.open(page.make("diff", 3000))
    assert page.find(".flame-colours select").get_attribute("value") == "change"
    assert "blue shrank, red grew" in page.text(".flame-legend")
    page.run("document.querySelector('.flame-scroller canvas').focus()")
    page.keys(Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_UP)
    assert "points" in page.text(".flame-about")
    now = page.run("return seen.texts.join()")
    page.keys("w")
    assert page.find('.flame-choice[aria-label="Widths"] [aria-pressed="true"]').text == "Before"
    assert page.run("return seen.texts.join()") != now
    page.keys("v")
    assert "Change" in page.text(".flame-head")


def test_hostile_names_are_only_text(page):
    page.open(page.make("hostile", 3000))
    assert page.driver.title == "<title> & </title><script>window.hacked = 1</script>"
    page.keys("v")
    page.keys("v")
    page.keys("v")
    page.run("document.querySelector('.flame-scroller canvas').focus()")
    for _ in range(12):
        page.keys(Keys.ARROW_UP)
    page.keys(Keys.ENTER)
    page.search("script")
    assert any("</script>" in label for label in page.labels())
    assert page.run("return window.hacked") is None
    assert page.run("return document.querySelectorAll('img, svg, script:not([type])').length") == 0
    shown = page.run("return document.body.innerText + seen.texts.join('')")
    assert not any(c in shown for c in "\x1b\u202e\u2066\x07\u2028")


def test_the_policy_holds(page):
    page.open(page.make("server", 3000))
    page.run("""
        const script = document.createElement('script');
        script.textContent = 'window.hacked = 1';
        document.body.append(script);
        const image = new Image();
        image.src = 'http://localhost:9/';
        document.body.append(image);""")
    time.sleep(0.3)
    assert page.run("return window.hacked") is None
    blocked = page.errors()
    assert len(blocked) == 2 and all("Content Security Policy" in line for line in blocked)
    assert "http://localhost:9/" in page.requests()  # asked for by this test, and refused


def test_nothing_recorded(page):
    page.open(page.make("empty", 1))
    assert page.find(".flame-empty").is_displayed()
    page.keys(Keys.ARROW_UP, Keys.ENTER, "n", "i", "k", "v", "v", "v", Keys.HOME)


def test_deep_ones_scroll(page):
    page.open(page.make("deep", 1000))
    heights = page.run("""const canvas = document.querySelector('.flame-scroller canvas');
        const graph = document.querySelector('.flame-scroller');
        return [canvas.height, graph.clientHeight, graph.scrollHeight, graph.scrollTop];""")
    assert heights[0] == heights[1]
    assert heights[2] == 20000
    assert heights[3] == heights[2] - heights[1]  # the root is in sight
    page.run("document.querySelector('.flame-scroller canvas').focus()")
    page.keys(*[Keys.ARROW_UP] * 100)
    assert page.run("return document.querySelector('.flame-scroller').scrollTop") < heights[3] - 1000
    page.keys("i")
    assert page.run("return document.querySelector('.flame-scroller').scrollTop") == 0


@pytest.mark.parametrize("height", [500, 1400])
def test_root_stays_in_sight_when_the_window_changes(page, height):
    page.open(page.make("deep", 1000))
    root = page.colours()[0]
    browser.set_screen(page.driver, height=height)
    page.settle()
    assert page.colours()[0] == root
    assert page.labels()[0] == "all"


@pytest.mark.parametrize("scheme, ground", [("light", "rgb(255, 255, 255)"), ("dark", "rgb(21, 23, 27)")])
def test_follows_the_colour_scheme(page, scheme, ground):
    browser.set_screen(page.driver, scheme=scheme)
    page.open(page.make("server", 3000))
    background = "return getComputedStyle(document.body).backgroundColor"
    assert page.run(background) == ground
    page.click("#theme")
    assert page.run(background) != ground


@pytest.mark.parametrize("width, ratio", [(400, 2), (1280, 1), (2560, 1.5)])
def test_fits_any_screen(page, width, ratio):
    browser.set_screen(page.driver, width=width, ratio=ratio)
    page.open(page.make("server", 3000))
    assert page.run("return document.documentElement.scrollWidth") <= width
    for button in page.driver.find_elements("css selector", "button"):
        if button.is_displayed():
            assert 0 <= button.rect["x"] and button.rect["x"] + button.rect["width"] <= width
    canvas = page.find(GRAPH)
    assert abs(int(canvas.get_attribute("width")) - canvas.rect["width"] * ratio) <= 1
    assert canvas.rect["height"] > 300


@pytest.mark.parametrize("shape", ["server", "wide"])
def test_speed_of_100000_nodes(page, shape, capsys):
    page.open(page.make(shape, 100000))
    paint, = page.run("""return performance.getEntriesByName('first-contentful-paint')
        .map((entry) => entry.startTime)""") or [None]
    page.run("seen.frames = []")
    page.click_frame(300, 50 if shape == "server" else 30)
    page.keys(Keys.HOME)
    frames = page.run("return seen.frames")
    rects = page.run("return seen.rects")
    with capsys.disabled():
        print(f"\n{shape}: first paint {paint:.0f} ms; {len(frames)} frames of zoom, script time of one "
              f"{sorted(frames)[len(frames) // 2]:.1f} ms (median), {max(frames):.1f} ms (most); "
              f"{rects} rectangles")
    assert rects < 1280 * 40
