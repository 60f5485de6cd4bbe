# SPDX-License-Identifier: Apache-2.0
"""A browser without a window, as the tests of pages use it."""
import json
import shutil

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="python3-selenium is not installed")
exceptions = pytest.importorskip("selenium.common.exceptions", reason="python3-selenium is not installed")

FLAGS = ("--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run "
         "--disable-background-networking --disable-component-update --disable-sync "
         "--disable-dev-shm-usage").split()

# A browser that has just been installed now and then does not come up, and says nothing of use. It is not what is tested.
STARTS = 3


def start(folder):
    """Debian's chromium with chromium-driver; skips the test where they are not installed."""
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not chromedriver:
        pytest.skip("chromium or chromium-driver is not installed")
    for left in reversed(range(STARTS)):
        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        for flag in FLAGS + [f"--user-data-dir={folder}/{left}"]:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        try:
            return webdriver.Chrome(options=options, service=webdriver.chrome.service.Service(chromedriver))
        except exceptions.WebDriverException:
            if not left:
                raise
    return None


def set_screen(driver, width=1280, height=800, scheme="light", ratio=1):
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": height, "deviceScaleFactor": ratio, "mobile": False})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
        "features": [{"name": "prefers-color-scheme", "value": scheme}]})


def errors(driver):
    """What the browser complained about since the last call."""
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


def requests(driver):
    """All addresses that were asked for since the last call."""
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [message["params"]["request"]["url"] for message in messages
            if message["method"] == "Network.requestWillBeSent"]
