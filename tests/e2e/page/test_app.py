# SPDX-License-Identifier: Apache-2.0
"""The page as a user goes through it: the overview, ranges of time, links, keys, screens."""
import gzip
import json
import subprocess
import urllib.parse

import pytest

import answers
import asking
import browser
import harness
from app import services

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys


def test_overview_says_who_used_what(page):
    page.open()
    page.until(lambda: services(page) == ["api.service", "postgresql.service", "worker.service", "redis.service",
                                          "sshd.service"])
    assert page.text(".sum").startswith("83.4 min 1.392 CPUs on average")
    assert "lost or truncated: 7" in page.text(".sum") and "losses" not in page.text(".sum")
    first = page.text(".groups tbody tr")
    assert "0.693 CPUs" in first and "49.77%" in first
    assert page.find(".chart canvas").is_displayed()
    costs = page.text("footer.cost")
    assert "filming web-1" in costs and "0.42% of one CPU (BPF programs 0.11%), 58.3 MB memory, 99 Hz" in costs
    assert "1,284,331 samples, 7 lost" in costs and "30 films, 61.2 MB" in costs
    page.server.bpf = None
    page.sees("without BPF programs: to time them takes CAP_SYS_ADMIN", "footer.cost")
    page.click("[name=group-host]")
    page.until(lambda: services(page) == ["web-1", "db-1"] or services(page) == ["db-1", "web-1"])
    assert page.link() == {"group": "host"}


def test_what_was_lost_is_told_by_reason(page):
    page.open("?from=-1d&to=now&host=web-1&service=api.service")
    page.until(lambda: page.all("#losses"))
    assert not page.server.questions("losses")
    page.click("#losses")
    page.sees("Samples lost: 4. Stacks truncated: 3.", ".loss-panel")
    page.sees("Whole samples 4 samples: no room for them 4 Names 3 ", ".loss-panel")
    page.sees("the process had ended 3 other reasons 5", ".loss-panel")
    asked = page.server.questions("losses")[-1]
    assert asked["host"] == "web-1" and "service" not in asked
    assert int(asked["to"]) - int(asked["from"]) == 86400, asked
    page.keys(Keys.ESCAPE)
    page.until(lambda: not page.all(".loss-panel"))


def test_a_young_store_is_shown_as_far_as_it_reaches(page):
    """Not an hour of which nothing is there; what comes is shown, too."""
    page.server.behave(young=120)
    page.open()
    page.asks("timeline", to="now")
    assert float(page.server.questions("timeline")[-1]["from"]) == answers.NOW - 120
    page.until(lambda: page.all(".chart canvas"))
    assert "the last 2 min" in page.find("#custom").get_attribute("title") and page.link() == {}
    # live, it grows from there
    page.click("#live")
    page.until(lambda: page.link() == {"live": "1"})
    page.until(lambda: len(page.server.questions("timeline")) > 2)
    assert float(page.server.questions("timeline")[-1]["from"]) == answers.NOW - 120
    page.click("[data-range='-1h']")
    page.asks("timeline", **{"from": "-1h"})
    # compared are its halves
    page.open("?view=compare")
    page.asks("diff", before_from=str(answers.NOW - 120), before_to=str(answers.NOW - 60), to=str(answers.NOW))


def test_rates_are_of_what_was_filmed(page):
    """No peak lies below its average where a step was filmed in part; what was not filmed is not shown as nothing."""
    page.server.behave(young=90)
    page.open("?from=-1h&minutes=1")
    page.until(lambda: page.all(".groups tbody tr"))
    for row in page.all(".groups tbody tr"):
        average, peak = (float(cell.text.split()[0]) for cell in row.find_elements("css selector", "td")[1:3])
        assert peak >= average > 0, row.text
    plot = page.find(".u-over")
    right = plot.size["width"] // 2 - 2
    for offset, words in ((-right, "not filmed"), (right - int(plot.size["width"] * 1.5 / 60), "of the 30 s that were filmed")):
        ActionChains(page.driver).move_to_element_with_offset(plot, offset, 0).perform()
        page.sees(words, ".chart figcaption")


