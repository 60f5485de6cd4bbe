# SPDX-License-Identifier: Apache-2.0
"""Hundreds of services and versions: found, sorted, compared; and time in steps, zones and presets."""
import pytest

from selenium.webdriver.common.keys import Keys

import answers
import browser
from app import select_frame, services

QUICK = 1  # s of CPU time, to pick any of 400 services by keyboard


def test_any_of_400_services_is_picked_by_keyboard(page):
    page.server.behave(many=400)
    page.open("?view=profile")
    page.until(lambda: page.all("#pick-service"))
    before = page.computed()
    page.pick("service", "job-317.service")
    assert page.computed() - before < QUICK
    page.asks("flame", service="job-317.service")
    assert page.picked("service") == "job-317.service"
    # of that service, the versions; the largest first
    page.click("#pick-version")
    page.until(lambda: len(page.all(".picker-list li")) > 2)
    versions = [row.get_attribute("data-value") for row in page.all(".picker-list li")]
    assert versions[:3] == ["", "v0", "v1"] and len(versions) <= 41
    page.keys(Keys.ESCAPE)
    page.until(lambda: not page.all(".picker-list"))
    assert page.run("return document.activeElement.id") == "pick-version"


def test_a_list_is_walked_and_searched(page):
    page.server.behave(many=400)
    page.open()
    page.click("#pick-service")
    page.until(lambda: len(page.all(".picker-list li")) > 50)
    names = [row.text for row in page.all(".picker-list li")]
    assert names[0] == "all" and names[1].startswith("api.service") and "%" in names[1]
    page.sees("more: type a part of the name", ".picker-list")
    page.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert page.find(".picker-list li.active").get_attribute("data-value") == "postgresql.service"
    page.keys("nothing-like-it")
    page.sees("Nothing in this range has such a name.", ".picker-list")
    page.keys(Keys.ENTER)  # takes nothing
    assert page.link() == {}
    page.find(".picker-list input").send_keys(Keys.CONTROL, "a")
    page.keys("redis")
    page.until(lambda: page.find(".picker-list li.active").get_attribute("data-value") == "redis.service")
    page.find(".picker-list li.active").click()
    page.asks("timeline", service="redis.service")


def named(page):
    return [name for name in services(page) if name != "others"]


def test_the_overview_lists_and_sorts_all(page):
    page.server.behave(many=400)
    page.open()
    page.sees("405", ".groups")
    page.until(lambda: len(named(page)) == 100)
    page.click("#all-rows")
    page.until(lambda: len(named(page)) == 405)
    page.click("[name=order-name]")
    page.until(lambda: named(page) == sorted(named(page)))
    assert page.link()["order"] == "name"
    page.until(lambda: page.find("th.text").get_attribute("aria-sort") == "ascending")
    page.find("[name=find]").send_keys("sshd")
    page.until(lambda: services(page) == ["sshd.service"])
    page.sees("1 of 405", ".groups")
    page.keys(Keys.ENTER)
    page.asks("flame", service="sshd.service")
    page.driver.back()
    page.until(lambda: services(page) == ["sshd.service"])


def colours(page):
    return page.run("""return Object.fromEntries([...document.querySelectorAll('.groups tbody tr')].map((row) =>
        [row.innerText.split('\\t')[0].trim(), row.querySelector('.swatch').style.background]))""")


def test_colours_stay_with_their_names(page):
    page.open("?live=1&from=-1h&to=now")
    page.until(lambda: services(page))
    before = colours(page)
    answers.SERVICES["redis.service"] = (*answers.SERVICES["redis.service"][:3], 5)
    try:
        page.until(lambda: services(page)[0] == "redis.service")
        assert colours(page) == before
    finally:
        answers.SERVICES["redis.service"] = (*answers.SERVICES["redis.service"][:3], 0.08)


