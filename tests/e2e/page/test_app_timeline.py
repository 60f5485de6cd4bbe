# SPDX-License-Identifier: Apache-2.0
"""The timeline of threads: what is asked, what is drawn where, and what mouse and keys do."""
import answers
import pytest

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

FILM = {"film": True, "events": ["on-cpu", "threads"]}
START = answers.NOW - 12  # of the film, which is 12 s long
MS = 10**6


@pytest.fixture
def timeline(page):
    page.server.behave(**FILM)
    page.open("?view=timeline")
    page.until(lambda: drawn(page, 1), "the first lane")
    return page


def pixel(page, x, y):
    """The colour that the canvas has there, from its upper left corner."""
    return page.run("""
        const lanes = document.querySelector('#lanes'), ratio = devicePixelRatio;
        const copy = Object.assign(document.createElement('canvas'), { width: 1, height: 1 });
        const ctx = copy.getContext('2d', { willReadFrequently: true });
        ctx.drawImage(lanes, -arguments[0] * ratio, -arguments[1] * ratio);
        return [...ctx.getImageData(0, 0, 1, 1).data];""", x, y)


def drawn(page, row):
    """Whether something of a row is painted."""
    return page.all("#lanes") and any(pixel(page, x, 20 * row + 16)[3] for x in range(10, 100, 7))


def pointer(page, *moves, shift=False, ctrl=False):
    """Events of a mouse on the canvas: (type, x, y)."""
    page.run("""
        const canvas = document.querySelector('#lanes'), box = canvas.getBoundingClientRect();
        canvas.setPointerCapture = () => {};
        for (const [type, x, y] of arguments[0])
            canvas.dispatchEvent(new (type === 'wheel' ? WheelEvent : PointerEvent)(type, { bubbles: true, cancelable: true,
                pointerId: 1, clientX: box.left + x, clientY: box.top + y, shiftKey: arguments[1], ctrlKey: arguments[2],
                deltaY: type === 'wheel' ? -200 : 0 }));""", list(moves), shift, ctrl)


def in_sight(page):
    """Seconds since the film's begin: all of it, or what the address says."""
    link = page.link()
    return (float(link["t_from"]) - START, float(link["t_to"]) - START) if "t_from" in link else (0, 12)


def lanes(page):
    return [lane.get_attribute("data-lane") for lane in page.all(".tl-names .lane")]


def test_a_process_whose_tasks_have_no_lanes_says_so(page):
    page.server.behave(**FILM, unlinked=True)
    page.open("?view=timeline")
    page.until(lambda: page.all(".tl-names .not-linked"), "the words")
    said, = page.all(".tl-names .not-linked")
    assert said.text.strip() == "not linked"
    assert said.get_attribute("title") == "Which of the tasks of asyncio a thread ran is not known"


def test_a_film_with_slices_opens_with_its_timeline(page):
    page.server.behave(**FILM)
    page.open()
    page.until(lambda: page.link().get("view") == "timeline")
    page.until(lambda: drawn(page, 1))
    page.click("#to-overview")
    page.until(lambda: page.all(".groups tbody tr"))
    assert page.link() == {}


def test_a_film_without_slices_has_no_timeline(page):
    page.server.behave(film=True)
    page.open()
    page.until(lambda: page.all(".groups tbody tr"))
    assert not page.all("#to-timeline")
    page.keys("I")
    assert page.link() == {}


def test_spans_are_bars_on_the_lane_of_their_thread(timeline):
    """Two of the thread 101: the second one lies in the first, and failed."""
    timeline.until(lambda: len(timeline.all(".tl-spans button")) == 2)
    assert timeline.server.questions("spans")[-1]["limit"] == "1000"
    failed, = timeline.all(".tl-spans button.bad")
    assert failed.get_attribute("title").startswith("price_order\nshop, 40")
    row = lanes(timeline).index("100.101")
    at, width, top, height = timeline.run("""
        const bar = document.querySelector('.tl-spans button.bad').getBoundingClientRect();
        const canvas = document.querySelector('#lanes').getBoundingClientRect();
        const lane = document.querySelectorAll('.tl-names .lane')[arguments[0]].getBoundingClientRect();
        return [(bar.left - canvas.left) / canvas.width, bar.width, bar.top - lane.top, lane.height];""", row)
    assert abs(at - (answers.SPANS - START + 0.01) / 12) < 0.01 and width >= 1 and 0 < top < height, (at, width, top, height)
    timeline.run("document.querySelector('.tl-spans button.bad').click()")
    timeline.until(lambda: timeline.all("#slice-panel"))
    assert timeline.link()["lane"] == "100.101"


