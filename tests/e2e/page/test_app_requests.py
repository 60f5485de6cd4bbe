# SPDX-License-Identifier: Apache-2.0
"""The view of requests: endpoints, the map of when they were slow, and from a slow one to what its thread did."""
import answers
import browser
import pytest

START = answers.NOW - 12  # of the film, which is 12 s long
FILM = {"film": True, "events": ["on-cpu", "off-cpu", "threads", "requests"]}


@pytest.fixture
def requests(page):
    page.server.behave(**FILM)
    page.open("?view=requests")
    page.until(lambda: page.all("#endpoints tbody tr") and page.all("#slowest tbody tr"))
    return page


def durations(page):
    return [row.find_elements("css selector", "td")[0].text for row in page.all("#slowest tbody tr")]


def drag(page, *points):
    """A drag over the map, in parts of its width and its height."""
    page.run("""
        const canvas = document.querySelector('#latency'), box = canvas.getBoundingClientRect();
        canvas.setPointerCapture = () => {};
        ['pointerdown', 'pointermove', 'pointerup'].forEach((type, i) => {
            const [x, y] = arguments[0][Math.min(i, 1)];
            canvas.dispatchEvent(new PointerEvent(type, { bubbles: true, pointerId: 1,
                clientX: box.left + x * box.width, clientY: box.top + y * box.height }));
        });""", list(points))


def test_a_film_without_requests_has_no_such_view(page):
    page.server.behave(film=True)
    page.open("?view=requests")
    page.until(lambda: page.all(".flame-row"))
    assert not page.all("#to-requests")


def test_endpoints_and_the_slowest(requests):
    assert [row.text.split("\n")[0].split(" ")[0] for row in requests.all("#endpoints tbody tr")] == ["GET", "POST", "SELECT"]
    assert "3,800 requests" in requests.text(".sum") and "38 failed" in requests.text(".sum")
    assert len(durations(requests)) == 100 and durations(requests)[0].startswith("90.00")
    first = requests.all("#slowest tbody tr")[0].text
    assert "500" in first and "/orders/2000" in first and "worker-20" in first


def test_one_endpoint(requests):
    requests.run("document.querySelectorAll('#endpoints tbody tr')[1].click()")
    requests.until(lambda: requests.link().get("endpoint") == "POST /login")
    requests.until(lambda: "/login" in requests.all("#slowest tbody tr")[0].text)
    assert len(requests.all("#endpoints tbody tr")) == 3, "the others stay where they are"
    requests.click(".chip button")
    requests.until(lambda: "endpoint" not in requests.link())


def test_one_side(requests):
    requests.click("#role-made")
    requests.until(lambda: len(requests.all("#endpoints tbody tr")) == 1)
    requests.asks("requests", role="made")


def test_a_part_of_the_map(requests):
    """The rows that are shown end above and below what there is; the fast ones alone are below."""
    drag(requests, (0.0, 0.99), (0.5, 0.5))
    requests.until(lambda: "r_from" in requests.link() and requests.all("#part"))
    asked = next(ask for ask in reversed(requests.server.questions("requests")) if ask.get("most"))
    assert float(asked["from"]) == pytest.approx(START, abs=0.1) and float(asked["to"]) == pytest.approx(START + 6, abs=0.1)
    requests.until(lambda: durations(requests) and all("us" in length for length in durations(requests)))
    requests.click("#part button")
    requests.until(lambda: "r_from" not in requests.link())


def test_what_can_be_done_with_a_request_is_beside_it(requests):
    """In one line, in the row of the request, and in sight: neither on top of each other nor beyond the edge."""
    boxes = requests.run("""
        const box = (one) => { const { left, right, top, bottom } = one.getBoundingClientRect(); return { left, right, top, bottom }; };
        const row = document.querySelector('#slowest tbody tr');
        return { row: box(row), edge: innerWidth, of: [...row.querySelectorAll('.acts .button, .acts button')].map(box) };""")
    assert len(boxes["of"]) == 3, boxes
    for before, after in zip(boxes["of"], boxes["of"][1:]):
        assert after["left"] >= before["right"] and after["top"] == before["top"], boxes
    assert all(boxes["row"]["top"] <= one["top"] < one["bottom"] <= boxes["row"]["bottom"] for one in boxes["of"]), boxes
    assert boxes["of"][-1]["right"] <= boxes["edge"]


