# SPDX-License-Identifier: Apache-2.0
"""The page of serve and play, opened before made-up answers."""
from pathlib import Path

import pytest

import answers

# app and browser are imported where they are used: without selenium their tests are skipped, and this file must load

# The day of the answers, and seconds that pass faster for setInterval.
CLOCK = f"""
    const began = Date.now();
    const {{now}} = Date;
    Date.now = () => {answers.NOW * 1000} + now() - began;
    const every = setInterval;
    window.setInterval = (what, ms) => every(what, ms / 20);
"""


@pytest.fixture(scope="session")
def server(request):
    folder = Path(request.config.getoption("--build")).resolve() / "web"
    if not (folder / "app.js").exists() or not (folder / "app.js").stat().st_size:
        pytest.skip(f"there is no {folder}/app.js: the page was not built (npm is missing, or fetched nothing)")
    server = answers.AnswerServer(folder)
    yield server
    server.shutdown()


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    import browser
    driver = browser.start(tmp_path_factory.mktemp("profile"))
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": CLOCK})
    driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "UTC"})
    yield driver
    driver.quit()


@pytest.fixture
def page(driver, server):
    """At the end nothing was complained about, and nothing was fetched from anywhere else."""
    import browser
    from app import Page
    server.behave()
    page = Page(driver, server)
    browser.set_screen(driver)
    page.open("assets/icon.svg")  # same origin, no script: what is kept can be removed
    page.run("localStorage.clear(); sessionStorage.clear();")
    page.errors(), browser.requests(driver)
    page.expected = ()
    yield page
    server.release()
    # asked for by the browser itself, of what is no page of ours
    expected = (*page.expected, "/favicon.ico")
    assert [line for line in page.errors() if not any(word in line for word in expected)] == []
    assert [url for url in browser.requests(driver)
            if not url.startswith((server.address(), "blob:", "data:"))] == []