def test_the_first_picture_is_one_answer(timeline):
    """All of the time, in pixels of a power of two, with the names: nothing more is asked for."""
    asked, = timeline.server.questions("timeline/lanes")
    assert int(asked["pixel"]).bit_count() == 1 and int(asked["shown"]) >= 31
    timeline.until(lambda: timeline.find(".answers").get_attribute("aria-busy") == "false")
    assert timeline.server.questions("timeline/slices") == []


def test_lanes_are_of_one_host(page):
    """Threads of two machines may have the same numbers."""
    page.server.behave(**FILM)
    page.server.hosts = ["web-1", answers.HOSTILE]
    page.open("?view=timeline")
    page.until(lambda: len(page.all(".notice button")) == 2)
    page.server.hosts = ["web-1"]
    page.click_text(".notice button", "web-1")
    page.asks("timeline/lanes", host="web-1")
    page.until(lambda: lanes(page))


def test_what_is_asked(timeline):
    """Tiles of powers of two, of the lanes in sight alone; to the ns."""
    timeline.click("#closer")
    timeline.until(lambda: timeline.server.questions("timeline/slices"))
    asked = timeline.server.questions("timeline/slices")[-1]
    assert int(asked["pixel"]).bit_count() == 1 and int(asked["pixel"]) <= 12 * 10**9 / 800
    assert asked["event"] == "threads" and len(asked["lanes"].split(",")) <= 64
    assert timeline.text(".tl-corner") == "31 threads"


def test_slices_without_room_are_told(timeline):
    assert not timeline.all(".tl-tools .warn")
    timeline.server.behave(**FILM, cut=True)
    timeline.click("#closer")
    timeline.sees("There are more slices than are drawn", ".tl-tools .warn")


def test_lanes_are_painted_as_they_were(timeline):
    """Of the first turn of the last lane: a sleeping thread, and a hole that is hatched."""
    timeline.find("[name=t-find]").send_keys("redis")
    timeline.until(lambda: lanes(timeline) == ["300.300"])
    timeline.until(lambda: drawn(timeline, 1))
    width = timeline.run("return document.querySelector('#lanes').getBoundingClientRect().width")
    at = lambda seconds, y: pixel(timeline, round(width * seconds / 12), 20 + y)  # noqa: E731
    assert at(2, 16)[3] and not at(2, 6)[3], "a thread that polls is a low bar"
    hatch = [at(4.5, y)[3] > 0 for y in range(3, 17)]
    assert any(hatch) and not all(hatch), "what is not known is hatched"
    assert at(6, 16)[3] and not at(6, 6)[3]


def test_keys(timeline):
    timeline.keys("w")
    timeline.until(lambda: in_sight(timeline)[1] - in_sight(timeline)[0] < 12)
    before = in_sight(timeline)
    timeline.keys("a")
    timeline.until(lambda: in_sight(timeline)[0] < before[0])
    timeline.keys("f")
    timeline.until(lambda: in_sight(timeline) == (0, 12))
    timeline.keys("u")
    timeline.until(lambda: in_sight(timeline) != (0, 12))
    timeline.keys("f", Keys.ARROW_DOWN)
    timeline.until(lambda: timeline.link().get("lane") == lanes(timeline)[0])
    timeline.until(lambda: timeline.all("#slice-panel dl"))
    timeline.keys(".")
    timeline.asks("timeline/slice", lane_tid=timeline.link()["lane"].split(".")[1])
    timeline.keys("t")
    timeline.until(lambda: timeline.all("#states tbody tr"))
    timeline.keys(Keys.ESCAPE, Keys.ESCAPE)
    timeline.until(lambda: not timeline.all(".tl-panel"))


def test_the_wheel_zooms_where_the_pointer_is(timeline):
    width = timeline.run("return document.querySelector('#lanes').getBoundingClientRect().width")
    pointer(timeline, ("wheel", width / 4, 30), ctrl=True)
    timeline.until(lambda: in_sight(timeline) != (0, 12))
    first, last = in_sight(timeline)
    assert first + (last - first) / 4 == pytest.approx(3, abs=0.05)
    timeline.click("#undo-zoom")
    timeline.until(lambda: in_sight(timeline) == (0, 12))


def test_to_a_microsecond(timeline):
    """Closer and closer, in whole ns, and each slice alone at the end."""
    for _ in range(24):
        timeline.click("#closer")
    # 12 s, halved 24 times: 715 ns
    timeline.until(lambda: 0 < in_sight(timeline)[1] - in_sight(timeline)[0] < 1e-6)
    timeline.until(lambda: timeline.server.questions("timeline/slices")[-1]["pixel"] == "1")
    words = timeline.link()["t_from"], timeline.link()["t_to"]
    assert all(len(word.split(".")[1]) <= 9 for word in words)
    timeline.open(timeline.run("return location.search"))
    timeline.until(lambda: timeline.all("#lanes"))
    assert (timeline.link()["t_from"], timeline.link()["t_to"]) == words


