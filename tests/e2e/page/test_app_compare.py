# SPDX-License-Identifier: Apache-2.0
"""What changed: both sides dragged, the services by their change, another version of one."""
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

import answers


def drag(page, side):
    over = page.until(lambda: page.find(f"#{side} .u-over"))
    ActionChains(page.driver).move_to_element_with_offset(over, -100, 0).click_and_hold() \
        .move_by_offset(120, 0).release().perform()


def test_both_timelines_are_dragged(page):
    page.open("?view=compare")
    drag(page, "side-before")
    page.until(lambda: "before_from" in page.link())
    begin, end = float(page.link()["before_from"]), float(page.link()["before_to"])
    assert answers.NOW - 2.5 * answers.HOUR < begin < end < answers.NOW
    page.asks("diff", before_from=page.link()["before_from"], before_to=page.link()["before_to"])
    drag(page, "side-now")
    page.until(lambda: float(page.link().get("to", 0)) > 0)
    page.asks("diff", **{"from": page.link()["from"], "to": page.link()["to"]})
    assert (float(page.link()["before_from"]), float(page.link()["before_to"])) == (begin, end)  # the other side stays


def test_timelines_are_not_asked_for_again_and_again(page):
    page.open("?view=compare")
    page.until(lambda: page.all("#side-now .u-over"))
    before = len(page.server.questions("timeline"))
    states = len(page.server.questions("status"))
    page.until(lambda: len(page.server.questions("status")) >= states + 3)  # time passes
    assert len(page.server.questions("timeline")) == before


def changed(page):
    return [row.text.split()[0] for row in page.all(".changed tbody tr")]


def test_what_changed_most_comes_first(page):
    """From the first page to the function of the service that grew: three steps."""
    page.server.behave(many=20)
    page.open()
    page.click("#to-compare")
    page.until(lambda: changed(page))
    assert changed(page)[0] == "api.service" and len(changed(page)) == 5
    first = page.text(".changed tbody tr")
    assert "+0.305 CPUs" in first and "+100.00%" in first
    page.click("#all-changes")
    page.until(lambda: len(changed(page)) == 25)
    page.click(".changed tbody tr")
    page.asks("diff", service="api.service")
    page.until(lambda: page.link().get("service") == "api.service" and page.link()["before_service"] == "api.service")
    page.until(lambda: page.find(".flame-head .flame-change").get_attribute("aria-sort") == "descending")
    page.sees("json::parse", ".flame-row")
    assert "points" in page.text(".flame-row .flame-change") and "+65%" in page.text(".flame-row .flame-change")


def test_the_guilty_function_of_a_new_version_in_four_clicks(page):
    """From the first page, with nothing typed: the service that grew most, its versions, what grew in the new one."""
    clicks = []

    def click(css):
        clicks.append(css)
        page.click(css)

    page.server.behave(deployed=True, many=20)
    page.open()
    page.until(lambda: page.all(".chart canvas"))
    click("#to-compare")
    page.until(lambda: changed(page)[:1] == ["api.service"])
    click(".changed tbody tr")
    page.until(lambda: page.link().get("service") == "api.service" and changed(page)[:1] == ["e5f6a7b8"])
    click("#other-version")
    page.asks("diff", service="api.service", version="e5f6a7b8", before_version="a1b2c3d4")
    page.until(lambda: page.find(".flame-head .flame-change").get_attribute("aria-sort") == "descending")
    page.until(lambda: page.all(".flame-row"))
    assert "json::parse" in page.text(".flame-row")
    assert len(clicks) <= 4


def test_versions_of_one_service(page):
    page.server.behave(many=3)
    page.open("?view=compare&service=job-001.service&before_service=job-001.service&before_from=-2h&before_to=-1h")
    page.until(lambda: changed(page))
    assert "v0" in changed(page)
    page.click("#other-version")
    page.asks("diff", version="v0", before_version="v1", **{"from": "-1h", "before_from": "-1h"})
    page.until(lambda: not page.all(".changed"))  # two versions are not one


def test_the_order_of_a_comparison_is_its_own(page):
    page.open("?view=compare")
    page.until(lambda: page.all(".flame-row"))
    page.click(".flame-head .flame-self button")
    page.until(lambda: page.link().get("change_sort") == "self")
    page.click("#to-profile")
    page.until(lambda: page.find(".flame-head .flame-self").get_attribute("aria-sort") == "descending")
    assert "sort" not in page.link()


def test_a_filter_that_leaves_nothing_is_called_that(page):
    page.open("?view=compare&before_service=gone.service&before_from=-2h&before_to=-1h")
    page.sees("No samples in Before with its filters.")


def test_widths_of_the_earlier_side(page):
    page.open("?view=compare")
    page.until(lambda: page.all(".flame-row"))
    page.sees("Widths are those of now.")
    page.keys("w")
    page.until(lambda: page.link().get("widths") == "before")
    page.sees("Widths are those of before.")


def test_rows_are_walked(page):
    page.open("?view=compare")
    page.until(lambda: changed(page))
    page.run("document.querySelector('.changed tbody tr').focus()")
    page.keys(Keys.ARROW_DOWN, Keys.ENTER)
    page.until(lambda: "before_service" in page.link())
