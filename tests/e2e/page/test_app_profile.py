# SPDX-License-Identifier: Apache-2.0
"""What a profile and a comparison are asked, and what is done with them."""
import answers
from app import select_frame, services

from selenium.webdriver.common.keys import Keys


def test_filters(page):
    page.open()
    page.pick("host", "web-1")
    page.asks("timeline", host="web-1")
    page.until(lambda: services(page) == ["api.service", "worker.service", "sshd.service"])
    page.pick("label", "env=test")
    page.asks("timeline", host="web-1", label="env=test")
    page.until(lambda: services(page) == ["worker.service"])
    page.choose("event", "off-cpu")
    page.asks("timeline", event="off-cpu")
    page.click(".chip button")
    page.until(lambda: "label" not in page.link())
    page.click("#more-filters")
    for name, value in (("focus", "json"), ("comm", "work*"), ("pid", "12")):
        page.find(f".dropped input[name={name}]").send_keys(value)
    page.keys(Keys.ENTER)
    page.asks("timeline", focus="json", comm="work*", pid="12")
    assert [chip.text.split("\n")[0] for chip in page.all(".chip")] == ["focus: json", "name work*", "pid 12"]
    page.click("#clear")
    page.until(lambda: page.link() == {"event": "off-cpu"})
    page.until(lambda: len(services(page)) == 5)


def test_heat_map(page):
    """What is dragged over is the time of the flame graph, to 20 ms; the map stays that of the whole range."""
    page.open("?view=profile&from=1795264328&to=1795264388")
    page.click("#as-heat")
    page.asks("heat", **{"from": "1795264328", "to": "1795264388"})
    page.until(lambda: page.all("#heat"))
    page.run("""
        const canvas = document.querySelector('#heat'), box = canvas.getBoundingClientRect();
        const column = box.width / 60, at = (type, second, row) => canvas.dispatchEvent(new PointerEvent(type, {
            bubbles: true, pointerId: 1, clientX: box.left + (second + 0.5) * column, clientY: box.top + row * 4 + 2 }));
        canvas.setPointerCapture = () => {};
        at('pointerdown', 2, 10); at('pointermove', 3, 4); at('pointerup', 3, 4);""")
    page.asks("flame", **{"from": "1795264330.2", "to": "1795264331.1"})
    assert page.link()["part_from"] == "1795264330.2" and page.link()["from"] == "1795264328"
    page.click("#whole-range")
    page.until(lambda: "part_from" not in page.link())


def test_a_range_with_one_end(page):
    """From then on until now: for the heat map, the export, the link and the comparison, too."""
    page.open("?view=profile&from=-15m&service=api.service")
    page.asks("flame", **{"from": "-15m", "to": "now"})
    page.until(lambda: page.find("#as-heat").is_enabled())
    page.click("#export")
    page.click("[role=menuitem][data-key=folded]")
    page.asks("export", format="folded", **{"from": "-15m", "to": "now"})
    page.click("#as-heat")
    page.asks("heat", **{"from": "-15m", "to": "now"})
    page.until(lambda: page.all("#heat"))
    page.run("navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }")
    page.click("#copy-link")
    page.sees("Copied", "#copy-link")
    link = page.run("return window.copied")
    assert "NaN" not in link and f"to={answers.NOW}"[:-2] in link, link
    page.open(f"?view=profile&to={answers.NOW - 600}")
    page.asks("flame", **{"from": str(answers.NOW - 4200), "to": str(answers.NOW - 600)})
    page.open("?view=compare&from=-15m")
    page.asks("diff", **{"from": "-15m", "to": "now", "before_from": "-1800s", "before_to": "-900s"})


def test_heat_maps_are_of_an_hour_at_most(page):
    page.open("?view=profile&from=-1d&to=now&heat=1")
    page.asks("timeline", **{"from": "-1d"})
    page.until(lambda: not page.find("#as-heat").is_enabled())
    assert not page.all("#heat")


def test_two_events_beside_each_other(page):
    page.open("?view=profile")
    page.asks("flame", event="on-cpu")
    page.choose("other", "off-cpu")
    page.asks("flame", event="off-cpu")
    page.until(lambda: page.link().get("other") == "off-cpu")
    page.until(lambda: "Off-CPU" in page.text(".graph-area") and "On-CPU" in page.text(".graph-area"))