def test_dragging_moves(timeline):
    timeline.click("#closer")
    timeline.until(lambda: in_sight(timeline) != (0, 12))
    before = in_sight(timeline)
    pointer(timeline, ("pointerdown", 300, 30), ("pointermove", 200, 30), ("pointermove", 100, 30), ("pointerup", 100, 30))
    timeline.until(lambda: in_sight(timeline)[0] > before[0] + 0.5)


def test_an_area_has_states_and_flame_graphs(timeline):
    """Shift and drag: those lanes, that time; its flame graph is asked for the same."""
    width = timeline.run("return document.querySelector('#lanes').getBoundingClientRect().width")
    chosen = lanes(timeline)[:2]
    pointer(timeline, ("pointerdown", width / 4, 25), ("pointermove", width / 3, 40), ("pointermove", width / 2, 55),
            ("pointerup", width / 2, 55), shift=True)
    timeline.until(lambda: timeline.all("#states tbody tr"))
    asked = timeline.server.questions("timeline/states")[-1]
    assert asked["lanes"].split(",") == chosen
    assert (float(asked["from"]) - START, float(asked["to"]) - START) == pytest.approx((3, 6), abs=0.1)
    rows = [row.text for row in timeline.all("#states tbody tr")]
    assert any("on a CPU" in row for row in rows) and rows[-1].startswith("all")
    assert timeline.find("#area-off-cpu").is_displayed()
    timeline.click("#area-on-cpu")
    timeline.asks("flame", event="on-cpu", tid=",".join(lane.split(".")[1] for lane in chosen),
                  **{"from": asked["from"], "to": asked["to"]})


def test_from_a_profile_to_its_timeline(page):
    page.server.behave(**FILM)
    page.open(f"?view=profile&from={START + 3}&to={START + 4}&tid=101")
    page.click("#profile-timeline")
    page.asks("timeline/lanes", **{"from": str(START + 3), "to": str(START + 4), "tid": "101"})
    page.until(lambda: lanes(page))


def test_what_is_said_of_a_slice_does_not_hide_it(timeline):
    """The panel is in sight as a whole, below the lanes."""
    pointer(timeline, ("pointerdown", 200, 130), ("pointerup", 200, 130))
    timeline.until(lambda: timeline.all("#slice-panel dl"))
    panel, lane = (timeline.run("const { top, bottom } = document.querySelector(arguments[0]).getBoundingClientRect(); return [top, bottom];", css)
                   for css in ("#slice-panel", ".tl-names .picked"))
    assert 0 < lane[1] <= panel[0] < panel[1] <= timeline.run("return innerHeight"), (lane, panel)


def test_losses_are_those_of_the_slices(timeline):
    assert timeline.text("#losses") == "7 losses"
    timeline.click("#losses")
    timeline.asks("losses", event="threads")


def test_a_slice_has_its_evidence(timeline):
    """The lane of thread 100 waits for a lock from 0.3 to 0.9 of its 5 ms."""
    timeline.open(f"?view=timeline&lane=100.100&at={START}.002&t_from={START}&t_to={START}.01")
    timeline.until(lambda: timeline.all("#slice-panel dl"))
    words = timeline.text("#slice-panel")
    for part in ("3.000000 ms", "1.500000 ms", "futex(0x7f0000000040, 0x80)", "worker-1 101", "a thread", "db_query(char const*)"):
        assert part in words, part
    timeline.click("#slice-behind")
    timeline.until(lambda: "woken" in timeline.text("#slice-panel h2"))
    timeline.click("#slice-before")
    timeline.until(lambda: timeline.text("#slice-panel h2") == "lock")
    assert "worker-2 102, the owner when the wait began" in timeline.text("#slice-panel")
    assert "gemm<float> on stream 7, 4.1" in timeline.text("#slice-panel")
    timeline.click("#to-holder")
    timeline.until(lambda: timeline.link()["lane"] == "100.102")
    timeline.open(f"?view=timeline&lane=100.100&at={START}.002&t_from={START}&t_to={START}.01")
    timeline.until(lambda: timeline.all("#to-waker"))
    timeline.click("#to-waker")
    timeline.until(lambda: timeline.link()["lane"] == "100.101")
    timeline.click("#wall")
    timeline.until(lambda: "2026-11-21 14:31:56" in timeline.text("#slice-panel"))


