# SPDX-License-Identifier: Apache-2.0
"""Deployments and new versions on all timelines."""
import pytest

from selenium.webdriver.common.action_chains import ActionChains

import answers

DEPLOYED, NEW = "api.service 1.3: faster checkout", "new version 01234567 of worker.service"


def pixels(page, chart=".chart"):
    """The columns of a chart that are of one colour, other than the ground, from its top to its bottom: lines."""
    return page.run("""
        const { width, height } = document.querySelector(`${arguments[0]} canvas`);
        const copy = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
        copy.drawImage(document.querySelector(`${arguments[0]} canvas`), 0, 0);
        const { data } = copy.getImageData(0, 0, width, height);
        const at = (x, y) => data.slice((y * width + x) * 4, (y * width + x) * 4 + 3).join();
        const ink = getComputedStyle(document.documentElement).getPropertyValue('--ink').trim();
        const probe = document.createElement('canvas').getContext('2d');
        probe.fillStyle = ink;
        probe.fillRect(0, 0, 1, 1);
        const wanted = probe.getImageData(0, 0, 1, 1).data.slice(0, 3).join();
        let lines = 0;
        for (let x = 0; x < width; x++) {
            let found = 0;
            for (let y = 0; y < height; y++)
                found += at(x, y) === wanted;
            lines += found > height / 4;
        }
        return lines;""", chart)


def marks_of(page, chart):
    return [" ".join(row.get_attribute("textContent").split()[1:]) for row in page.all(f"{chart} .marks li")]


@pytest.mark.parametrize("query, charts", [("", [".chart"]), ("?view=profile", [".chart"]),
                                           ("?view=compare", ["#side-before .chart", "#side-now .chart"])])
def test_marks_are_on_all_timelines(page, query, charts):
    page.server.behave(marks=True)
    page.open(query)
    for chart in charts:
        page.until(lambda c=chart: marks_of(page, c) == [DEPLOYED, NEW], f"the marks of {chart}")
        page.until(lambda c=chart: pixels(page, c) >= 2, f"the lines of {chart}")
    assert not page.errors()


def test_without_marks_there_are_no_lines(page):
    page.open()
    page.until(lambda: page.server.questions("marks"))
    page.until(lambda: page.all(".chart canvas"))
    assert pixels(page) == 0 and not page.all(".chart .marks")


def test_a_mark_that_is_pointed_at_says_its_words(page):
    page.server.behave(marks=True)
    page.open("?from=-15m&to=now")
    page.until(lambda: marks_of(page, ".chart"))
    plot = page.find(".chart .u-over")
    width = plot.size["width"]
    # ten of fifteen minutes ago
    ActionChains(page.driver).move_to_element_with_offset(plot, round(width / 3 - width / 2), 10).perform()
    page.sees(DEPLOYED, ".chart figcaption")
    ActionChains(page.driver).move_to_element_with_offset(plot, 0, 10).perform()
    page.until(lambda: DEPLOYED not in page.text(".chart figcaption"))


def test_marks_of_the_service_that_is_looked_at(page):
    page.server.behave(marks=True)
    page.open("?service=worker.service")
    page.asks("marks", service="worker.service")
    page.until(lambda: marks_of(page, ".chart") == [NEW])


def test_hostile_marks_are_words(page):
    page.server.behave(marks=True, hostile=True)
    page.open()
    page.until(lambda: len(page.all(".chart .marks li")) == 2)
    assert page.run("return window.hacked") is None
    assert answers.HOSTILE not in page.find(".chart .marks").get_attribute("textContent")