def test_the_last_seconds_of_a_minute_are_no_peak(page):
    page.server.behave(thin=3)
    page.open("?from=-1h&to=now")
    page.until(lambda: page.all(".groups tbody tr"))
    for row in page.all(".groups tbody tr"):
        assert float(row.find_elements("css selector", "td")[2].text.split()[0]) < 2, row.text
    page.server.behave(thin=40)  # of which more is known
    page.open("?from=-1h&to=now")
    page.until(lambda: page.all(".groups tbody tr"))
    assert float(page.all(".groups tbody tr td.less")[0].text.split()[0]) > 10


def test_labels_of_a_chart_are_whole(page):
    """"512 MB/s" has room beside the chart."""
    script = page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": """
        const {fillText} = CanvasRenderingContext2D.prototype;
        window.labels = [];
        CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...more) {
            const {a, e} = this.getTransform(), wide = this.measureText(text).width;
            const left = this.textAlign === 'right' ? x - wide : this.textAlign === 'center' ? x - wide / 2 : x;
            labels.push([text, a * left + e]);
            return fillText.call(this, text, x, y, ...more);
        };"""})
    page.server.behave(events=["mem-grow"])
    page.open("?event=mem-grow&from=-1h&to=now")
    page.until(lambda: page.all(".groups tbody tr"))
    labels = page.until(lambda: [label for label in page.run("return window.labels") if "B/s" in label[0]])
    page.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
    assert all(left >= 0 for _, left in labels) and any("MB/s" in text for text, _ in labels), labels


def test_the_numbers_under_the_pointer(page):
    page.open()
    page.until(lambda: page.find(".u-over"))
    ActionChains(page.driver).move_to_element(page.find(".u-over")).perform()
    page.sees("total", ".chart figcaption")
    words = page.text(".chart figcaption")
    assert words.startswith("14:0") and "api.service" in words and "CPUs" in words


def test_dragging_selects_a_range(page):
    page.open()
    page.until(lambda: page.find(".u-over"))
    over = page.find(".u-over")
    ActionChains(page.driver).move_to_element_with_offset(over, 100, 0).click_and_hold() \
        .move_by_offset(120, 0).release().perform()
    page.until(lambda: "from" in page.link())
    begin, end = float(page.link()["from"]), float(page.link()["to"])
    assert begin % 60 == 0 and end % 60 == 0 and 300 <= end - begin <= 600
    page.asks("timeline", **{"from": page.link()["from"]})
    page.sees("2026-11-21 14:0", "#custom")
    page.driver.back()
    page.until(lambda: page.link() == {})
    assert page.find("[data-range='-1h']").get_attribute("aria-pressed") == "true"


def test_from_a_service_to_its_functions_and_back(page):
    page.open()
    page.until(lambda: services(page))
    page.all(".groups tbody tr")[1].click()
    page.asks("flame", service="postgresql.service")
    page.sees("ImagingResample", ".flame-table")
    assert page.link() == {"view": "profile", "service": "postgresql.service"}
    assert page.find(".flame-panel canvas").is_displayed()
    assert page.driver.title == "postgresql.service · Profile · web-1 – stackcam"
    page.driver.back()
    page.until(lambda: services(page))
    page.driver.forward()
    page.sees("ImagingResample", ".flame-table")


def test_rows_by_keyboard(page):
    page.open()
    page.until(lambda: services(page))
    page.run("document.querySelector('.groups tbody tr').focus()")
    page.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_UP, Keys.ENTER)
    page.asks("flame", service="postgresql.service")


def test_a_link_restores_what_it_was_made_of(page):
    query = ("?view=profile&from=1795264328&to=1795267928&event=off-cpu&host=web-1&service=api.service&label=env%3Dprod"
             "&pid=42&by=process&native=1&show=graph&mode=flame&colour=image&search=json&hide=epoll_wait")
    page.open(query)
    wanted = {"from": "1795264328", "to": "1795267928", "event": "off-cpu", "host": "web-1", "service": "api.service",
              "label": "env=prod", "pid": "42", "native": "1"}.items()
    # the profile, and beside it what threads waited for
    for by in ("process", "wait"):
        page.until(lambda by=by: any(wanted <= ask.items() and ask["by"] == by for ask in page.server.questions("flame")))
    page.until(lambda: page.find("input[type=search]").get_attribute("value") == "json")
    assert page.text("#custom") == "2026-11-21 12:32:08 – 13:32:08"
    page.until(lambda: page.find("select[name=event]").get_property("value") == "off-cpu")
    for name, value in (("host", "web-1"), ("service", "api.service")):
        page.until(lambda: page.picked(name) == value)
    assert [chip.text.split("\n")[0] for chip in page.all(".chip")] == ["env=prod", "pid 42"]
    assert "by process, Native frames" in page.text("#shape")
    pressed = [button.text for button in page.all(".flame-tools [aria-pressed=true]")]
    assert pressed == ["Graph", "Flame"]
    assert not page.all(".flame-table")
    # and a step of the way is one of the browser's
    page.click("#to-overview")
    page.until(lambda: services(page))
    page.driver.back()
    page.until(lambda: page.find("input[type=search]").get_attribute("value") == "json")


def test_presets_and_moving_in_time(page):
    page.open()
    page.until(lambda: services(page))
    for key, preset in zip("12345678", ["-1m", "-5m", "-15m", "-1h", "-3h", "-6h", "-1d", "-7d"]):
        page.keys(key)
        page.asks("timeline", **{"from": preset, "to": "now"})
        page.until(lambda: page.find(f"[data-range='{preset}']").get_attribute("aria-pressed") == "true")
    page.click("[data-range='-5m']")
    page.keys("[")
    page.until(lambda: float(page.link()["to"]) - float(page.link()["from"]) == 300)
    end = float(page.link()["to"])
    assert abs(answers.NOW - 300 - end) < 60
    page.keys("]")
    page.until(lambda: float(page.link()["to"]) == end + 300)
    page.keys("-")
    page.until(lambda: float(page.link()["to"]) - float(page.link()["from"]) >= 600)
    page.keys("+")
    page.until(lambda: float(page.link()["to"]) - float(page.link()["from"]) < 310)
    page.click("#earlier")
    page.until(lambda: float(page.link()["to"]) < end + 300)


def test_ranges_of_days_leave_the_top_in_one_line(page):
    page.open(f"?from={answers.NOW - 24 * answers.HOUR}&to={answers.NOW}")
    page.sees("11-20 14:32 – 11-21 14:32", "#custom")
    assert page.find("#custom").get_attribute("title") == "2026-11-20 14:32:08 – 2026-11-21 14:32:08"
    assert abs(page.find("#help").rect["y"] - page.find("#custom").rect["y"]) < 8
    page.open(f"?from={answers.NOW - 400 * 24 * answers.HOUR}&to={answers.NOW}")
    page.sees("2025-10-17 14:32:08 – 2026-11-21 14:32:08", "#custom")


def test_a_range_of_ones_own(page):
    page.open()
    page.click("#custom")
    page.run("""for (const [name, value] of [['from', '2026-11-21T14:00:00'], ['to', '2026-11-21T13:00:00']]) {
        const field = document.querySelector(`.dropped input[name=${name}]`);
        field.value = value;
        field.dispatchEvent(new Event('input', {bubbles: true}));
    }""")
    page.click(".dropped .primary")
    page.sees("The end must be after the beginning.")
    page.run("""const field = document.querySelector('.dropped input[name=from]');
        field.value = '2026-11-21T12:00:00';
        field.dispatchEvent(new Event('input', {bubbles: true}));""")
    page.click(".dropped .primary")
    page.asks("timeline", **{"from": "1795262400", "to": "1795266000"})
    assert not page.all(".dropped")


def test_live(page):
    page.open()
    page.until(lambda: services(page))
    page.keys("L")
    page.until(lambda: page.link() == {"from": "-1h", "to": "now", "live": "1"})
    before = len(page.server.questions("timeline"))
    page.until(lambda: len(page.server.questions("timeline")) >= before + 3)
    assert services(page)  # stays meanwhile
    page.click("#live")
    page.until(lambda: "live" not in page.link())
    page.keys("L")
    page.until(lambda: "live" in page.link())
    page.keys("[")  # to go back in time ends it
    page.until(lambda: "live" not in page.link())


def test_live_does_not_crowd_a_slow_server(page):
    page.open("?live=1&from=-5m&to=now")
    page.until(lambda: services(page))
    page.server.hold = {"timeline"}
    before = len(page.server.questions("timeline"))
    states = len(page.server.questions("status"))
    page.until(lambda: len(page.server.questions("status")) >= states + 3)  # time passes
    assert len(page.server.questions("timeline")) <= before + 1
    page.server.release()
    page.until(lambda: len(page.server.questions("timeline")) >= before + 2)


def test_help_and_keys(page):
    page.open()
    page.until(lambda: services(page))
    page.keys("?")
    page.until(lambda: page.find("#help-dialog").is_displayed())
    keys = [key.text for key in page.all("#help-dialog dt")]
    assert len(keys) > 20 and len(keys) == len(page.all("#help-dialog dd"))
    page.keys("P")  # not below a dialog
    page.keys(Keys.ESCAPE)
    page.until(lambda: not page.all("#help-dialog"))
    assert page.link() == {}
    for key, view in (("P", "profile"), ("C", "compare"), ("O", None)):
        page.keys(key)
        page.until(lambda: page.link().get("view") == view)
    page.keys("F")
    assert page.run("return document.activeElement.name") == "event"
    page.run("document.activeElement.blur()")
    page.pick("host", "db-1")
    page.until(lambda: "host" in page.link())
    page.keys("X")
    page.until(lambda: "host" not in page.link())


def test_everything_has_a_name_and_can_be_reached(page):
    for view in ("overview", "profile", "compare"):
        page.open(f"?view={view}")
        page.until(lambda: page.find(".answers .sum, .answers .sums").is_displayed())
        nameless = page.run("""return [...document.querySelectorAll('button, select, input, a, canvas[tabindex]')]
            .filter((one) => !(one.ariaLabel || one.title || one.textContent.trim() || one.labels?.length))
            .map((one) => one.outerHTML)""")
        assert nameless == []
        assert page.run("""return [...document.querySelectorAll('main button, header button, select')]
            .filter((one) => one.tabIndex < 0 && !one.closest('[role=row]')).map((one) => one.outerHTML)""") == []


def test_light_and_dark(page):
    ground = "return getComputedStyle(document.body).backgroundColor"
    for scheme, own, other in (("light", "rgb(255, 255, 255)", "rgb(21, 23, 27)"),
                               ("dark", "rgb(21, 23, 27)", "rgb(255, 255, 255)")):
        browser.set_screen(page.driver, scheme=scheme)
        page.open()
        page.until(lambda: services(page))
        assert page.run(ground) == own
        page.keys("T")
        page.until(lambda: page.run(ground) == other)
        page.open("?view=profile")  # it is kept
        page.until(lambda: page.run(ground) == other)
        page.click("#theme")
        page.until(lambda: page.run(ground) == own)


def test_in_another_language(page):
    page.open()
    page.keys("?")
    page.choose("language", "zh")
    page.sees("概览", "header")
    page.sees("正在拍摄 web-1", "footer.cost")
    assert page.run("return document.documentElement.lang") == "zh"
    page.keys("?")
    page.choose("language", "en")
    page.sees("Overview", "header")


@pytest.mark.parametrize("view", ["overview", "profile", "compare"])
@pytest.mark.parametrize("hostile", [False, True])
def test_on_a_narrow_screen(page, view, hostile):
    page.server.behave(hostile=hostile)
    browser.set_screen(page.driver, width=400)
    page.open(f"?view={view}")
    page.until(lambda: page.find(".answers .sum, .answers .sums").is_displayed())
    page.until(lambda: page.all(".groups tr, .flame-row"))
    assert page.run("return document.documentElement.scrollWidth") <= 400
    assert page.run("""return [...document.querySelectorAll('header button, header a')]
        .filter((one) => one.offsetWidth && one.getBoundingClientRect().right > 400).length""") == 0


def test_one_film(page):
    page.server.behave(film=True)
    page.open()
    page.until(lambda: services(page))
    assert not page.all("[data-range], #live")
    assert page.find("#whole").get_attribute("aria-pressed") == "true"
    assert "from" not in page.server.questions("timeline")[-1]
    assert "one film" in page.text("footer.cost") and "recorder" not in page.text("footer.cost")
    page.click("#to-compare")  # its halves
    page.asks("diff", before_from=str(answers.NOW - 12), before_to=str(answers.NOW - 6),
              **{"from": str(answers.NOW - 6), "to": str(answers.NOW)})
    page.keys("L", "1", "[")
    page.until(lambda: page.link().get("to") == str(answers.NOW - 12))
    page.click("#whole")
    page.until(lambda: "to" not in page.link())


def test_a_film_that_was_cut_off(page):
    page.server.behave(film=True, cut_off=True)
    page.open()
    page.sees("did not end properly", ".cut-off")
    assert "12.000 s after its start" in page.text(".cut-off")
    page.server.behave(film=True)
    page.open()
    page.until(lambda: services(page))
    assert not page.all(".cut-off")


def test_a_film_that_is_being_recorded(page):
    """Live shows what is added; once it is complete, it is asked for once more."""
    page.server.behave(film=True, growing=True)
    page.open()
    page.sees("still being recorded", ".cut-off")
    page.click("#live")
    page.until(lambda: page.link() == {"live": "1"} and not page.all(".cut-off"))
    before = len(page.server.questions("timeline"))
    page.until(lambda: len(page.server.questions("timeline")) >= before + 2)
    page.keys("L")
    page.until(lambda: page.link() == {})
    page.server.behave(film=True)  # it forgets what it was asked
    page.until(lambda: not page.all("#live, .cut-off"))
    page.until(lambda: len(page.server.questions("timeline")) == 1)


def test_a_film_without_samples(page):
    """There is no other time to look at; filters can be taken back."""
    page.server.behave(film=True)
    page.server.busy = 0
    page.open("?view=profile")
    page.sees("no samples of this event", ".notice")
    assert "12.000 s" in page.text(".notice") and not page.all("#show-filmed")
    page.open("?view=profile&pid=1")
    page.click("#clear-all")
    page.until(lambda: "pid" not in page.link())


def test_links_to_share_are_of_now(page):
    page.driver.execute_cdp_cmd("Browser.grantPermissions", {
        "origin": page.server.address(), "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
    page.open("?view=profile&from=-5m&to=now&search=json")
    page.until(lambda: page.find(".sum").is_displayed())
    page.keys("S")
    page.sees("Copied", "#copy-link")
    link = page.driver.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
    copied = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(link).query))
    assert link.startswith(page.server.address())
    assert float(copied["to"]) - float(copied["from"]) == 300 and abs(float(copied["to"]) - answers.NOW) < 60
    assert copied["search"] == "json" and copied["view"] == "profile"


@pytest.mark.parametrize("film", [False, True])
def test_the_made_up_answers_are_such_as_the_server_gives(server, film):
    server.behave(film=film)
    for what in ("status", "series", "timeline", "flame", "functions", "diff", "sandwich", "places", "processes",
                 "losses"):
        ask = {"from": str(answers.NOW - 8), "to": str(answers.NOW), "before_from": str(answers.NOW - 16),
               "before_to": str(answers.NOW - 8), "name": "malloc", "group": "service"}
        body = json.dumps(getattr(server.api, what)(ask))
        answers.DESCRIPTION.check_answer("GET", f"/api/v1/{what}", 200, "application/json", body)


def test_weight(server):
    """What loads with the first view, with the views that load later, and with the words in Chinese."""
    bytes_of = {path.name: len(gzip.compress(path.read_bytes(), 9)) for path in server.folder.iterdir()
                if path.suffix in (".html", ".js", ".css", ".svg") and path.stem != "offline"}
    later, chinese = bytes_of.pop("more.js"), bytes_of.pop("chinese.js")
    assert set(bytes_of) == {"index.html", "app.js", "chunk.js", "app.css", "icon.svg"}
    assert sum(bytes_of.values()) < 102_000
    assert later < 40_000
    assert chinese < 12_500


@harness.needs_root
def test_a_real_film(page, places, tmp_path):
    """What stackcam itself serves: no made-up answer."""
    stackcam, _ = places
    film = tmp_path / "busy.film"
    busy = "import time; end = time.monotonic() + 1\nwhile time.monotonic() < end: sum(range(1000))"
    subprocess.run([stackcam, "record", "-F", "499", "-o", film, "--", "/usr/bin/python3", "-c", busy],
                   check=True, timeout=harness.PATIENCE, stderr=subprocess.DEVNULL)
    with asking.playing(stackcam, film) as player:
        try:
            page.driver.get(player.link)
            page.until(lambda: services(page))
            assert "token" not in page.driver.current_url
            assert "one film" in page.text("footer.cost")
            page.all(".groups tbody tr")[0].click()
            page.sees("python3", ".flame-table")
            page.click("#to-compare")
            page.sees("The rate changed")
            page.until(lambda: page.all(".flame-row"))
        finally:
            page.driver.get("about:blank")
    browser.requests(page.driver)  # they went to that server