def test_pointing_and_clicking(timeline):
    timeline.open(f"?view=timeline&t_from={START}&t_to={START}.01&t_find=101")
    timeline.until(lambda: lanes(timeline) == ["100.101"] and drawn(timeline, 1))
    pointer(timeline, ("pointermove", 40, 30))
    timeline.until(lambda: "on a CPU" in timeline.text(".tl-tip"))
    pointer(timeline, ("pointerdown", 40, 30), ("pointerup", 40, 30))
    timeline.until(lambda: timeline.text("#slice-panel h2") == "on a CPU")
    assert timeline.link()["lane"] == "100.101"


def test_who_ran_on_each_cpu(page):
    """A lane a CPU: the threads that ran there, by the colours of their processes; a click leads to the slice."""
    page.server.behave(**FILM, cpus=True)
    page.open(f"?view=timeline&t_from={START}&t_to={START + 0.3}&t_find=101")
    page.until(lambda: [name.text for name in page.all(".tl-names .cpu")] == ["CPU 0", "CPU 1"])
    page.until(lambda: drawn(page, 1) and drawn(page, 2) and drawn(page, 4))
    width = page.run("return document.querySelector('#lanes').getBoundingClientRect().width")
    at = lambda part, y: pixel(page, round(width * part), y)[:3]  # noqa: E731
    assert at(0.15, 36) == at(0.45, 36) != at(0.85, 36), "two threads of one process, and one of another"
    pointer(page, ("pointermove", width * 0.5, 30))
    page.until(lambda: all(word in page.text(".tl-tip") for word in ("CPU 0", "worker-1", "100.000000 ms")))
    pointer(page, ("pointermove", width * 0.5, 50))
    page.until(lambda: "each shorter than a pixel" in page.text(".tl-tip"))
    pointer(page, ("pointerdown", width * 0.5, 30), ("pointerup", width * 0.5, 30))
    page.until(lambda: page.link().get("lane") == "100.101")
    page.until(lambda: at(0.15, 24) != at(0.5, 24), "the chosen thread fills its lane")
    page.run("document.querySelector('.tl-names .fold').click()")
    page.until(lambda: not page.all(".tl-names .cpu"))
    assert page.link()["fold"] == "cpus"


def test_what_streams_of_devices_ran(page):
    """A lane a stream, by the names of kernels; what is pointed at says who launched it, and a click leads to that thread, with an arrow."""
    page.server.behave(**FILM, devices=2)
    page.open(f"?view=timeline&t_from={START}&t_to={START + 0.1}&t_find=101")
    page.until(lambda: [name.text.split("\n")[0] for name in page.all(".tl-names .stream")] ==
               ["GPU 0 \u00b7 stream 7 75.00%", "GPU 0 \u00b7 stream 8 75.00%"])
    page.until(lambda: drawn(page, 1) and drawn(page, 2) and drawn(page, 4))
    title = page.find(".tl-names .stream .name").get_attribute("title")
    assert all(word in title for word in ("api-server 100", "kernels 50.00%", "copies 25.00%", "idle 25.00%", "not known 0.00%")), title
    width = page.run("return document.querySelector('#lanes').getBoundingClientRect().width")
    at = lambda part, y: pixel(page, round(width * part), y)  # noqa: E731
    # a kernel fills its lane, a copy half of it, and what is not known is hatched
    assert at(0.5, 24)[3] and at(0.5, 36)[:3] == at(0.5, 24)[:3]
    copy = 0.6 + 2 / width  # left of its name
    assert not at(copy, 24)[3] and at(copy, 36)[3] and at(copy, 36)[:3] != at(0.5, 36)[:3]
    assert not at(0.75, 36)[3], "the stream is idle"
    assert {at(x / width, 30)[3] > 0 for x in range(10, 24)} == {True, False}
    pointer(page, ("pointermove", width * 0.5, 30))
    page.until(lambda: all(word in page.text(".tl-tip") for word in (
        "GPU 0 \u00b7 stream 7", "api-server 100", "gemm", "20.000000 ms", "launched by worker-1 101 at 35.000000 ms, 5.000000 ms before")))
    pointer(page, ("pointermove", width * 0.65, 30))
    page.until(lambda: all(word in page.text(".tl-tip") for word in ("[copy host to device]", "4.1 kB copied", "not sampled")))
    pointer(page, ("pointermove", width * 0.75, 30))
    page.until(lambda: "idle" in page.text(".tl-tip"))
    pointer(page, ("pointermove", 15, 30))
    page.until(lambda: "not known: records were lost" in page.text(".tl-tip"))
    pointer(page, ("pointermove", width * 0.5, 50))
    page.until(lambda: "kernels and copies in one" in page.text(".tl-tip"))
    # the arrow goes from the thread at 35 ms to the kernel at 40 ms, over the lane between
    before = [at(x / width, 48) for x in range(round(width * 0.34), round(width * 0.41))]
    pointer(page, ("pointerdown", width * 0.5, 30), ("pointerup", width * 0.5, 30))
    page.until(lambda: page.link().get("lane") == "100.101" and page.link()["at"] == f"{START}.035")
    page.until(lambda: [at(x / width, 48) for x in range(round(width * 0.34), round(width * 0.41))] != before)
    page.run("document.querySelector('.tl-names .fold').click()")
    page.until(lambda: not page.all(".tl-names .stream"))
    assert page.link()["fold"] == "devices"