def test_how_stacks_are_merged(page):
    page.open("?view=profile")
    page.click("#shape")
    for by in ("process", "thread", "image", "label"):
        page.click(f"[name=by][value={by}]")
        page.asks("flame", by=by)
    page.click("[name=by][value='']")
    for name in ("lines", "inlines", "native"):
        page.click(f"[name={name}]")
        page.asks("flame", **{name: "1"})
    page.asks("flame", lines="1", inlines="1", native="1", functions="1")
    page.keys(Keys.ESCAPE)
    page.until(lambda: not page.all(".dropped"))


def test_details_of_a_frame(page):
    page.open("?view=profile")
    select_frame(page)
    page.click_text(".flame-foot button", "Details")
    page.sees("handle_orders(Request const&, Response&)", ".details")
    # of the same seconds as the chart: in steps that lie elsewhere, a part could be more than the whole
    page.asks("timeline", function="handle_orders(Request const&, Response&)", to=str(answers.NOW))
    details = page.text(".details")
    assert "/srv/api/bin/api-server" in details and "src/orders.cc:120" in details and "native" in details
    assert "61.00%" in details and "http::Server::run(http::Options const&)" in details
    # of the hour that ends now: longer ones are not read for a click
    page.asks("places", name="handle_orders(Request const&, Response&)", image=answers.API, **{"from": "-1h", "to": "now"})
    page.sees(f"build id {'0a' * 20}", "#places")
    page.sees(f"build id {'1a' * 20}", "#places")
    page.sees("Share of this name over time 0 – 25.", ".details")
    page.click("#focus")
    page.asks("flame", focus=r"^handle_orders\(Request const&, Response&\)$")
    page.sees("focus: ", ".chip")
    assert not page.all(".details")


def test_details_are_those_of_the_last_answer(page):
    page.open("?view=profile&live=1&from=-5m&to=now")
    select_frame(page)
    page.click_text(".flame-foot button", "Details")
    page.sees("Total 224.892 s 61.00%", ".details")
    page.server.busy = 3
    page.sees("Total 674.677 s 61.00%", ".details")
    page.sees("Total 674.677 s (61.00%)", ".flame-foot")
    page.run("document.querySelector('.flame-scroller canvas').focus()")
    page.keys(Keys.ARROW_DOWN)
    page.server.busy = 1
    page.until(lambda: "(61.00%)" not in page.text(".flame-foot"), "another frame")
    page.sees("handle_orders", ".details h2")


def test_buttons_stay_while_it_is_live(page):
    """One that is replaced between press and release would not be clicked."""
    page.open("?view=profile&live=1&from=-5m&to=now")
    select_frame(page)
    page.run("window.button = document.querySelector('.flame-actions button')")
    page.server.busy = 3
    page.sees("Total 674.677 s (61.00%)", ".flame-foot")
    assert page.run("return window.button.isConnected")


def test_places_of_a_long_range(page):
    """The server reads as many films as there is time for; the page says so."""
    page.server.unread = 3
    page.open("?view=profile&from=-1d&to=now")
    select_frame(page)
    page.click_text(".flame-foot button", "Details")
    page.sees("3 films not read; those that were lie evenly in the range", "#places")
    page.asks("places", **{"from": "-1d", "to": "now"})
    assert len(page.server.questions("places")) == 1
    page.click("#processes")
    page.asks("processes", **{"from": "-1d", "to": "now"})
    page.sees("3 films not read", ".process-panel")
    page.server.unread = 0
    page.open("?view=profile&from=-1d&to=now")
    select_frame(page)
    page.click_text(".flame-foot button", "Details")
    page.sees("build id", "#places")
    assert "not read" not in page.text("#places")


