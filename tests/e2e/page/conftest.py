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
    from app import assert_calm, begin
    page = begin(driver, server)
    yield page
    server.release()
    assert_calm(page)
