# SPDX-License-Identifier: Apache-2.0
"""axe-core finds nothing, in any view, in light and dark, on wide and narrow screens.

Its package comes from npm, once for each build folder.
"""
import pytest

import browser
import npm

AXE = "axe-core@4.10.3"


@pytest.fixture(scope="module")
def axe(request):
    modules = npm.modules(request.config.getoption("--build"), "axe", AXE)
    return (modules / "axe-core/axe.min.js").read_text(encoding="utf-8")


# s: on a busy machine the longest page takes longer than the driver waits by itself.
SEARCHING = 300


def findings(page):
    page.driver.set_script_timeout(SEARCHING)
    found = page.driver.execute_async_script("""const done = arguments[0];
        axe.run(document, {resultTypes: ['violations']}).then(({violations}) => done(violations), (why) => done(String(why)))""")
    assert isinstance(found, list), found
    return [f"{rule['id']}: {node['html'][:200]} {node['failureSummary'][:300]}" for rule in found for node in rule["nodes"]]


def cut_numbers(page):
    """Numbers of tables that are cut off, or lie outside of what can be scrolled to."""
    return page.run("""return [...document.querySelectorAll('.rows td:not(.text), .numbers td')].filter((cell) => {
        const box = cell.closest('.wide, [role=group]'), { left, right, width } = cell.getBoundingClientRect();
        return width && (cell.scrollWidth > cell.clientWidth + 1 || (!box || box.scrollWidth <= box.clientWidth) && (left < 0 || right > innerWidth + 1));
    }).map((cell) => `cut: ${cell.className} ${cell.innerText}`)""")


# Until what changes its look does so no more.
SETTLED = """const done = arguments[0];
    requestAnimationFrame(() => requestAnimationFrame(() => Promise.all(document.getAnimations()
        .filter((one) => one.effect.getComputedTiming().endTime !== Infinity)
        .map((one) => one.finished.catch(() => 0))).then(() => done())))"""


@pytest.fixture(scope="module")
def looked_at(driver, server, axe):
    """Opens each view once, and looks at it on one screen after the other, which a page follows."""
    from app import assert_calm, begin
    last = {"view": None, "url": None, "page": None}

    def look(query, there, scheme, width, **behaviour):
        if last["view"] != query or driver.current_url != last["url"]:
            page = begin(driver, server)
            server.behave(**behaviour)
            browser.set_screen(driver, width=width, scheme=scheme)
            page.open(query)
            page.until(lambda: page.all(there), there)
            page.run(axe)
            last.update(view=query, page=page)
        page = last["page"]
        browser.set_screen(driver, width=width, scheme=scheme)
        driver.execute_async_script(SETTLED)
        page.until(lambda: page.all(there), there)
        assert page.run("return [document.documentElement.classList.contains('dark'), innerWidth]") == \
            [scheme == "dark", width]
        found = findings(page) + cut_numbers(page)
        last["url"] = driver.current_url
        assert_calm(page)
        return found

    return look


VIEWS = {
    "overview": ("", ".groups tbody tr"),
    "profile": ("?view=profile", ".flame-row"),
    "locks": ("?view=profile&event=lock&by=lock", "#locks tbody tr"),
    "heat": ("?view=profile&heat=1&from=-5m&to=now", "#heat"),
    "sandwich": ("?view=profile&sandwich=malloc&sandwich_image=/usr/lib/x86_64-linux-gnu/libc.so.6", ".flame-sandwich"),
    "compare": ("?view=compare", ".changed tbody tr"),
    "beside": ("?view=compare&beside=1", ".flame-pane + .flame-pane"),
    "calls": ("?view=calls", "#functions tbody tr"),
}
FILM = {"film": True, "events": ["on-cpu", "threads", "requests"], "devices": 2}
TIMELINES = {
    "lanes": ("?view=timeline", ".tl-names .lane"),
    "slice": ("?view=timeline&lane=100.100&at=1795271520.5", "#slice-panel dl"),
    "stream": ("?view=timeline&lane=gpu100.0.7&at=1795271520.5", "#stream-panel h2"),
    "requests": ("?view=requests", "main:has(#slowest tbody tr) #service-calls tbody tr"),
    "explained": ("?view=requests&request=7&why_from=1795271519&why_to=1795271520", "#explain article"),
    "area": ("?view=timeline&area_from=1795271519&area_to=1795271520", "#states tbody tr"),
}


# wide; half of that, as at 200 %; a phone
SCREENS = [("light", 1280), ("dark", 1280), ("dark", 640), ("light", 400), ("dark", 400)]


@pytest.mark.parametrize("scheme, width", SCREENS)
@pytest.mark.parametrize("view", VIEWS)
def test_views(looked_at, view, scheme, width):
    assert looked_at(*VIEWS[view], scheme, width) == []


@pytest.mark.parametrize("scheme, width", SCREENS)
@pytest.mark.parametrize("what", TIMELINES)
def test_timelines(looked_at, what, scheme, width):
    assert looked_at(*TIMELINES[what], scheme, width, **FILM) == []


OPENED = {
    "help": ("", "#help", "#help-dialog"),
    "picker": ("", "#pick-service", ".picker-list li"),
    "custom": ("", "#custom", ".dropped .form"),
    "shape": ("?view=profile", "#shape", ".dropped .form"),
    "export": ("?view=profile", "#export", "[role=menuitem]"),
    "processes": ("?view=profile", "#processes", ".processes li"),
    "losses": ("?view=profile", "#losses", ".loss-panel .numbers"),
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("what", OPENED)
def test_what_opens(page, axe, what, scheme):
    query, button, there = OPENED[what]
    browser.set_screen(page.driver, scheme=scheme)
    page.open(query)
    page.until(lambda: page.find(".answers .sum").is_displayed())
    page.click(button)
    page.until(lambda: page.all(there), there)
    page.run(axe)
    assert findings(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_details(page, axe, scheme):
    from app import select_frame
    browser.set_screen(page.driver, scheme=scheme)
    page.open("?view=profile")
    select_frame(page)
    page.click_text(".flame-foot button", "Details")
    page.until(lambda: page.all(".details #places"))
    page.run(axe)
    assert findings(page) == []
