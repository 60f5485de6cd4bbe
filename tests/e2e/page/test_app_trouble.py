# SPDX-License-Identifier: Apache-2.0
"""When there is nothing, when the server is slow or fails, and when somebody means harm."""
import answers
from app import services

from selenium.webdriver.common.keys import Keys


def test_hostile_links_are_as_good_as_none(page):
    page.expected = ("400",)
    page.open("?view=__proto__&from=%00&to=%3Cscript%3E&show=x&group=constructor&label=" + "a" * 2000)
    page.sees("The server could not answer.")
    assert page.find("#to-overview").get_attribute("aria-current") == "page"


def test_empty_store_fills(page):
    page.server.behave(stored=False)
    page.open()
    page.sees("Nothing has been filmed yet.")
    page.server.stored = True
    page.until(lambda: services(page))


def test_nothing_in_this_range(page):
    page.open("?view=profile&from=1700000000&to=1700003600")
    page.sees("Nothing was filmed in this range")
    page.sees("There are films of 2026-11-20 08:32:08 – 2026-11-21 14:32:08.")
    page.click("#show-filmed")
    page.sees("ImagingResample", ".flame-table")


def test_failures_are_said_and_what_was_there_stays(page):
    page.expected = ("503", "ERR_")
    page.open("?view=profile")
    page.sees("ImagingResample", ".flame-table")
    page.server.status = 503
    page.keys("2")
    page.sees("The server has too much to do", "[role=alert]")
    assert "ImagingResample" in page.text(".flame-table")
    page.server.status = 0
    page.click("[role=alert] button")
    page.sees("The server does not answer.", "[role=alert]")
    page.server.status = 200
    page.keys("3")
    page.until(lambda: not page.all("[role=alert]"))


def test_a_server_that_is_gone_is_said_once(page):
    """What was shown stays, at its full strength; a view that was never opened has no notice of its own; all is back by itself."""
    page.expected = ("ERR_",)
    page.open("?view=profile")
    page.sees("ImagingResample", ".flame-table")
    page.server.status = 0
    page.keys("2")
    page.sees("The server does not answer.", "[role=alert]")
    page.until(lambda: page.run("return document.querySelector('main [role=alert]')") is None)
    assert len(page.all("[role=alert]")) == 1
    assert "ImagingResample" in page.text(".flame-table")
    assert float(page.find(".graph-area").value_of_css_property("opacity")) == 1 and not page.all(".answers.old")
    page.click("#to-requests" if page.all("#to-requests") else "#to-overview")
    page.until(lambda: page.link().get("view") != "profile")
    assert len(page.until(lambda: page.all("[role=alert]"))) == 1
    page.server.status = 200
    page.until(lambda: services(page) and not page.all("[role=alert]"))


def test_what_else_there_is(page):
    """Of what nobody films yet a button each, with the command that films it, beside what is filmed already."""
    page.server.behave(events=("on-cpu", "mem-grow"))
    page.open()
    page.until(lambda: page.all("#more-kinds"))
    assert [button.text for button in page.all("#more-kinds .row:first-child button")] == ["Waits and locks", "Slow requests", "Flight recorder"]
    assert not page.all("#more-kinds code")
    page.click("#more-requests")
    page.sees("stackcam serve -e on-cpu,mem-grow,off-cpu,requests", "#more-kinds code")
    page.click("#more-camera")
    page.sees("stackcam serve --camera 'NAME'", "#more-kinds code")
    page.click("#more-waits")
    page.sees("stackcam serve -e on-cpu,mem-grow,off-cpu,lock", "#more-kinds code")
    page.click("#more-waits")
    page.until(lambda: not page.all("#more-kinds code"))
    page.server.behave(film=True)  # a film has what it has
    page.open("?view=overview")
    page.until(lambda: services(page))
    assert not page.all("#more-kinds")
    page.server.behave(stored=False, events=())
    page.open()
    page.sees("Nothing has been filmed yet.")
    page.until(lambda: page.all("#more-waits"))


def test_slow_answers(page):
    page.server.behave(hold={"timeline"})
    page.open()
    page.sees("Loading …")
    page.server.release()
    page.until(lambda: services(page))
    page.server.hold, page.server.released = {"timeline"}, type(page.server.released)()
    page.pick("host", "db-1")
    page.until(lambda: page.find("[role=progressbar]"))
    assert len(services(page)) == 5  # the last answer
    page.server.release()
    page.until(lambda: len(services(page)) == 2)
    assert not page.all("[role=progressbar]")