def test_streams_of_devices_by_keys(page):
    """The lanes of streams are chosen as those of threads are, and what they ran is walked through; the thread that launched it is one key away."""
    page.server.behave(**FILM, devices=2)
    page.open(f"?view=timeline&t_from={START}&t_to={START + 0.2}&t_find=101")
    page.until(lambda: drawn(page, 1) and drawn(page, 2) and drawn(page, 4))
    title = lambda: page.text("#stream-panel h2")  # noqa: E731
    page.keys(Keys.ARROW_DOWN)
    page.until(lambda: title().startswith("GPU 0 \u00b7 stream 7") and page.link()["lane"] == "gpu100.0.7")
    page.until(lambda: len(page.all(".tl-names .stream.picked")) == 1)
    # the middle is 100 ms: the copy of the turn that began at 80 ms
    page.until(lambda: "[copy host to device]" in page.text("#stream-panel") and "10.000000 ms" in page.text("#stream-panel"))
    page.keys(".")
    page.until(lambda: "gemm" in page.text("#stream-panel") and page.link()["at"] == f"{START}.12")
    assert "launched by worker-1 101 at 115.000000 ms, 5.000000 ms before" in page.text("#stream-panel")
    page.keys(",")
    page.until(lambda: "[copy" in page.text("#stream-panel") and page.link()["at"] == f"{START}.1")
    page.keys(",")
    page.until(lambda: "gemm" in page.text("#stream-panel") and page.link()["at"] == f"{START}.08")
    # nothing is before what is not known, and it is not of a thread: it cannot be hidden
    page.keys(",", ",")
    page.until(lambda: "[copy" in page.text("#stream-panel") or "gemm" in page.text("#stream-panel"))
    page.keys("h", "p")
    assert not {"pin", "hide_lane"} & set(page.link())
    page.keys(Keys.ARROW_DOWN)
    page.until(lambda: title().startswith("GPU 0 \u00b7 stream 8"))
    page.keys(Keys.ARROW_DOWN)
    page.until(lambda: page.link()["lane"] == "100.101" and page.all("#slice-panel") and not page.all("#stream-panel"))
    page.keys(Keys.ARROW_UP, Keys.ARROW_UP)
    page.until(lambda: title().startswith("GPU 0 \u00b7 stream 7"))
    page.open(f"?view=timeline&t_from={START}&t_to={START + 0.2}&t_find=101&lane=gpu100.0.7&at={START}.13")
    page.until(lambda: page.all("#to-launcher"))
    page.keys(Keys.ENTER)
    page.until(lambda: page.run("return document.activeElement.id") == "stream-panel")
    page.click("#to-launcher")
    page.until(lambda: page.link()["lane"] == "100.101" and page.link()["at"] == f"{START}.115")
    page.open(f"?view=timeline&t_from={START}&t_to={START + 0.2}&lane=gpu100.0.7&at={START}.13")
    page.until(lambda: page.all("#stream-panel"))
    page.keys(Keys.ESCAPE)
    page.until(lambda: "lane" not in page.link() and not page.all("#stream-panel"))


def test_search_order_pins_and_hidden_lanes(timeline):
    timeline.find("[name=t-find]").send_keys("worker-7")
    timeline.until(lambda: lanes(timeline) == ["100.107"])
    timeline.run("document.querySelector('.tl-names .lane .act').click()")
    timeline.until(lambda: lanes(timeline) == ["100.107", "100.107"])
    timeline.find("[name=t-find]").send_keys(Keys.BACK_SPACE * len("worker-7"))
    timeline.until(lambda: timeline.link().get("pin") == "100.107" and "t_find" not in timeline.link())
    timeline.choose("t-order", "tid")
    timeline.until(lambda: lanes(timeline)[:4] == ["100.107", "100.100", "100.101", "100.102"])
    timeline.run("document.querySelectorAll('.tl-names .lane .act')[3].click()")
    timeline.until(lambda: lanes(timeline)[:3] == ["100.107", "100.101", "100.102"])
    timeline.run("document.querySelector('.tl-names .fold').click()")
    timeline.until(lambda: lanes(timeline) == ["100.107", "300.300"])
    timeline.click("#show-hidden")
    timeline.until(lambda: "hide_lane" not in timeline.link())