def test_losses_of_requests_are_those_of_requests(requests):
    requests.click("#losses")
    requests.asks("losses", event="requests")
    assert "12 losses" not in requests.text("#losses") and "7 losses" in requests.text("#losses")


def test_from_a_request_to_its_thread(requests):
    requests.click("#request-timeline-0")
    requests.until(lambda: requests.all(".tl-names .lane"))
    link = requests.link()
    assert link["view"] == "timeline" and link["lane"] == link["pin"] == "100.120"
    length = float(link["t_to"]) - float(link["t_from"])
    assert length == pytest.approx(0.09 * 1.2, rel=0.01)


def test_from_a_request_to_its_profile(requests):
    requests.click("#request-profile-0")
    number = f"{2000:016x}"
    # its waits first, and beside them what it computed
    requests.until(lambda: {ask["event"] for ask in requests.server.questions("flame") if ask.get("request") == number}
                   == {"on-cpu", "off-cpu"})
    assert (requests.link()["event"], requests.link()["other"]) == ("off-cpu", "on-cpu")
    requests.until(lambda: requests.all("#of-request .chip"))
    assert number in requests.text("#of-request") and "includes 2 other requests" in requests.text("#of-request")
    assert not requests.all("#of-request .not-linked")
    requests.click("#of-request button")
    requests.until(lambda: not requests.all("#of-request"))
    assert "of_request" not in requests.link()


def test_a_request_that_slept_shows_its_waits(requests):
    requests.server.idle = {"on-cpu"}
    requests.click("#request-profile-0")
    requests.sees("On-CPU: nothing here", "main")
    requests.until(lambda: requests.all(".flame-panel canvas"))
    requests.sees("ImagingResample", ".flame-table")
    # and one that only computed, what it computed
    requests.server.idle = {"off-cpu"}
    requests.open(requests.driver.current_url.removeprefix(requests.server.address()))
    requests.sees("Off-CPU: nothing here", "main")
    requests.sees("ImagingResample", ".flame-table")


def test_the_profile_of_a_request_says_which_tasks_share_its_threads(requests):
    requests.server.unlinked = True
    requests.click("#request-profile-0")
    requests.until(lambda: requests.all("#of-request .not-linked"))
    assert requests.text("#of-request .not-linked").strip() == "not linked"
    assert "tasks of asyncio" in requests.all("#of-request .not-linked")[0].get_attribute("title")


def test_why_a_request_was_slow(requests):
    """Sentences whose parts lie in each other, with their evidence behind them; the address shares them."""
    requests.click("#request-why-0")
    requests.until(lambda: requests.all("#explain article"))
    words = requests.text("#explain")
    for part in ("took 91.000 ms", "waiting for mutex 0x7f10 held by flusher (101), which spent:", "fsync(/var/lib/app/wal)",
                 "1.000 ms unexplained", "Its longest cause is sleeping in worker-2 (102)", "More threads would not help: the lock is held by one"):
        assert part in words, (part, words)
    assert "the longest 20 ms" not in words
    requests.run("document.querySelector('#explain summary').click()")
    requests.until(lambda: "the longest 20 ms" in requests.text("#explain"))
    requests.open(requests.run("return location.search"))
    requests.until(lambda: requests.all("#explain article"))
    requests.click("#close-explain")
    requests.until(lambda: not requests.all("#explain") and "request" not in requests.link())


def test_from_a_slow_request_to_its_cause_in_one_click(requests):
    """The bar is of the deepest causes; what the threads of its path did stands below it, and in the timeline above all others."""
    requests.click("#request-why-0")
    requests.until(lambda: requests.all("#explain .explain-causes li"))
    causes = [" ".join(row.text.split()) for row in requests.all(".explain-causes li")]
    assert causes[0] == "54.95% waiting for disk, fsync(/var/lib/app/wal) in worker-1 101", causes
    widths = [part.rect["width"] for part in requests.all(".explain-bar i")]
    assert widths[0] / sum(widths) == pytest.approx(50 / 91, abs=0.02) and len(widths) == 4
    requests.until(lambda: len(requests.all(".explain-lanes li")) == 2)
    lane, span = (requests.find(css).rect for css in (".explain-lanes .lane", ".spans .whole"))
    assert (lane["x"], lane["width"]) == (pytest.approx(span["x"], abs=1), pytest.approx(span["width"], abs=1))
    requests.click("#explain-timeline")
    requests.until(lambda: requests.all(".tl-names .lane"))
    assert [row.get_attribute("data-lane") for row in requests.all(".tl-names .lane")][:2] == ["100.100", "100.101"]


