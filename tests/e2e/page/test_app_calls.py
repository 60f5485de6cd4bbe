# SPDX-License-Identifier: Apache-2.0
"""The view of calls: the table of functions, the histogram of one, the call tree; and how it is come to."""
import answers


def rows(page, css="#functions tbody tr"):
    return [" ".join(row.text.split()) for row in page.all(css)]


def columns(page):
    return [" ".join(cell.text.split()) for cell in page.all("#functions thead th")]


def test_a_film_of_calls_opens_with_them(page):
    page.server.behave(film=True, events=["calls"])
    page.open()
    page.until(lambda: rows(page))
    assert page.link() == {}
    assert [link.text for link in page.all("nav a")] == ["Calls"]
    assert columns(page) == ["Function", "Calls", "Self", "Total ↓", "Average", "p50", "p99", "Longest"]
    assert page.text(".sum").startswith("1,203 calls of 3 functions")
    shown = page.run("return document.body.innerText")
    assert "CPUs" not in shown and "sample" not in shown
    # main has not ended: nothing is known of how long one call takes
    assert rows(page)[0] == "main 1 100 ns 10.000 ms – – – –"
    page.sees("No call was seen from its beginning to its end.", ".chosen")


def test_sorted_and_chosen_in_the_link(page):
    page.open("?event=calls")
    page.until(lambda: rows(page))
    page.click("[name=sort-calls]")
    page.until(lambda: rows(page)[0].startswith("db_query(char const*) ? 801"))
    page.all("#functions tbody tr")[1].click()
    page.until(lambda: page.text(".chosen h2") == "handle")
    assert page.link() == {"event": "calls", "calls_sort": "calls", "function": "handle",
                           "function_image": answers.API}
    page.open("?event=calls&calls_sort=p99&function=handle&function_image=" + answers.API)
    page.until(lambda: page.text(".chosen h2") == "handle")
    assert "p99 ↓" in columns(page)


def test_the_histogram_adds_up(page):
    page.open("?view=calls&function=handle&function_image=" + answers.API)
    page.until(lambda: page.all(".bucket"))
    buckets = [bucket.text.split("\n") for bucket in page.all(".bucket")]
    # every power of two from the first to the last, also those that no call took
    assert len(buckets) == 20 - 11 + 1
    assert buckets[0] == ["2.048 us", "p50", "300"] and buckets[1] == ["4.096 us", "p99", "96"]
    assert buckets[-1] == ["1.049 ms", "4"]
    assert page.find(".bucket").get_attribute("title") == "2.048 us to 4.096 us: 300 calls, 75.00%"
    widths = [page.run("return arguments[0].offsetWidth", bar) for bar in page.all(".track i")]
    assert widths[0] > 3 * widths[1] > 0 and widths[2] == 0 and widths[-1] > 0


def test_the_tree_folds(page):
    page.open("?event=calls")
    page.until(lambda: rows(page, "#tree tbody tr"))
    assert [name.text for name in page.all("#tree .name")] == ["main", "handle", "db_query(char const*)"]
    page.click("#tree .twist")
    page.until(lambda: len(page.all("#tree tbody tr")) == 1)
    page.click("#tree .twist")
    page.until(lambda: len(page.all("#tree tbody tr")) == 3)
    page.all("#tree .name")[1].click()
    page.until(lambda: page.text(".chosen h2") == "handle")


def test_beside_other_events(page):
    page.open("?view=profile")
    page.sees("ImagingResample", ".flame-table")
    assert [link.text for link in page.all("nav a")] == ["Overview", "Calls", "Profile", "Compare"]
    page.click("#to-calls")
    page.until(lambda: rows(page))
    assert page.link() == {"view": "calls", "event": "calls"}
    page.asks("calls", event="calls")
    page.click("#to-profile")
    page.sees("ImagingResample", ".flame-table")
    assert page.link() == {"view": "profile"}
    # choosing another event leaves the view that has nothing of it
    page.click("#to-calls")
    page.until(lambda: rows(page))
    page.choose("event", "off-cpu")
    page.sees("ImagingResample", ".flame-table")


def test_of_sums_it_says_what_is_not_there(page):
    page.server.behave(film=True, events=["calls"], summary=True)
    page.open()
    page.sees("sums only", ".sum")
    page.sees("Recorded with --summary", "main")
    assert not page.all("#tree")


def test_no_calls_is_said(page):
    page.server.behave(film=True, events=["calls"])
    page.open("?focus=nothing")
    page.sees("No calls match", ".notice")


def test_hostile_names_are_text(page):
    page.server.behave(hostile=True)
    page.open("?event=calls")
    page.until(lambda: rows(page))
    assert page.run("return window.hacked") is None
    assert page.all("#functions img, #tree img") == []


def test_arguments_by_value_and_one_by_one(page):
    page.open("?view=calls&function=handle&function_image=" + answers.API)
    page.until(lambda: rows(page, ".value-column tbody tr"))
    assert rows(page, ".value-column tbody tr")[3].startswith("3 100")
    assert rows(page, "#value-calls tbody tr")[0].endswith('400.000 us worker-1 goroutine 1 handle(id=3, name="order 399") = 399')
    page.click("[name=value-id]")
    page.until(lambda: rows(page, "#value-heat tbody tr"))
    assert [row.split()[0] for row in rows(page, "#value-heat tbody tr")] == ["0", "1", "2", "3"]
    assert page.link()["value"] == "id"
    page.click("#values-latest")
    page.until(lambda: page.link().get("value_order") == "latest")
    page.open("?view=calls&value_search=order+39&function=handle&function_image=" + answers.API)
    page.until(lambda: page.text(".values .sum b") == "11 calls")
    # a function without values has no such part
    page.open("?view=calls&function=main&function_image=" + answers.API)
    page.until(lambda: page.text(".chosen h2") == "main")
    assert not page.all(".values")