def test_a_query_finds_slices(timeline):
    """Lanes that have such slices stay; in them, what does not fit is faint. A note on an area stands in the link."""
    timeline.run("document.querySelector('[name=t-find]').focus()")
    timeline.keys("class:lock thread:worker* longer:10ms")
    timeline.until(lambda: lanes(timeline) == [f"100.{100 + i}" for i in (5, 10, 15, 20, 25)], "lanes with locks")
    # a turn of the last lane, worker-25, takes 30 ms, of which it waits 18 ms for a lock; one of worker-5 waits 6 ms
    timeline.open(f"?view=timeline&t_find=class:lock+thread:worker*+longer:10ms&t_from={START}&t_to={START + 0.06}&lanes=tid")
    timeline.until(lambda: drawn(timeline, 5), "the last lane")
    width, row = timeline.find("#lanes").rect["width"], lambda n: 20 * n + 16
    alpha = lambda n, ms: pixel(timeline, width * ms / 60, row(n))[3]  # noqa: E731
    timeline.until(lambda: alpha(5, 18) == 255 and 0 < alpha(5, 4) < 100 and 0 < alpha(1, 6) < 100, "the long wait alone")
    assert "shop api-server 100" in timeline.text(".tl-names .process")
    assert timeline.find(".tl-ruler").text.split("\n")[1].endswith(" ms")
    timeline.click("#visible-states")
    timeline.until(lambda: timeline.all("[name=area-note]"))
    timeline.find("[name=area-note]").send_keys("the <b>lock</b>")
    timeline.until(lambda: timeline.link().get("area_note") == "the <b>lock</b>")
    timeline.open(timeline.driver.current_url.removeprefix(timeline.server.address()))
    timeline.until(lambda: timeline.find("[name=area-note]").get_property("value") == "the <b>lock</b>")
    timeline.click("#close-area")
    timeline.until(lambda: "area_note" not in timeline.link())


def test_what_is_pointed_at_goes_with_the_picture(timeline):
    pointer(timeline, ("pointermove", 300, 30))
    timeline.until(lambda: timeline.all(".tl-tip"))
    before = timeline.text(".tl-tip")
    timeline.click("#closer")
    timeline.until(lambda: timeline.all(".tl-tip") and timeline.text(".tl-tip") != before, "the words of what is there now")
    timeline.run("document.querySelector('[name=t-find]').focus()")
    timeline.keys("nothing has this name")
    timeline.until(lambda: not timeline.all(".tl-tip"))


def test_hostile_names(page):
    page.server.behave(**FILM, hostile=True, devices=1)
    page.open(f"?view=timeline&t_from={START}&t_to={START + 0.1}&lane=100.100&at={START}.002")
    page.until(lambda: page.all("#slice-panel dl") and drawn(page, 1))
    pointer(page, ("pointermove", page.run("return document.querySelector('#lanes').getBoundingClientRect().width") / 2, 30))
    page.until(lambda: "launched by" in page.text(".tl-tip"))
    assert page.run("return window.hacked") is None
    assert "\u202e" not in page.text("body")


def test_a_failure_is_said(timeline):
    timeline.server.behave(**FILM, status=503)
    timeline.expected = ("503",)
    timeline.click("#closer")
    timeline.until(lambda: timeline.all(".tl [role=alert]"))
    timeline.server.behave(**FILM)
    timeline.click(".tl [role=alert] button")
    timeline.until(lambda: timeline.server.questions("timeline/slices") and not timeline.all(".tl [role=alert]"))


@pytest.fixture
def short(page):
    page.server.behave(**FILM, short=60)
    page.open("?view=timeline&hide_lane=100")
    page.until(lambda: drawn(page, 2), "the row of the first short threads")
    return page


def test_threads_that_live_for_a_short_time_share_rows(short):
    rows = [row.text.split("\n")[0] for row in short.all(".tl-names li")]
    assert len(rows) == 4 and "30 threads" in rows[2] and "30 threads" in rows[3], rows
    assert "61 of 91" in short.text(".tl-corner")
    width = short.run("return document.querySelector('#lanes').clientWidth")
    at = lambda seconds: round(width * seconds / 12)
    # what is pointed at, and chosen, is one of them
    pointer(short, ("pointermove", at(0.65), 50))
    short.sees("request-4 1004", ".tl-tip")
    pointer(short, ("pointermove", at(0.55), 50))
    short.sees("30 threads", ".tl-tip")
    pointer(short, ("pointerdown", at(0.65), 50), ("pointerup", at(0.65), 50))
    short.until(lambda: short.link().get("lane") == "300.1004")
    short.sees("request-4", "#slice-panel")
    # keys go on to the next one of the row, in its life
    short.keys(Keys.ARROW_DOWN)
    short.until(lambda: short.link().get("lane") == "300.1006")
    short.sees("request-6", "#slice-panel")
    short.until(lambda: float(short.link()["at"]) - START >= 0.9)
    # and each can have a row of its own
    short.click("#shared")
    short.until(lambda: short.link().get("apart") == "1" and "300.1000" in lanes(short))
    short.click("#shared")
    short.until(lambda: "apart" not in short.link() and lanes(short) == ["300.300"])