def test_why_of_a_request_that_was_made(requests):
    """It is of the thread that made it, in that time."""
    requests.click("#role-made")
    requests.until(lambda: requests.all("#request-why-0") and requests.server.questions("requests")[-1].get("role") == "made")
    requests.until(lambda: "SELECT" in requests.find("#slowest tbody tr td:nth-child(5)").get_attribute("title"))
    requests.click("#request-why-0")
    requests.until(lambda: requests.all("#explain article"))
    asked = requests.server.questions("explain")[-1]
    assert "request" not in asked and asked["pid"] == "100" and int(asked["tid"]) >= 100
    assert float(asked["to"]) - float(asked["from"]) == pytest.approx(0.09, abs=0.001)


def test_spans_beside_the_explanation(requests):
    """Along the request's own time; it had no id of a trace, so they are those of its process."""
    requests.click("#request-why-0")
    requests.until(lambda: len(requests.all("#spans .spans li")) == 2)
    assert "Spans of its process in that time" in requests.text("#spans")
    assert requests.asks("spans", pid="100") is None
    first, second = requests.all("#spans .spans li")
    assert "GET /orders" in first.text and "91.000 ms" in first.text and "failed" not in first.text
    assert "price_order" in second.text and "failed" in second.text
    left, width = requests.run("""const box = document.querySelector('#spans .failed .span-time').getBoundingClientRect();
        const bar = document.querySelector('#spans .failed .span-bar').getBoundingClientRect();
        return [(bar.left - box.left) / box.width, bar.width / box.width];""")
    assert left == pytest.approx(10 / 91, abs=0.01) and width == pytest.approx(40 / 91, abs=0.01)


def test_hostile_names(page):
    page.server.behave(**FILM, hostile=True)
    page.open("?view=requests")
    page.until(lambda: page.all("#slowest tbody tr"))
    page.click("#request-why-0")
    page.until(lambda: page.all("#explain article") and page.all("#spans li"))
    assert page.run("return window.hacked") is None
    assert "\u202e" not in page.text("body")


@pytest.mark.parametrize("width", [699, 500])
def test_tables_on_a_narrow_screen(requests, width):
    """Each row folds: nothing of a table stands beside the page."""
    browser.set_screen(requests.driver, width=width)
    requests.until(lambda: len(requests.all("#service-calls tbody tr")) == 4 and requests.all("#slowest tbody tr"))
    wide = "return [...document.querySelectorAll('table.folds')].map((table) => [table.id, table.parentElement.scrollWidth - table.parentElement.clientWidth])"
    assert requests.run(wide) == [["service-calls", 0], ["endpoints", 0], ["slowest", 0]]
    assert requests.run("return document.documentElement.scrollWidth") <= width


def test_which_service_asked_which(requests):
    requests.until(lambda: len(requests.all("#service-calls tbody tr")) == 4)
    rows = [row.text for row in requests.all("#service-calls tbody tr")]
    assert rows[0].startswith("front orders 10.0.0.2:8080 http") and "45.00%" in rows[0], rows
    assert rows[2].startswith("orders 10.0.0.9:5432 postgresql") and "4.0 ms 9.0 ms 12.000 ms" in rows[2], rows
    places = [place.text.split("\n")[0] for place in requests.all(".service-map .place")]
    assert sorted(places) == ["10.0.0.9:5432", "front", "orders", "stock"]
    assert len(requests.all(".service-map .way")) == 4 and len(requests.all(".service-map .way.failed")) == 1
    # the map and the table stay as they are when one is chosen
    requests.run("document.querySelectorAll('#service-calls tbody tr')[2].click()")
    requests.until(lambda: requests.link().get("service") == "orders")
    requests.until(lambda: len(requests.all(".service-map .place.picked")) == 1)
    assert len(requests.all("#service-calls tbody tr")) == 4
    requests.run("document.querySelectorAll('#service-calls tbody tr')[2].click()")
    requests.until(lambda: "service" not in requests.link())