def test_steps_of_seconds(page):
    page.open("?view=overview&from=-1h&to=now")
    page.asks("timeline", steps="240")
    page.click("#minutes")
    page.asks("timeline", steps="61")
    page.until(lambda: page.link()["minutes"] == "1")
    page.click("#seconds")
    page.asks("timeline", steps="240")
    page.keys("L")  # which asks again and again
    page.asks("timeline", steps="61")
    page.until(lambda: not page.all("#seconds"))
    page.keys("L")
    page.asks("timeline", steps="240")
    page.keys("7")  # a day has no such choice
    page.asks("timeline", **{"from": "-1d", "steps": "240"})
    page.until(lambda: not page.all("#seconds"))


def test_time_zone(page):
    page.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Kolkata"})
    try:
        page.open(f"?from={answers.NOW - 3600}&to={answers.NOW}")
        page.sees("2026-11-21 19:02:08 – 20:02:08", ".sum")
        assert page.find("select[name=zone] option:checked").text == "UTC+5:30"
        page.choose("zone", "utc")
        page.sees("2026-11-21 13:32:08 – 14:32:08", ".sum")
        assert page.find("select[name=zone] option:checked").text == "UTC"
        page.click("#custom")
        assert page.find(".dropped input[name=from]").get_attribute("value").startswith("2026-11-21T13:32:08")
        page.click(".dropped .primary")
        page.until(lambda: page.link().get("from") == str(answers.NOW - 3600))
        page.choose("zone", "local")
        page.sees("19:02:08", ".sum")
    finally:
        page.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "UTC"})


def test_a_moment_that_no_calendar_has(page):
    page.open("?from=1&to=99999999999999999")
    page.sees("????-??-??", "#custom")


@pytest.mark.parametrize("width", [1280, 720, 400])
def test_details_lie_beside_the_graph_and_never_over_it(page, width):
    """Also where the page is zoomed to 200 %, which is a screen of half the width."""
    browser.set_screen(page.driver, width=width)
    page.open("?view=profile&show=graph")
    select_frame(page)
    page.click_text(".flame-foot button", "Details")
    page.until(lambda: page.find(".details").is_displayed())
    graph, details = page.find(".flame-panel").rect, page.find(".details").rect
    assert details["x"] >= graph["x"] + graph["width"] or details["y"] >= graph["y"] + graph["height"]
    assert graph["width"] > 300 and details["width"] > 300
    assert page.run("return document.documentElement.scrollWidth") <= width


def test_a_phone_shows_numbers_below_a_small_header(page):
    browser.set_screen(page.driver, width=400, height=800)
    page.server.behave(many=40, hostile=True, marks=True)
    page.open("?from=1795264328&to=1795267928")
    page.until(lambda: services(page))
    header = page.find("header.top").rect
    assert header["height"] < 120 and page.find(".chart").rect["y"] < 360
    for row in page.all(".groups tbody tr")[:5]:
        shown = [cell for cell in row.find_elements("css selector", "td") if cell.is_displayed()]
        assert len(shown) >= 3 and all(cell.rect["x"] + cell.rect["width"] <= 400 for cell in shown), row.text
        assert all(page.run("return arguments[0].scrollWidth <= arguments[0].clientWidth", cell) for cell in shown[1:])
    # each control can be reached where it is
    hidden = page.run("""return [...document.querySelectorAll('header.top :is(a, button, select)')].filter((one) => {
        const { left, right, top, bottom, width } = one.getBoundingClientRect();
        return width && !one.contains(document.elementFromPoint((left + right) / 2, (top + bottom) / 2));
    }).map((one) => one.id || one.name)""")
    assert hidden == []
    page.choose("preset", "-5m")
    page.asks("timeline", **{"from": "-5m", "to": "now"})


def test_the_graph_comes_soon_on_a_phone(page):
    browser.set_screen(page.driver, width=400, height=800)
    page.open("?view=profile")
    page.until(lambda: page.find(".flame-scroller canvas").is_displayed())
    assert page.find(".flame-scroller canvas").rect["y"] < 640