def test_what_is_shown_is_of_the_question_or_is_marked(page):
    """Of another time it stands dimmed until the answer is here; of another event its numbers would mean nothing."""
    page.open("?view=profile&from=-1h&to=now")
    page.sees("ImagingResample", ".flame-table")
    assert not page.all(".answers.old")
    page.server.hold, page.server.released = {"flame"}, type(page.server.released)()
    page.keys("3")
    page.until(lambda: page.all(".answers.old .flame-panel"))
    page.until(lambda: float(page.find(".answers.old .graph-area").value_of_css_property("opacity")) < 0.5)
    assert page.all("[role=progressbar]")
    page.server.release()
    page.until(lambda: not page.all(".answers.old"))
    page.server.hold, page.server.released = {"flame"}, type(page.server.released)()
    page.choose("event", "off-cpu")
    page.until(lambda: not page.all(".flame-panel"))
    page.server.release()
    page.sees("ImagingResample", ".flame-table")
    # nor are live numbers those of another time
    page.open("?live=1&from=-15m&to=now")
    page.until(lambda: services(page))
    page.server.hold, page.server.released = {"timeline"}, type(page.server.released)()
    page.keys("2")
    page.until(lambda: page.all(".answers.old .groups"))
    page.server.release()
    page.until(lambda: not page.all(".answers.old"))


def test_an_answer_that_is_not_wanted_any_more(page):
    """The first question is answered after the second one: what is shown is of the second."""
    page.open()
    page.until(lambda: services(page))
    page.server.hold, page.server.released = {"timeline"}, type(page.server.released)()
    page.pick("host", "db-1")
    page.asks("timeline", host="db-1")
    page.server.hold = set()
    page.pick("host", "web-1")
    page.until(lambda: len(services(page)) == 3)
    page.server.release()
    page.asks("timeline", host="web-1")
    assert len(services(page)) == 3


def test_token(page):
    page.server.behave(token="open-sesame-0123")
    page.expected = ("401",)
    page.open("?view=profile")
    page.until(lambda: page.find("#token-dialog").is_displayed())
    assert page.text("#token-dialog h2") == "Token needed" and "Authorization" not in page.text("body")
    page.find("[name=token]").send_keys("wrong", Keys.ENTER)
    page.sees("That token is not the right one.")
    page.find("[name=token]").send_keys("open-sesame-0123", Keys.ENTER)
    page.sees("ImagingResample", ".flame-table")
    assert page.link() == {"view": "profile"}
    assert "open-sesame" not in page.run("return JSON.stringify(localStorage) + location.href")


def test_the_address_brings_the_token(page):
    """As serve prints it; it does not stay in the address, and another tab has it, too."""
    page.server.behave(token="open-sesame-0123")
    page.open("?view=profile#token=open%2Dsesame-0123")
    page.sees("ImagingResample", ".flame-table")
    assert page.link() == {"view": "profile"}
    assert "open-sesame" not in page.run("return location.href")
    page.run("sessionStorage.clear()")
    page.open("?view=overview")
    page.until(lambda: services(page))


def test_hostile_names_are_only_text(page):
    page.server.behave(hostile=True)
    page.open()
    page.sees("</script><img src=x", ".groups")
    page.all(".groups tbody tr")[0].click()
    page.until(lambda: page.link().get("service") == answers.HOSTILE)
    page.sees("</script><img", ".flame-table")
    page.run("document.querySelector('.flame-scroller canvas').focus()")
    page.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    page.click_text(".flame-foot button", "Details")
    page.sees("</script><img", "#places")
    page.click("#processes")
    page.sees("</script><img", ".processes")
    page.keys(Keys.ESCAPE)
    page.click("#to-compare")
    page.sees("</script><img", ".flame-table")
    page.expected = ("503",)
    page.server.status = 503
    page.keys("1")
    page.sees("no answer: </script>", "[role=alert]")
    assert page.run("return window.hacked") is None
    assert page.run("return document.querySelectorAll('img, script:not([src])').length") == 0
    assert not any(c in page.run("return document.body.innerText + document.title") for c in "\x1b\u202e")


def test_the_policy_holds(page):
    page.expected = ("Content Security Policy", "Content-Security-Policy")
    page.open()
    page.until(lambda: services(page))
    assert page.errors() == []  # before this: nothing on the page is against it
    page.run("""
        const script = document.createElement('script');
        script.textContent = 'window.hacked = 1';
        document.body.append(script);
        addEventListener('securitypolicyviolation', () => window.refused = 1);
        const other = document.createElement('script');
        other.textContent = 'window.hacked = 1';
        document.body.append(other);""")
    page.until(lambda: page.run("return window.refused") == 1)
    assert page.run("return window.hacked") is None
