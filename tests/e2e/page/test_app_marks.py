# SPDX-License-Identifier: Apache-2.0
"""Deployments and new versions on all timelines."""
import pytest

from selenium.webdriver.common.action_chains import ActionChains

import answers

DEPLOYED, NEW = "api.service 1.3: faster checkout", "new version 01234567 of worker.service"


def marks_of(page, chart):
    """The words of all flags, without their times."""
    words = [line for flag in page.all(f"{chart} .flag") for line in flag.get_attribute("aria-label").split("\n")]
    return [line.split(" ", 1)[1] for line in words]


def lanes_marks_of(page):
    return [" ".join(row.get_attribute("textContent").split()[1:]) for row in page.all(".tl-marks-words .marks li")]


def picture(page, chart=".chart"):
    return page.run("return document.querySelector(`${arguments[0]} canvas`).toDataURL()", chart)


@pytest.mark.parametrize("query, charts", [("", [".chart"]), ("?view=profile", [".chart"]),
                                           ("?view=compare", ["#side-before .chart", "#side-now .chart"])])
def test_marks_are_on_all_timelines(page, query, charts):
    page.server.behave(marks=True)
    page.open(query)
    for chart in charts:
        page.until(lambda c=chart: marks_of(page, c) == [DEPLOYED, NEW], f"the marks of {chart}")
    assert not page.errors()


def test_marks_do_not_bury_the_picture(page):
    """What is drawn is the same with marks and without; their words come when they are pointed at."""
    page.open("?from=-15m&to=now")
    page.until(lambda: page.all(".chart canvas"))
    page.until(lambda: page.server.questions("marks"))
    assert not page.all(".chart .flag")
    without = page.until(lambda: picture(page))
    page.server.behave(marks=True)
    page.open("?from=-15m&to=now")
    page.until(lambda: marks_of(page, ".chart") == [DEPLOYED, NEW])
    page.until(lambda: picture(page) == without, "the same picture")
    said = page.find(".flag.said")
    words = said.find_element("css selector", ".words")
    assert not words.is_displayed()
    plot = page.find(".chart .u-over").rect
    # ten of fifteen minutes ago, above all that is drawn
    assert abs(said.rect["x"] + said.rect["width"] / 2 - plot["x"] - plot["width"] / 3) < 2
    assert said.rect["y"] < plot["y"] and said.rect["height"] < 20
    ActionChains(page.driver).move_to_element(said).perform()
    page.until(words.is_displayed, "the words of what is pointed at")
    assert words.text.split(" ", 1)[1] == DEPLOYED
    assert not page.find(".flag.derived .words").is_displayed()


def test_a_mark_is_compared_with_before_it(page):
    page.server.behave(marks=True)
    page.open("?from=-15m&to=now")
    page.until(lambda: marks_of(page, ".chart"))
    page.click(".flag.said")
    page.click_text(".flag-panel a", "Compare with before")
    page.until(lambda: page.link().get("view") == "compare")
    at = answers.NOW - 600
    link = {name: float(page.link()[name]) for name in ("from", "to", "before_from", "before_to")}
    assert abs(link["from"] - at) < 2 and abs(link["before_to"] - link["from"]) < 1e-3
    assert abs(link["to"] - link["from"] - (link["before_to"] - link["before_from"])) < 1e-3
    page.click("#last-mark")
    page.until(lambda: abs(float(page.link()["from"]) - answers.NOW + 300) < 2)


def test_marks_of_the_service_that_is_looked_at(page):
    page.server.behave(marks=True)
    page.open("?service=worker.service")
    page.asks("marks", service="worker.service")
    page.until(lambda: marks_of(page, ".chart") == [NEW])


def test_hostile_marks_are_words(page):
    page.server.behave(marks=True, hostile=True)
    page.open()
    page.until(lambda: len(page.all(".chart .flag")) == 2)
    assert page.run("return window.hacked") is None
    assert answers.HOSTILE not in page.find(".chart .flags").get_attribute("textContent")


def test_marks_are_on_the_timeline_of_threads(page):
    page.server.behave(film=True, events=["on-cpu", "threads"], marks=True)
    page.open("?view=timeline")
    page.until(lambda: lanes_marks_of(page) == [DEPLOYED, NEW])
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
    """Many things happen when one does: a row for each time, the latest first; the others are folded."""
    page.server.behave(marks=True, kept="kept: nginx (1234): GET / failed", keeps=4)
    page.open("?from=-15m&to=now")
    page.until(lambda: page.all(".kept li"))
    rows = lambda: [" ".join(row.text.split()) for row in page.all(".kept li")]  # noqa: E731
    latest = "14:31:08 nginx (1234): GET / failed +2 more, the last at 14:31:17"
    assert rows() == [latest] and page.find(".kept").rect["height"] < 60
    page.click_text("#all-kept", "Show all 2")
    page.until(lambda: rows() == [latest, "14:27:48 nginx (1234): GET / failed"])
    ink = page.run("return getComputedStyle(document.querySelector('.kept a')).color === getComputedStyle(document.body).color")
    assert ink, "the links have the page's own colour, which the dark theme has, too"


def test_without_anything_kept_there_is_no_list(page):
    page.server.behave(marks=True)
    page.open()
    page.until(lambda: marks_of(page, ".chart"))
    assert not page.all(".kept")


def test_marks_that_are_near_share_a_flag(page):
    page.server.behave(marks=True)
    page.server.new_versions = 25
    page.open("?from=-1d&to=now")
    page.until(lambda: page.all(".chart .flag"))
    flags = page.all(".chart .flag")
    assert len(flags) < 10 and any("more" in flag.get_attribute("aria-label") for flag in flags)
    flags[0].click()
    page.until(lambda: page.all(".flag-panel li"))
    assert len(page.all(".flag-panel li")) >= len(page.find(".flag[aria-expanded=true]").get_attribute("aria-label").split("\n")) - 1
    assert not page.errors()
