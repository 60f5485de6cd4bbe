# SPDX-License-Identifier: Apache-2.0
"""The page of serve and play in a browser, as a user sees it and goes through it.

The answers are made up (answers.py), so that the awkward cases come when they are wanted. Nothing waits for a
time to pass: each step is done when what it leads to is there. The page's own timers run faster.
"""
import time
import urllib.parse

import pytest

import browser

from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

PATIENCE = 8  # s, for a busy machine


class Page:
    """The page in a browser, and what a user does with it."""

    def __init__(self, driver, server):
        self.driver = driver
        self.server = server

    def open(self, query=""):
        self.driver.get(self.server.address() + query)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def until(self, test, what=""):
        """Waits until the test holds; an element that is not there, or not any more, does not."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                if result := test():
                    return result
            except (NoSuchElementException, StaleElementReferenceException):
                pass
            if time.monotonic() > end:
                pytest.fail(f"waited for {what or test}: {self.run('return document.body.innerText')}"[:2000])
            time.sleep(0.01)

    def find(self, css):
        return self.driver.find_element("css selector", css)

    def all(self, css):
        return self.driver.find_elements("css selector", css)

    def text(self, css):
        return " ".join(self.find(css).text.split())

    def click(self, css):
        self.until(lambda: self.find(css).is_displayed(), css)
        self.find(css).click()

    def click_text(self, css, words):
        """The element that has these words."""
        def click():
            for element in self.all(css):
                if element.text.strip() == words:
                    element.click()
                    return True
            return False
        self.until(click, f"{css} with {words!r}")

    def keys(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def pick(self, name, value):
        """Of a list that is searched, by keyboard: opened, typed, taken."""
        self.click(f"#pick-{name}")
        self.until(lambda: self.run("return document.activeElement.name") == f"find-{name}", f"the search of {name}")
        self.keys(value or Keys.PAGE_UP)
        self.until(lambda: self.find(".picker-list li.active").get_attribute("data-value") == value, f"{value} in {name}")
        self.keys(Keys.ENTER)
        self.until(lambda: not self.all(".picker-list"), "the list to close")

    def picked(self, name):
        return self.text(f"#pick-{name} .value")

    def choose(self, name, value):
        """Of a <select>."""
        self.until(lambda: self.run("""
            const field = document.querySelector(`select[name="${arguments[0]}"]`);
            if (!field || ![...field.options].some((option) => option.value === arguments[1]))
                return false;
            field.value = arguments[1];
            field.dispatchEvent(new Event('change', {bubbles: true}));
            return true;""", name, value), f"{name} {value}")

    def link(self):
        """What the address asks for."""
        query = urllib.parse.urlsplit(self.driver.current_url).query
        return dict(urllib.parse.parse_qsl(query))

    def sees(self, words, css="body"):
        self.until(lambda: words in self.text(css), f"{words!r} in {css}")

    def asks(self, what, **wanted):
        """Waits until such a question has come to the server, the last of its kind."""
        def is_asked():
            asked = self.server.questions(what)
            return asked and all(asked[-1].get(name) == value for name, value in wanted.items())
        self.until(is_asked, f"{what} {wanted}, last: {self.server.questions(what)[-1:]}")

    def computed(self):
        """The CPU time of the page's main thread by now, s: what it takes itself, however busy the machine is."""
        self.driver.execute_cdp_cmd("Performance.enable", {})
        metrics = self.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        return next(metric["value"] for metric in metrics if metric["name"] == "ThreadTime")

    def errors(self):
        return browser.errors(self.driver)


def begin(driver, server):
    """A page as if nobody had been there before."""
    server.behave()
    page = Page(driver, server)
    browser.set_screen(driver)
    page.open("assets/icon.svg")  # same origin, no script: what is kept can be removed
    page.run("localStorage.clear(); sessionStorage.clear();")
    page.errors(), browser.requests(driver)
    page.expected = ()
    return page


def assert_calm(page):
    """Nothing was complained about, and nothing was fetched from anywhere else."""
    # asked for by the browser itself, of what is no page of ours
    expected = (*page.expected, "/favicon.ico")
    assert [line for line in page.errors() if not any(word in line for word in expected)] == []
    assert [url for url in browser.requests(page.driver)
            if not url.startswith((page.server.address(), "blob:", "data:"))] == []


def services(page):
    """The first word of each row; by one question, as there may be hundreds of rows."""
    return page.run("""return [...document.querySelectorAll('.groups tbody tr')].map(
        (row) => row.innerText.trim().split(/\\s+/)[0])""")


def select_frame(page):
    """Goes from the root to handle_orders(), by keyboard."""
    page.until(lambda: page.find(".flame-scroller canvas").is_displayed())
    page.run("document.querySelector('.flame-scroller canvas').focus()")
    page.keys(*[Keys.ARROW_DOWN] * 7)
    page.sees("handle_orders", ".flame-foot")