def test_processes_can_be_chosen(page):
    page.open("?view=profile&from=-1h&to=now&pid=7")
    page.click("#processes")
    page.until(lambda: page.all(".processes li"))
    assert page.server.questions("processes")[-1]["from"] == "-1h"
    assert {"pid", "tid", "comm"}.isdisjoint(page.server.questions("processes")[-1])
    assert "api 2 processes 48.64%" in page.text(".processes")
    page.keys("12")  # into the field: keys of the page they are not
    page.sees("No process fits", ".process-panel")
    page.keys(Keys.BACKSPACE * 2, "200")
    page.until(lambda: len(page.all(".processes li")) == 1)
    page.keys(Keys.TAB, Keys.ENTER)
    page.sees("thread 1200", ".processes")
    page.click_text(".processes .pick", "io* thread 1200")
    page.asks("flame", pid="200", tid="1200", host="web-1")
    page.until(lambda: not page.all(".processes"))
    assert page.link()["tid"] == "1200"
    page.driver.refresh()
    page.sees("tid 1200", ".ask")
    page.click("#processes")
    page.click_text(".processes .pick", "api 2 processes")
    page.asks("flame", comm="api")
    assert {"pid", "tid"}.isdisjoint(page.link())


def test_what_is_on_its_way_is_said(page):
    page.open("?from=-15m&to=now")
    page.sees("indexed up to 14:32:02", ".sum")
    page.click("#to-profile")
    page.sees("indexed up to 14:32:02", ".sum")
    page.open(f"?from={answers.NOW - 900}&to={answers.NOW - 60}")
    page.until(lambda: services(page))
    assert not page.all(".coming")


def test_each_view_says_which_part_it_has(page):
    """Answers that lack the older half of a range: numbers, charts and comparisons are of the other one."""
    views = {"profile": ".sum", "profile&heat=1": ".heat figcaption", "compare": ".sums", "requests": ".sum"}
    page.server.partial = 3
    for view, place in views.items():
        page.open(f"?view={view}&from=-10m&to=now")
        page.sees("Part of this range is missing: before 14:27:0", place)
        page.sees("3 older films not read", place)
    page.server.partial = 0
    for view, place in views.items():
        page.open(f"?view={view}&from=-10m&to=now")
        page.until(lambda place=place: page.all(place))
        assert not page.all(".unread"), view


def test_sandwich(page):
    page.open("?view=profile")
    select_frame(page)
    page.keys("s")
    page.asks("sandwich", name="handle_orders(Request const&, Response&)", image=answers.API)
    page.until(lambda: page.link()["sandwich"].startswith("handle_orders"))
    page.sees("Callers", ".flame-panel")
    page.sees("Callees", ".flame-panel")
    page.driver.back()
    page.until(lambda: "sandwich" not in page.link())


def saved(folder, ending):
    """Such a file, named by the service and the second in which it was saved."""
    return list(folder.glob(f"api.service-2026-11-21-1432[0-5][0-9].{ending}"))


def test_exports(page, tmp_path):
    page.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    names = {"json": "json", "pprof": "pb.gz", "speedscope": "speedscope.json", "folded": "folded", "svg": "svg",
             "html": "html", "table": "txt"}
    for form, ending in names.items():
        page.open("?view=profile&service=api.service")  # anew: a page may not save many files in a row
        page.click("#export")
        page.click(f"[role=menuitem][data-key={form}]")
        page.asks("export", format=form, service="api.service")
        page.until(lambda: saved(tmp_path, ending), ending)
    page.server.status = 507
    page.expected = ("507",)
    page.keys("E")
    page.until(lambda: page.find("[role=menuitem]").is_displayed())
    page.keys(Keys.ARROW_DOWN, Keys.ENTER)
    page.sees("The export failed: no answer", "main")


def test_comparisons_can_be_exported(page, tmp_path):
    page.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    page.open("?view=compare&service=api.service")
    page.click("#export")
    assert [item.get_attribute("data-key") for item in page.all("[role=menuitem]")] == [
        "pprof", "speedscope", "folded", "svg", "html", "json", "table"]
    page.click("[role=menuitem][data-key=pprof]")
    page.asks("export", format="pprof", service="api.service", before_from="-7200s", before_to="-3600s")
    page.until(lambda: saved(tmp_path, "pb.gz"))