def test_links_are_copied_where_there_is_no_clipboard(page):
    """As over plain HTTP, where browsers have none."""
    page.driver.execute_cdp_cmd("Browser.grantPermissions", {
        "origin": page.server.address(), "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
    page.open("?view=profile&from=-5m&to=now")
    page.until(lambda: page.find(".sum").is_displayed())
    page.run("window.kept = navigator.clipboard; Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    page.click("#copy-link")
    page.sees("Copied", "#copy-link")
    link = page.driver.execute_async_script("kept.readText().then(arguments[0])")
    assert link.startswith(page.server.address()) and "view=profile" in link


def test_keys_of_a_row_of_the_table(page):
    page.open("?view=profile&show=table")
    page.until(lambda: page.all(".flame-row"))
    page.run("document.querySelector('.flame-table').focus()")
    page.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, "h")
    page.until(lambda: "json::parse" in page.link().get("hide", ""))
    page.keys(Keys.ARROW_DOWN, "f")
    page.asks("flame", focus="^ImagingResample$")


def test_waits_are_split_by_waker(page):
    page.open("?view=profile")
    page.click("#shape")
    page.until(lambda: page.all("input[name=by]"))
    assert not page.all("input[name=by][value=waker]")
    page.open("?view=profile&event=off-cpu")
    page.click("#shape")
    page.click("input[name=by][value=waker]")
    page.asks("flame", by="waker", event="off-cpu")
    page.choose("event", "on-cpu")  # where it means nothing
    page.asks("flame", event="on-cpu")
    assert "by" not in page.server.questions("flame")[-1]


def test_waits_for_locks_are_split_by_lock_and_by_holder(page):
    page.open("?view=profile&event=off-cpu")
    page.click("#shape")
    page.until(lambda: page.all("input[name=by]"))
    assert not page.all("input[name=by][value=lock]") and not page.all("input[name=by][value=holder]")
    page.open("?view=profile&event=lock")
    page.click("#shape")
    page.click("input[name=by][value=lock]")
    page.asks("flame", by="lock", event="lock")
    page.click("input[name=by][value=holder]")
    page.asks("flame", by="holder", event="lock")
    page.choose("event", "off-cpu")  # which has no holders
    page.asks("flame", event="off-cpu")
    assert "by" not in page.server.questions("flame")[-1]


def test_a_lock_opens_the_flame_graph_of_its_waits(page):
    page.open("?view=profile&event=lock")
    page.until(lambda: page.all("#locks tbody tr"))
    rows = [[" ".join(cell.text.split()) for cell in row.find_elements("css selector", "td")]
            for row in page.all("#locks tbody tr")]
    assert rows == [
        ["mutex guard in app", "owner: flusher (12), releaser: gc (13), and 1 more", "40", "800.000 ms", "9.000 s", "69.23%"],
        ["Java monitor 0x7f10 of java (12)", "releaser: gc (13), holder not known, and 1 more", "10", "800.000 ms", "4.000 s",
         "30.77%"]]
    page.sees("3 more locks are not shown.", ".locks")
    page.all("#locks tbody tr")[1].click()
    page.asks("flame", by="lock", event="lock")
    assert [row.get_attribute("aria-selected") for row in page.all("#locks tbody tr")] == ["false", "true"]
    link = page.link()
    # the graph shows that lock alone: its own waits, of all
    page.open("?" + "&".join(f"{name}={value}" for name, value in link.items()) + "&search=Java monitor")
    page.sees("100.00% of zoomed", "output")
    page.until(lambda: page.all("#locks tbody tr"))
    # the same row again: all waits
    page.all("#locks tbody tr")[1].click()
    page.until(lambda: "zoom" not in page.link())
    # what is not of locks has no such table
    asked = len(page.server.questions("locks"))
    page.open("?view=profile&event=off-cpu")
    page.sees("ImagingResample", ".flame-table")
    assert not page.all("#locks") and len(page.server.questions("locks")) == asked


def test_the_overview_is_grouped_by_a_label(page):
    page.open()
    page.choose("by-label", "env")
    page.asks("timeline", group="label.env")
    page.until(lambda: named(page) == ["prod", "test"])
    assert page.link() == {"by_label": "env"}
    assert page.text(".groups thead").startswith("env")
    page.click(".groups tbody tr")
    page.asks("flame", label="env=prod")
    assert page.link() == {"by_label": "env", "view": "profile", "label": "env=prod"}
    # another grouping ends it
    page.click("#to-overview")
    page.click("[name=group-host]")
    page.asks("timeline", group="host")
    assert "by_label" not in page.link()