def test_marks_are_on_the_timeline_of_threads(page):
    page.server.behave(film=True, events=["on-cpu", "threads"], marks=True)
    page.open("?view=timeline")
    page.until(lambda: marks_of(page, ".tl-marks-words") == [DEPLOYED, NEW])
    page.asks("marks", host="web-1")
    page.until(lambda: len(page.all(".tl-marks i")) == 2)
    lanes = page.find("#lanes").rect
    lines = [line.rect for line in page.all(".tl-marks i")]
    # six and nine of the twelve seconds, from the top of the lanes to their end
    assert [round((line["x"] - lanes["x"]) / lanes["width"], 2) for line in lines] == [0.5, 0.75]
    assert all(line["height"] > lanes["height"] * 0.9 for line in lines)
    assert [line.get_attribute("class") for line in page.all(".tl-marks i")] == ["", "derived"]
    words = page.all(".tl-marks-words > span")
    assert [" ".join(span.get_attribute("textContent").split()) for span in words] == [DEPLOYED, NEW]
    # a part of the time has the marks of that part, where they are
    page.open(f"?view=timeline&t_from={answers.NOW - 4}&t_to={answers.NOW - 2}")
    page.until(lambda: len(page.all(".tl-marks i")) == 1)
    assert round((page.find(".tl-marks i").rect["x"] - lanes["x"]) / lanes["width"], 2) == 0.5
    assert not page.errors()


def test_the_timeline_without_marks_has_no_row_of_them(page):
    page.server.behave(film=True, events=["on-cpu", "threads"])
    page.open("?view=timeline")
    page.until(lambda: page.server.questions("marks") and page.all("#lanes"))
    assert not page.all(".tl-marks-words") and not page.all(".tl-marks i")


@pytest.mark.parametrize("query, film", [("?view=profile", False), ("?view=timeline", True)])
def test_marks_that_are_not_drawn_are_counted(page, query, film):
    page.server.behave(film=film, events=["on-cpu", "threads"], marks=True, more_marks=1234)
    page.open(query)
    page.sees("Not drawn: 1,234 earlier marks. Choose a shorter time to see all marks.", ".more-marks")


def test_what_was_kept_opens_the_timeline(page):
    """What the flight recorder kept stands in a list, and leads to the timeline of its machine at that moment."""
    page.server.behave(marks=True, kept="kept: nginx (1234) died of SIGSEGV at 0x18 <b>")
    page.open("?from=-15m&to=now")
    page.until(lambda: page.all(".kept a"))
    link, = page.all(".kept a")
    assert link.text.split(" ", 1)[1] == "nginx (1234) died of SIGSEGV at 0x18 <b>"
    at = answers.NOW - 60
    link.click()
    page.until(lambda: "view=timeline" in page.run("return location.search"))
    query = page.run("return Object.fromEntries(new URLSearchParams(location.search))")
    assert (query["event"], query["host"]) == ("threads", "web1")
    assert float(query["from"]) <= at - 100 and float(query["to"]) > at
    assert at - 5 < float(query["t_from"]) < at < float(query["t_to"]) < at + 5
    assert not page.errors()


def test_what_was_kept_together_is_one_row(page):
    """Many things happen when one does: a row for each time, the latest first."""
    page.server.behave(marks=True, kept="kept: nginx (1234): GET / failed", keeps=4)
    page.open("?from=-15m&to=now")
    page.until(lambda: page.all(".kept li"))
    rows = [" ".join(row.text.split()) for row in page.all(".kept li")]
    assert rows == ["14:31:08 nginx (1234): GET / failed and 2 more until 14:31:17", "14:27:48 nginx (1234): GET / failed"]
    ink = page.run("return getComputedStyle(document.querySelector('.kept a')).color === getComputedStyle(document.body).color")
    assert ink, "the links have the page's own colour, which the dark theme has, too"


def test_without_anything_kept_there_is_no_list(page):
    page.server.behave(marks=True)
    page.open()
    page.until(lambda: marks_of(page, ".chart"))
    assert not page.all(".kept")


def test_many_new_versions_do_not_crowd_the_picture(page):
    """A few are dashed lines; of many each is a flag above, and all are in the list that is read out."""
    for many, lines in ((3, 5), (25, 1)):  # with those that are always there: a deployment, and one new version
        page.server.behave(marks=True)
        page.server.new_versions = many
        page.open("?from=-40m&to=now")
        page.until(lambda n=many: len(marks_of(page, ".chart")) == n + 2, "all marks")
        page.until(lambda n=lines: pixels(page) == n, f"{lines} lines")