def test_comparison(page):
    page.open("?view=compare")
    page.asks("diff", **{"from": "-1h", "to": "now", "before_from": "-7200s", "before_to": "-3600s", "functions": "1"})
    page.sees("The rate changed: 0.00%")
    page.sees("blue shrank, red grew", ".flame-panel")
    page.click("#yesterday")
    page.asks("diff", before_from="-90000s", before_to="-86400s")
    page.click("#last-week")
    page.asks("diff", before_from="-608400s", before_to="-604800s")
    page.click("#previous")
    page.until(lambda: "before_from" not in page.link())
    page.pick("service", "api.service")
    page.pick("before_service", "worker.service")
    page.asks("diff", service="api.service", before_service="worker.service")
    page.pick("before_service", "")
    page.asks("diff", service="api.service", before_service="")
    page.pick("before_service", "worker.service")
    page.pick("before_version", "a1b2c3d4")
    page.pick("before_host", "web-1")
    page.asks("diff", before_version="a1b2c3d4", before_host="web-1")
    page.click("#beside")
    page.until(lambda: len(page.all(".flame-pane")) == 2)
    asked = [ask.get("service") for ask in page.server.questions("flame")]
    assert sorted(asked[-2:]) == ["api.service", "worker.service"]
    page.click("#swap")
    page.asks("diff", service="worker.service", before_service="api.service")
    link = page.driver.current_url
    page.click("#one")
    page.until(lambda: len(page.all(".flame-pane")) == 1)
    page.driver.get(link)
    page.until(lambda: len(page.all(".flame-pane")) == 2)


def test_details_of_both_sides_of_a_comparison(page):
    page.open("?view=compare&beside=1&service=api.service&before_service=worker.service&before_from=-2h&before_to=-1h")
    for side, words, wanted in ((0, "Before: ", {"service": "worker.service", "from": "-2h", "to": "-1h"}),
                                (1, "Now: ", {"service": "api.service", "from": "-1h", "to": "now"})):
        page.until(lambda: len(page.all(".flame-pane canvas[role=application]")) == 2)
        page.run("document.querySelectorAll('.flame-pane canvas[role=application]')[arguments[0]].focus()", side)
        page.keys(*[Keys.ARROW_DOWN] * 7)
        page.sees("handle_orders", ".flame-foot")
        page.click_text(".flame-foot button", "Details")
        page.sees(words, "#places")
        page.asks("places", **wanted)
        page.keys(Keys.ESCAPE)
        page.until(lambda: not page.all(".details"))


def test_a_search_finds_what_was_not_sent(page):
    """Of 250,000 nodes the page has some: the server searches all of them."""
    page.server.behave(part=True)
    page.open("?view=profile&search=json")
    page.asks("search", text="json", event="on-cpu", limit="1000")
    assert page.server.questions("search")[-1].keys() & {"regex", "hide"} == set()
    page.sees("in 405 frames, 2 of them drawn", ".flame-search output")
    page.sees("json_2", ".flame-table")
    page.sees("and 2 more functions", ".flame-table")
    share = page.text(".flame-search output")
    assert "(70.00%)" in share, share  # twice what is drawn
    page.click(".flame-search [aria-pressed]")
    page.asks("search", text="json", regex="1")
    page.find(".flame-search input").send_keys(Keys.ESCAPE)
    page.until(lambda: "json_2" not in page.text(".flame-table"))
    # one letter after the other is one question
    before = len(page.server.questions("search"))
    page.find(".flame-search input").send_keys("malloc")
    page.asks("search", text="malloc")
    assert len(page.server.questions("search")) - before < 6


def test_a_search_says_what_it_has_so_far(page):
    page.server.behave(part=True, hold={"search"})
    page.open("?view=profile&search=json")
    page.sees("at least", ".flame-search output")
    page.sees("searching all frames", ".flame-search output")
    page.server.release()
    page.sees("2 of them drawn", ".flame-search output")
    assert "at least" not in page.text(".flame-search output")


def test_what_is_all_there_is_searched_here(page):
    page.open("?view=profile&search=json")
    page.sees("in 2 frames", ".flame-search output")
    assert not page.server.questions("search") and "drawn" not in page.text(".flame-search output")


def test_both_sides_of_a_comparison_are_searched(page):
    page.server.behave(part=True)
    page.open("?view=compare&beside=1&search=json")
    page.until(lambda: len(page.server.questions("search")) >= 2)
    page.until(lambda: page.text(".flame-panes").count("2 of them drawn") == 2)