def test_tab_stops_at_the_chosen_lane_alone(timeline):
    stops = "return [...document.querySelectorAll('.tl-names .lane button')].filter((one) => one.tabIndex >= 0).map((one) => one.closest('li').dataset.lane)"
    assert timeline.run(stops) == []
    timeline.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    timeline.until(lambda: timeline.run(stops) and set(timeline.run(stops)) == {timeline.link().get("lane")})


def test_by_keys_alone(timeline):
    """From the lanes to what is said of a slice, through its buttons, and back."""
    focus = "return document.activeElement.id || document.activeElement.className"
    timeline.run("document.querySelector('.tl-scroll').focus()")
    timeline.keys(Keys.ARROW_DOWN)
    timeline.until(lambda: timeline.all("#slice-panel dl"))
    timeline.keys(Keys.ENTER)
    assert timeline.run(focus) == "slice-panel"
    timeline.keys(Keys.TAB)
    assert timeline.run(focus) == "slice-before"
    timeline.keys(Keys.TAB)
    before = timeline.link()["at"]
    timeline.keys(Keys.ENTER)
    timeline.until(lambda: timeline.link()["at"] != before)
    timeline.keys(Keys.ESCAPE)
    timeline.until(lambda: not timeline.all("#slice-panel"))
    assert timeline.run(focus) == "tl-scroll"


def test_blank_time_is_not_shown(page):
    """Of a film whose threads are known for a part of its time alone."""
    page.server.behave(**FILM, short=60)
    page.server.only_short = True
    page.open("?view=timeline")
    page.until(lambda: drawn(page, 1), "the first short threads")
    width = page.run("return document.querySelector('#lanes').clientWidth")
    page.until(lambda: pixel(page, width - 3, 36)[3], "the last one at the right edge")
    assert "8.9" not in page.text("#in-sight") and "t_from" not in page.link()


@pytest.fixture
def beside(page):
    page.server.behave(**FILM, beside=True)
    page.open("?view=timeline")
    page.until(lambda: drawn(page, 1), "the first lane")
    page.until(lambda: page.all(".tl-machine li"))
    return page


def strip(page, i, x):
    """Whether the strip of a gauge is painted at a part of its width, and how high."""
    return page.run("""
        const canvas = document.querySelectorAll('.tl-machine canvas')[arguments[0]];
        const copy = Object.assign(document.createElement('canvas'), { width: 1, height: canvas.height });
        const ctx = copy.getContext('2d', { willReadFrequently: true });
        ctx.drawImage(canvas, -Math.floor(canvas.width * arguments[1]), 0);
        const column = ctx.getImageData(0, 0, 1, canvas.height).data;
        let painted = 0;
        for (let y = 3; y < column.length; y += 4)
            painted += column[y] > 0;
        return painted / canvas.height;""", i, x)


def test_what_the_machine_did(beside):
    cpus, disk = [name.text.split("\n") for name in beside.all(".tl-machine .name")]
    assert cpus == ["CPU user", "0.50 CPUs"] and disk[0] == "disk busy vda" and disk[1].startswith("25.")
    asked, = beside.server.questions("timeline/machine")
    assert asked["event"] == "threads" and 100 <= int(asked["steps"]) <= 2000
    # the disk is busy from 0 to 1 s, and not from 1 to 4; of CPUs nothing is known up to 6 s, which is not drawn as nothing
    beside.until(lambda: strip(beside, 1, 0.5 / 12) > 0.7)
    assert strip(beside, 1, 2.5 / 12) < 0.1 and strip(beside, 1, 4.5 / 12) > 0.7
    assert 0 < strip(beside, 0, 3 / 12) < 0.3 and strip(beside, 0, 9 / 12) > 0.7
    assert "worker-1 101 wrote 2.0 MB (vda, longest 3.000 ms)" in beside.text("#disk-threads")
    assert "pressure is not known" in beside.text(".tl-machine")
    # closer: the time in sight is asked for
    beside.click("#closer")
    beside.until(lambda: len(beside.server.questions("timeline/machine")) > 1)
    assert float(beside.server.questions("timeline/machine")[-1]["from"]) > START
    beside.click("#fold-machine")
    beside.until(lambda: not beside.all(".tl-machine li"))
    assert beside.link()["fold"] == "machine"


