# SPDX-License-Identifier: Apache-2.0
"""What people come for takes two clicks at most, from the first picture on; each click, and each choice from a list, counts."""
import pytest

import answers
from app import services

MOST = 2  # clicks
FILMED = ("on-cpu", "mem-grow", "off-cpu", "lock", "threads", "requests")


class Counted:
    """The page, with its clicks counted."""

    def __init__(self, page):
        self.page = page
        self.clicks = 0

    def click(self, css):
        self.clicks += 1
        self.page.click(css)

    def choose(self, name, value):
        self.clicks += 1
        self.page.choose(name, value)


@pytest.fixture
def user(page):
    page.server.behave(events=FILMED)
    page.open()
    page.until(lambda: services(page))
    counted = Counted(page)
    yield counted
    assert 0 < counted.clicks <= MOST


def test_the_hottest_function(user, page):
    user.click(".groups tbody tr")
    page.sees("ImagingResample", ".flame-table tbody tr, .flame-row")
    assert page.link()["service"] == "api.service"


def test_compared_with_ten_minutes_before(user, page):
    user.click("#to-compare")
    user.click("#ten-minutes")
    page.asks("diff", **{"before_from": "-4200s", "before_to": "-600s"})
    page.until(lambda: page.all(".changed tbody tr") and page.all(".flame-row"))


def test_who_holds_the_lock(user, page):
    user.choose("event", "lock")
    user.click("#to-profile")
    page.sees("owner: flusher (12)", "#locks tbody tr")


def test_who_holds_the_lock_from_off_cpu(page):
    """Beside what threads waited for: a class is one click, and so are locks; where no locks were filmed it is said how."""
    page.server.behave(events=FILMED)
    page.open("?view=profile&event=off-cpu")
    page.until(lambda: page.all("#wait-classes [data-class]"))
    assert page.find("#wait-classes [data-class]").get_attribute("aria-pressed") == "false"
    page.click("#wait-classes [data-class=disk]")
    page.asks("flame", by="wait")
    page.until(lambda: page.link().get("zoom") and page.find("[data-class=disk]").get_attribute("aria-pressed") == "true")
    page.click("#wait-classes [data-class=disk]")
    page.until(lambda: "zoom" not in page.link() and "by" not in page.link())
    page.click("#without-summed")
    page.asks("flame", ignore="^\\[waits summed up")
    page.click("#to-locks")
    page.sees("owner: flusher (12)", "#locks tbody tr")
    page.server.behave(events=("on-cpu", "off-cpu"))
    page.open("?view=profile&event=off-cpu")
    page.sees("Locks and their holders were not filmed: -e off-cpu,lock", "#wait-classes")


def test_from_a_slow_request_to_its_cause(user, page):
    page.server.film = True  # of which there are requests
    user.click("#to-requests")
    page.until(lambda: page.all("#request-why-0"))
    user.click("#request-why-0")
    page.sees("waiting for disk, fsync(/var/lib/app/wal)", ".explain-causes")


def test_memory_that_grows(user, page):
    user.choose("event", "mem-grow")
    page.asks("timeline", event="mem-grow")
    user.click(".groups tbody tr")
    page.asks("flame", event="mem-grow", service="api.service")
    page.until(lambda: page.all(".flame-row"))


def test_before_a_mark(user, page):
    page.server.marked = True
    page.open("?from=-15m&to=now")
    page.until(lambda: page.all(".flag.said"))
    user.click(".flag.said")
    user.click(".flag-panel a")
    page.until(lambda: abs(float(page.link()["from"]) - answers.NOW + 600) < 2)
