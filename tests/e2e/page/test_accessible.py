# SPDX-License-Identifier: Apache-2.0
"""axe-core finds nothing, in any view, in light and dark, on wide and narrow screens.

Its package comes from npm, once for each build folder.
"""
import shutil
import subprocess
from pathlib import Path

import pytest

import browser

AXE = "axe-core@4.10.3"


@pytest.fixture(scope="module")
def axe(request):
    folder = Path(request.config.getoption("--build")).resolve() / "axe"
    script = folder / "node_modules/axe-core/axe.min.js"
    if not script.exists():
        if not shutil.which("npm"):
            pytest.skip("npm is missing")
        folder.mkdir(exist_ok=True)
        done = subprocess.run(["npm", "install", "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund", AXE],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"npm cannot fetch {AXE}: {done.stderr[-300:]}")
    return script.read_text(encoding="utf-8")


def findings(page, axe):
    page.run(axe)
    found = page.driver.execute_async_script("""const done = arguments[0];
        axe.run(document, {resultTypes: ['violations']}).then(({violations}) => done(violations), (why) => done(String(why)))""")
    assert isinstance(found, list), found
    return [f"{rule['id']}: {node['html'][:200]} {node['failureSummary'][:300]}" for rule in found for node in rule["nodes"]]


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
FILM = {"film": True, "events": ["on-cpu", "threads", "requests"]}
TIMELINES = {
    "lanes": ("?view=timeline", ".tl-names .lane"),
    "slice": ("?view=timeline&lane=100.100&at=1795271520.5", "#slice-panel dl"),
    "requests": ("?view=requests", "main:has(#slowest tbody tr) #service-calls tbody tr"),
    "explained": ("?view=requests&request=7&why_from=1795271519&why_to=1795271520", "#explain article"),
    "area": ("?view=timeline&area_from=1795271519&area_to=1795271520", "#states tbody tr"),
}


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_views(page, axe, view, scheme, width):
    query, there = VIEWS[view]
    browser.set_screen(page.driver, width=width, scheme=scheme)
    page.open(query)
    page.until(lambda: page.all(there), there)
    assert findings(page, axe) == []


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("what", TIMELINES)
def test_timelines(page, axe, what, scheme, width):
    query, there = TIMELINES[what]
    page.server.behave(**FILM)
    browser.set_screen(page.driver, width=width, scheme=scheme)
    page.open(query)
    page.until(lambda: page.all(there), there)
    assert findings(page, axe) == []


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
    assert findings(page, axe) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_details(page, axe, scheme):
    from app import select_frame
    browser.set_screen(page.driver, scheme=scheme)
    page.open("?view=profile")
    select_frame(page)
    page.click_text(".flame-foot button", "Details")
    page.until(lambda: page.all(".details #places"))
    assert findings(page, axe) == []