def test_what_threads_logged(beside):
    beside.until(lambda: len(beside.all(".tl-logs-marks button")) == 12)
    assert len(beside.all(".tl-logs-marks button.bad")) == 1
    bad = beside.find(".tl-logs-marks button.bad")
    ActionChains(beside.driver).move_to_element(bad).perform()
    beside.until(lambda: bad.get_attribute("title") == "ERROR [worker-1] it failed \u2026")
    # all lines had room: nothing more is asked, however the time in sight changes
    beside.click("#closer")
    beside.until(lambda: "t_from" in beside.link())
    assert len(beside.server.questions("timeline/logs")) == 1
    beside.click("#fit")
    beside.until(lambda: "12 logged lines in sight" in beside.text("#logs summary"))
    # a click on a mark chooses the slice of the lane then, and shows what was logged in it
    beside.run("document.querySelector('.tl-logs-marks button.bad').click()")
    beside.asks("timeline/slice", lane_tid="101")
    beside.until(lambda: beside.all("#slice-panel .tl-logs-list li"))
    assert "by its name; thread 130 wrote it" in beside.text("#slice-panel .tl-logs-list")
    assert "cut: 20,000 bytes" in beside.text("#slice-panel .tl-logs-list")
    beside.click("#close-slice")


def test_logged_text_is_found(beside):
    beside.until(lambda: beside.all("#logs"))
    beside.run("document.querySelector('#logs').open = true")
    beside.find("[name=t-log-find]").send_keys("it FAILED")
    beside.asks("timeline/logs", find="it FAILED")
    beside.until(lambda: len(beside.all("#logs ol li")) == 1)
    assert "it failed" in beside.text("#logs ol") and len(beside.all(".tl-logs-marks button")) == 1
    assert beside.link()["log_find"] == "it FAILED"
    beside.run("document.querySelector('#logs ol button').click()")
    beside.until(lambda: beside.link().get("lane") == "100.101")


def test_hostile_words_beside_the_lanes(page):
    page.server.behave(**FILM, beside=True, hostile=True)
    page.open("?view=timeline")
    page.until(lambda: page.all(".tl-machine li") and page.all(".tl-logs-marks button"))
    page.run("document.querySelector('#logs').open = true")
    page.until(lambda: page.all("#logs ol li"))
    assert not page.all(".tl script, .tl img")


@pytest.fixture
def goroutines(page):
    page.server.behave(**FILM, goroutines=3)
    page.open("?view=timeline")
    page.until(lambda: drawn(page, 1), "the first lane")
    return page


def test_goroutines_are_a_group_below_the_threads_of_their_process(goroutines):
    goroutines.until(lambda: "goroutines" in goroutines.text(".tl-names").lower() or
                     goroutines.run("document.querySelector('.tl-scroll').scrollTop = 1e6") or
                     "Goroutines" in goroutines.text(".tl-names"))
    shown = lanes(goroutines)
    ours = [lane for lane in shown if ".g" in lane]
    assert sorted(ours) == ["100.g1", "100.g2", "100.g3"], shown
    # and those of another process behind them
    assert shown.index(ours[-1]) < shown.index("300.300"), shown


def test_tasks_are_such_a_group_too_with_words_of_their_own(page):
    page.server.behave(**FILM, tasks=2)
    page.open(f"?view=timeline&lane=300.g2&at={START + 2}.006")
    page.asks("timeline/slice", lane_pid="300", lane_tid="2", lane_goroutine="1")
    page.sees("Task-2 work", "#slice-panel")
    assert "Goroutine" not in page.text("#slice-panel")
    page.until(lambda: "Tasks" in page.text(".tl-names") or
               page.run("document.querySelector('.tl-scroll').scrollTop = 1e6"))


def test_a_slice_of_a_goroutine_names_its_thread_and_what_made_it_ready(goroutines):
    goroutines.open(f"?view=timeline&lane=100.g2&at={START + 2}.006")
    goroutines.asks("timeline/slice", lane_pid="100", lane_tid="2", lane_goroutine="1")
    goroutines.sees("goroutine 2", "#slice-panel")
    goroutines.sees("worker-2", "#slice-panel")
    goroutines.sees("goroutine 1", "#slice-panel")
    goroutines.click("#to-waker")
    goroutines.asks("timeline/slice", lane_tid="1", lane_goroutine="1")
    goroutines.open(f"?view=timeline&lane=100.g2&at={START + 2}.006")
    goroutines.click("#to-thread")
    goroutines.asks("timeline/slice", lane_tid="102")
    assert goroutines.link()["lane"] == "100.102"
