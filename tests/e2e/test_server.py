# SPDX-License-Identifier: Apache-2.0
"""What the web server answers: the API as doc/openapi.json describes it, the page, films that are sent."""

import gzip
import itertools
import json
import os
import re
import shutil
import subprocess
import time

import pytest

from asking import READ, WRITE, program, send_film, server, start, value_of  # noqa: F401 (fixtures)
from harness import wait_until
from openapi import Api


def test_all_answers_are_as_described(server):
    api = Api()
    for method, path, operation in api.operations():
        if method != "GET":
            continue
        queries = [api.parameters(operation),
                   [p for p in api.parameters(operation) if p.get("required")]]
        for parameters in queries:
            query = "&".join(f"{p['name']}={value_of(p)}" for p in parameters)
            status, headers, body = server.request(f"{path}?{query}")
            # to explain something takes a film, which this store stands in for
            assert status == (404 if path == "/api/v1/explain" else 200), (path, query, body)
            api.check_answer(method, path, status, headers["Content-Type"], body)
        for wrong in ("?nothing=1", "?from=-1h&from=-2h", "?to=5&from=6"):
            status, headers, body = server.request(path + wrong)
            if not operation["parameters"]:
                continue
            assert status == 400
            api.check_answer(method, path, status, headers["Content-Type"], body)


def test_metrics(server):
    """What Prometheus reads: each number has its words and its type, and is that of the status."""
    status, headers, body = server.request("/metrics", headers={"Accept-Encoding": "gzip"})
    assert (status, headers["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert "ETag" not in headers and body.endswith(b"\n")
    types, about, values = {}, set(), {}
    for line in body.decode().splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name in about and name not in types and kind in ("gauge", "counter")
            types[name] = kind
        elif line.startswith("# HELP "):
            about.add(line.split(" ")[2])
        else:
            found = re.fullmatch(r'([a-z_]+)(\{(?:[a-z]+="[a-zA-Z0-9_.,: ]+",?)+\})? (\S+)', line)
            assert found[1] in types and found[1] + (found[2] or "") not in values, line
            assert (types[found[1]] == "counter") == found[1].endswith("_total"), line
            values[found[1] + (found[2] or "")] = float(found[3])
    known = server.json("/api/v1/status")
    assert values["stackcam_store_films"] == known["store"]["films"] == 3
    assert values["stackcam_store_bytes"] == known["store"]["bytes"]
    assert values["stackcam_store_first_timestamp_seconds"] == pytest.approx(known["store"]["first"])
    assert values["stackcam_recorder_filming"] == 1
    assert values["stackcam_recorder_samples_total"] == known["recorder"]["samples"] == 1000
    assert 0 < values["process_cpu_seconds_total"] <= known["process"]["cpu_seconds"]
    assert values["process_resident_memory_bytes"] > 1e6
    assert set(types) == {name.split("{")[0] for name in values} == about
    assert (values["stackcam_camera_kept_total"], values["stackcam_camera_seconds"]) == (3, 90)
    lost = 'stackcam_lost_total{recorder="%s",source="%s",kind="%s",reason="%s"}'
    assert values[lost % ("recorder", "on_cpu", "sample", "ring full: the recorder could not keep up")] == 1
    assert values[lost % ("recorder", "sched", "stack", "stack cut: no room to hand it over for completion")] == 7
    assert values[lost % ("recorder", "all", "other", "reasons beyond those that are counted apart")] == 5
    assert values[lost % ("camera", "all", "sample", "sample: no film could be written")] == values["stackcam_camera_lost_total"] == 2
    assert values["stackcam_store_answers_partial_total"] == 4
    assert values["stackcam_store_samples_in_others_total"] == known["store"]["in_others"] == 6
    counted = 'stackcam_server_requests_total{lane="question",outcome="%s"}'
    server.json("/api/v1/flame")
    server.error("/api/v1/flame?nothing=1")

    def is_counted(outcome):
        """Requests are counted once they have ended, which is after their answer."""
        again = server.request("/metrics")[2].decode()
        return float(re.search(rf"^{re.escape(counted % outcome)} (\d+)", again, re.M)[1]) > values[counted % outcome]
    assert wait_until(lambda: is_counted("answered") and is_counted("refused"))


def test_health(server):
    assert server.json("/health") == {"status": "ok", "reasons": []}
    assert server.ask("failing") == "failing"
    status, headers, body = server.request("/health")
    assert (status, headers["Cache-Control"]) == (503, "no-store")
    assert json.loads(body) == {"status": "failing", "reasons": ["no film is being written"]}
    assert b"stackcam_recorder_filming 0\n" in server.request("/metrics")[2]
    assert server.ask("failing") == "filming"
    assert server.request("/health")[0] == 200


def test_it_describes_itself(server):
    assert server.json("/api/v1/openapi.json") == Api().all


@pytest.mark.parametrize("query, words", [
    ("nothing=1", "there is no parameter 'nothing'"), ("nodes=0", "from 4 to 200000"),
    ("nodes=200001", "from 4 to 200000"), ("from=yesterday", "not a time"), ("from=2.5s", "not a time"),
    ("to=14:32", "not a time"), ("from=99999999999", "not a time"), ("from=7&to=7", "before it begins"),
    ("event=" + "x" * 300, "longer than"), ("label=x", "KEY=VALUE"), ("label==x", "KEY=VALUE"),
    ("pid=x", "not a list"), ("pid=" + "1," * 100 + "1", "more than"), ("by=color", "process, name, thread"),
    ("lines=yes", "0 or 1"), ("focus=(", "regular expression"), ("focus=" + "((a{999}){999}){999}", "too large"),
    ("focus=" + "(" * 60 + ")" * 60, "too deeply"), ("host=a&host=b", "given twice"), ("host=%zz", "two digits"),
    ("host=%00", "zero byte"), ("&".join("label=a=b" for _ in range(20)), "at most 16"),
    ("&".join("comm=a" for _ in range(70)), "parameters"), ("before_from=1", "before_from"),
], ids=range(24))
def test_strict_questions(server, query, words):
    status, error = server.error(f"/api/v1/flame?{query}")
    assert (status, words in error) == (400, True), error


def test_sandwich_and_diff(server):
    answer = server.json("/api/v1/sandwich?name=parse&image=/usr/bin/shop")
    assert (answer["self"], answer["total"]) == (50, 90)
    assert answer["callees"]["nodes"]["total"] == [90, 70, 40]
    assert answer["callers"]["nodes"]["total"] == [90, 90]
    assert server.json("/api/v1/sandwich?name=parse&image=/other")["total"] == 0
    assert server.error("/api/v1/sandwich")[0] == 400
    answer = server.json("/api/v1/diff?functions=1&from=100&to=200&before_from=7&before_to=9")
    assert (answer["before"]["from"], answer["sum"]["from"]) == (7, 100)
    assert sum(answer["nodes"]["before_self"]) == answer["sum"]["total"]
    assert {row["name"]: row["before_self"] for row in answer["functions"]}["parse"] == 40


@pytest.mark.parametrize("sort", ["self", "total"])
def test_a_flame_with_its_functions(server, sort):
    query = f"from=100&to=200&sort={sort}&limit=2"
    answer = server.json(f"/api/v1/flame?{query}&functions=1")
    assert len(answer["functions"]) == 2
    assert answer["functions"] == server.json(f"/api/v1/functions?{query}")["functions"]
    assert "functions" not in server.json(f"/api/v1/flame?{query}")
    assert server.error(f"/api/v1/flame?{query}&functions=2")[0] == 400


def test_places_of_a_function(server):
    answer = server.json("/api/v1/places?name=parse&image=/usr/bin/shop")
    assert (answer["self"], answer["total"]) == (33, 63)
    assert [(row["image"], row["build_id"], row["total"]) for row in answer["builds"]] == [
        ("/usr/bin/shop", "ab00", 41), ("/usr/bin/shop", "ab01", 22)]
    assert [(row["line"], row["total"]) for row in answer["lines"]] == [(20, 22), (10, 21), (0, 20)]
    assert len(server.json("/api/v1/places?name=parse&limit=1")["lines"]) == 1
    assert server.json("/api/v1/places?name=nothing")["total"] == 0
    assert server.error("/api/v1/places")[0] == 400


def test_what_was_lost(server):
    answer = server.json("/api/v1/losses")
    assert (answer["lost"], answer["losses"][0]) == (12, {"reason": "samples: no room", "count": 7, "kind": "other"})
    assert len(server.json("/api/v1/losses?limit=1")["losses"]) == 1


def mark(server, body, token=WRITE, path="/api/v1/marks"):
    status, _, answer = server.request(path, method="POST", body=body, headers={
        "Authorization": f"Bearer {token}", "Content-Type": "application/x-www-form-urlencoded"})
    return status, json.loads(answer)


def test_marks(server):
    """What is sent is what is kept; who may send films may send marks."""
    status, kept = mark(server, "service=shop&version=1.2&text=faster+checkout&time=1732199520.5")
    assert (status, kept) == (200, {"time": 1732199520.5, "host": "", "service": "shop", "version": "1.2",
                                    "text": "faster checkout", "derived": False})
    Api().check_answer("POST", "/api/v1/marks", status, "application/json", json.dumps(kept).encode())
    # in the address, and now
    status, kept = mark(server, "", path="/api/v1/marks?text=all%20of%20it")
    assert status == 200 and kept["text"] == "all of it" and abs(kept["time"] - time.time()) < 60
    assert [row["derived"] for row in server.json("/api/v1/marks")["marks"]] == [False, True]
    assert server.json("/api/v1/marks?limit=1")["others"] == 1


@pytest.mark.parametrize("body, token, status, words", [
    ("service=shop", "", 401, "token"), ("service=shop", READ, 403, "token"),
    ("", WRITE, 400, "a service or a text"), ("service=shop&colour=red", WRITE, 400, "no 'colour'"),
    ("service=shop&time=yesterday", WRITE, 400, "not a time"), ("service=%00", WRITE, 400, "zero byte"),
    (b"service=a\0b", WRITE, 400, "zero byte"), ("text=" + "x" * 9000, WRITE, 413, ""),
    ("service=full", WRITE, 507, "no room"),
])
def test_marks_that_are_refused(server, body, token, status, words):
    found, answer = mark(server, body, token)
    assert (found, words in answer["error"]) == (status, True), answer


def test_marks_of_a_token_with_a_host(start, tmp_path):
    server = start(f"spool={tmp_path}", rules=("open=1", f"tokens={WRITE} write host=web1"))
    assert mark(server, "service=shop")[1]["host"] == "web1"
    assert mark(server, "service=shop&host=web1")[0] == 200
    assert mark(server, "service=shop&host=web2")[0] == 403


def test_pruned_flames_add_up(server):
    whole = server.json("/api/v1/flame?service=large&nodes=200000")
    assert whole["hidden"] == 0
    for most in (4, 10, 1000, 20000):
        answer = server.json(f"/api/v1/flame?service=large&nodes={most}")
        nodes, names = answer["nodes"], answer["labels"]["name"]
        assert len({len(column) for column in nodes.values()}) == 1
        count, children = len(nodes["parent"]), [0] * len(nodes["parent"])
        assert most * 0.7 <= count <= most
        for i in range(1, count):
            assert nodes["parent"][i] < i
            children[nodes["parent"][i]] += nodes["total"][i]
        assert all(nodes["self"][i] + children[i] == nodes["total"][i] for i in range(count))
        assert nodes["total"][0] == answer["sum"]["total"]
        smaller = names.index("[smaller]")
        assert answer["labels"]["kind"][smaller] == "mark"
        shown = sum(label != smaller for label in nodes["label"])
        assert shown + answer["hidden"] == len(whole["nodes"]["self"])


def test_a_search_finds_what_the_graph_leaves_out(server):
    """All frames are searched, not those that were sent."""
    sent = server.json("/api/v1/flame?service=large&nodes=100&functions=1&limit=5")
    assert sent["hidden"] > 10_000
    known = {row["name"]: row for row in server.json("/api/v1/functions?service=large&limit=20000")["functions"]}
    found = server.json("/api/v1/search?service=large&text=%22d%22")
    drawn = sent["labels"]["name"].index("d")
    assert found["frames"] > 4000 > 100 * sent["nodes"]["label"].count(drawn)
    assert found["functions"] == [known["d"]] and found["functions_found"] == 1
    assert found["total"] == known["d"]["total"] > 0
    # all of it: nothing counts twice
    found = server.json("/api/v1/search?service=large&text=*&limit=3")
    assert found["total"] == sent["sum"]["total"] and len(found["functions"]) == 3
    assert found["functions_found"] == len(known)
    found = server.json("/api/v1/search?text=PARSE&hide=image:/usr/bin/shop")
    assert (found["total"], found["frames"], found["functions"]) == (0, 0, [])
    found = server.json("/api/v1/search?text=parse&from=100&to=200&before_from=7&before_to=9")
    assert found["before_total"] > 0 and found["functions"][0]["before_total"] > 0


@pytest.mark.parametrize("query, words", [
    ("", "is what is searched for"), ("text=", "is what is searched for"), ("text=" + "x" * 257, "at most 256"),
    ("text=/(/", "regular expression"), ("text=(&regex=1", "regular expression"), ("text=x&regex=2", "from 0 to 1"),
    ("text=x&hide=" + "y" * 4097, "longer than"), ("text=x&hide=" + "y%0a" * 65, "at most 64"),
], ids=range(8))
def test_strict_searches(server, query, words):
    status, error = server.error(f"/api/v1/search?{query}")
    assert (status, words in error) == (400, True), error


def test_hostile_names_are_data(server):
    for path in ("flame", "functions", "search?text=alert", "sandwich?name=parse", "series", "timeline?group=host", "processes", "losses",
                 "places?name=parse", "diff?functions=1", "export?format=json", "export?format=speedscope",
                 "export?format=json&before_from=-2h"):
        status, _, body = server.request(f"/api/v1/{path}")
        assert status == 200
        assert b"<" not in body and b"alert(1)" in body
        json.loads(body.decode("utf-8", errors="strict"))
    for name, more in itertools.product(("svg", "html"), ("", "&before_from=-2h")):
        _, headers, body = server.request(f"/api/v1/export?format={name}{more}")
        assert b"<script>alert" not in body
        body.decode("utf-8", errors="strict")
        assert headers["Content-Disposition"] == f'attachment; filename="stackcam.{name}"'


def read_by_pprof(option, packed, tmp_path):
    """What "go tool pprof" says of a profile, or nothing where it is not installed."""
    if not shutil.which("go"):
        return None
    path = tmp_path / "profile.pb.gz"
    path.write_bytes(packed)
    return subprocess.run(["go", "tool", "pprof", option, path], capture_output=True, text=True, check=True).stdout


def test_exports(server, tmp_path):
    folded = server.request("/api/v1/export?format=folded")[2].decode()
    assert "main;parse;parse 30\n" in folded
    packed = server.request("/api/v1/export?format=pprof")[2]
    profile = gzip.decompress(packed)
    assert b"/usr/bin/shop" in profile and b"nanoseconds" in profile
    raw = read_by_pprof("-raw", packed, tmp_path)
    assert raw is None or "on-cpu/nanoseconds" in raw
    assert "52.38%" in server.request("/api/v1/export?format=table")[2].decode()
    assert server.error("/api/v1/export?format=exe")[0] == 400


def test_exports_of_a_comparison(server):
    def export(name):
        return server.request(f"/api/v1/export?format={name}&from=100&to=200&before_from=7&before_to=9"
                              "&before_service=old")[2].decode()

    assert "main;parse;parse 0 30\n" in export("folded")
    table = export("table")
    assert "now:    210 ns" in table and "before: 100 ns" in table
    assert "compared with 2.000 s of old" in table
    # parse: 50 of 210 now, 40 of 100 before
    assert next(line for line in table.splitlines() if " parse " in line).split()[:3] == ["23.81%", "40.00%", "-16.19"]
    answer = json.loads(export("json"))
    assert (answer["sum"]["from"], answer["before"]["from"]) == (100, 7)
    assert sum(answer["nodes"]["before_self"]) == answer["sum"]["total"]
    assert answer["functions"][0]["name"] == "read"  # its share moved furthest
    assert '"before":[' in export("html")
    assert "compared with" in export("svg")
    scope = json.loads(export("speedscope"))
    before, now = scope["profiles"]
    assert before["name"] == "on-cpu, before (scaled to the total of now)" and now["name"] == "on-cpu, now"
    assert sum(before["weights"]) == sum(now["weights"]) == before["endValue"] == now["endValue"] == 210
    names = [frame["name"] for frame in scope["shared"]["frames"]]
    parse = [sum(weight for weight, stack in zip(side["weights"], side["samples"]) if names[stack[-1]] == "parse")
             for side in (before, now)]
    assert parse == [84, 50]  # 40 of 100 before


def test_pprof_of_a_comparison(server, tmp_path):
    packed = server.request("/api/v1/export?format=pprof&from=100&to=200&before_from=7&before_to=9"
                            "&before_service=old")[2]
    assert b"pprof::base" in gzip.decompress(packed)
    top = read_by_pprof("-top", packed, tmp_path)
    if top is None:
        pytest.skip("go, which has pprof, is not installed")
    # of 210 before, scaled, and 210 now: no difference in all, and in parse that of the shares
    assert "Showing nodes accounting for" in top and "210ns total" in top
    assert next(line for line in top.splitlines() if line.endswith(" parse")).split()[:2] == ["-34ns", "16.19%"]


def test_compressed(server):
    plain = server.request("/api/v1/flame?service=large&nodes=5000")[2]
    _, headers, body = server.request("/api/v1/flame?service=large&nodes=5000",
                                      headers={"Accept-Encoding": "br, gzip;q=0.8, zstd;q=0"})
    assert headers["Content-Encoding"] == "gzip" and headers["Vary"] == "Accept-Encoding"
    assert gzip.decompress(body) == plain
    _, headers, body = server.request("/api/v1/flame?service=large&nodes=5000",
                                      headers={"Accept-Encoding": "gzip, deflate, zstd"})
    assert headers["Content-Encoding"] == "zstd" and len(body) < len(plain) / 2
    if shutil.which("zstd"):
        done = subprocess.run(["zstd", "-dc"], input=body, capture_output=True, check=True)
        assert done.stdout == plain
    _, headers, _ = server.request("/api/v1/flame", headers={"Accept-Encoding": "gzip;q=0"})
    assert "Content-Encoding" not in headers


def test_what_is_known_is_not_sent_again(server):
    for path in ("/", "/api/v1/flame?from=5&to=60", "/api/v1/openapi.json"):
        status, headers, body = server.request(path)
        tag = headers["ETag"]
        if status == 404:
            continue  # the page was not built
        for known in (tag, f'"x", {tag}', tag.removeprefix("W/"), "*"):
            status, headers, body = server.request(path, headers={"If-None-Match": known})
            assert (status, body, headers["ETag"]) == (304, b"", tag)
        assert server.request(path, headers={"If-None-Match": 'W/"other"'})[0] == 200
    assert "ETag" not in server.request("/api/v1/status")[1]


def test_page(server):
    status, headers, body = server.request("/")
    if status == 404:
        assert b"built without its web page" in body
        return
    assert headers["Content-Type"].startswith("text/html")
    for path, kind in (("app.js", "text/javascript"), ("more.js", "text/javascript"),
                       ("chunk.js", "text/javascript"), ("chinese.js", "text/javascript"), ("app.css", "text/css"),
                       ("icon.svg", "image/svg")):
        status, headers, body = server.request(f"/assets/{path}", headers={"Accept-Encoding": "gzip"})
        assert status == 200 and headers["Content-Type"].startswith(kind)
        assert gzip.decompress(body) == server.request(f"/assets/{path}")[2]
    # what is wrong in its address is for the page to say
    for query in ("?service=%00", "?from=%", "?" + "&".join(f"a{i}=1" for i in range(100))):
        assert server.request("/" + query)[0] == 200
        assert server.request("/api/v1/status" + query)[0] == 400


def test_methods(server):
    connection = server.connection()
    connection.request("HEAD", "/api/v1/flame")
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (200, b"")
    length = int(answer.headers["Content-Length"])
    connection.request("GET", "/api/v1/flame")  # the same connection
    assert len(connection.getresponse().read()) == length
    connection.close()
    for method in ("PUT", "DELETE", "OPTIONS", "PATCH", "POST", "TRACE"):
        status, headers, _ = server.request("/api/v1/flame", method=method)
        assert (status, headers["Allow"]) == (405, "GET, HEAD"), method
    assert server.request("/api/v1/films")[1]["Allow"] == "POST"
    assert server.error("/nothing", method="DELETE")[0] == 404


def test_films(start, tmp_path):
    server = start(f"spool={tmp_path / 'spool'}")
    for number, again in ((1, False), (2, False), (2, True), (1, True)):
        status, _, body = send_film(server, headers={"X-Stackcam-Number": str(number)})
        assert (status, json.loads(body)) == (200, {"again": again})
    third = {"X-Stackcam-Number": "3"}
    assert send_film(server, b"no film", third)[0] == 400
    assert send_film(server, b"", third)[0] == 507
    for bad in ({"X-Stackcam-Number": "-1"}, {}, {"X-Stackcam-Number": "0"},
                {"X-Stackcam-Agent": "../x", **third}, {"X-Stackcam-Host": "", **third}):
        status, _, body = send_film(server, headers=bad)
        assert status == 400, (bad, body)
    packed = gzip.compress(b"SCMF" * 100000)
    assert send_film(server, packed, {"Content-Encoding": "gzip", **third})[0] == 200
    assert send_film(server, packed[:-20], {"Content-Encoding": "gzip", **third})[0] == 400
    assert send_film(server, packed, {"Content-Encoding": "br", **third})[0] == 415
    assert send_film(server, iter([b"SC", b"MF"]), {"X-Stackcam-Number": "4"})[0] == 200  # in chunks
    if shutil.which("zstd"):
        packed = subprocess.run(["zstd", "-c"], input=b"SCMF" * 100000, capture_output=True,
                                check=True).stdout
        headers = {"Content-Encoding": "zstd", "X-Stackcam-Number": "5"}
        assert send_film(server, packed, headers)[0] == 200
        assert send_film(server, packed[:-9], headers)[0] == 400
        bomb = subprocess.run("head -c 400000000 /dev/zero | zstd -c", shell=True,
                              capture_output=True, check=True).stdout
        assert send_film(server, bomb, headers)[0] == 413
    # what waits with an agent: a header that is wrong costs no film
    for number, header in enumerate(["doubt=1, films=12, oldest=93, bytes=4096", "doubt=1, films=0, oldest=1", "x" * 3000, "doubt=9" * 300]):
        headers = {"X-Stackcam-Number": str(10 + number), "X-Stackcam-Backlog": header}
        assert send_film(server, headers=headers)[0] == 200
    told = server.request("/metrics")[2].decode()
    for line in ("agents 1", "agents_behind 1", "agents_films_waiting 12", "agents_films_in_doubt 1",
                 "agents_oldest_film_seconds 93", "agents_bytes_waiting 4096",
                 'agent_waiting_bytes{agent="agent-1"} 4096', 'agent_oldest_film_seconds{agent="agent-1"} 93',
                 'agents_unread_total{reason="malformed"} 3'):
        assert f"\nstackcam_{line}\n" in told, told
    assert not os.listdir(tmp_path / "spool"), "nothing stays"


def test_what_is_too_large_is_refused_before_it_is_sent(server):
    text = b"POST /api/v1/films HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999999\r\n" \
           b"Authorization: Bearer " + WRITE.encode() + b"\r\n\r\n"
    assert b" 413 " in server.raw(text).split(b"\r\n")[0]
    assert server.json("/api/v1/status")["store"]["films"] == 3


def test_what_was_half_sent_is_removed_at_the_start(start, tmp_path):
    (tmp_path / "sent-123-4").write_text("half")
    (tmp_path / "other").write_text("not ours")
    start(f"spool={tmp_path}")
    assert os.listdir(tmp_path) == ["other"]


def test_without_a_spool_nothing_is_taken(start):
    server = start()
    assert send_film(server, headers={"X-Stackcam-Number": "1"})[0] == 403
    assert server.json("/api/v1/status")["read_only"] is True


def message(server, body, token=READ, **headers):
    return server.request("/mcp", method="POST", body=body if isinstance(body, (bytes, str)) else json.dumps(body), headers={
        "Authorization": f"Bearer {token}", "Content-Type": "application/json", **headers})


def test_tools_for_agents(server):
    """The tools of 'stackcam mcp', to clients that may read; what each of them answers, tests/unit/mcp knows."""
    status, headers, body = message(server, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert (status, headers["Content-Type"], headers["Cache-Control"]) == (200, "application/json", "no-store")
    Api().check_answer("POST", "/mcp", status, headers["Content-Type"], body)
    names = [tool["name"] for tool in json.loads(body)["result"]["tools"]]
    # what it would run on this machine is not offered to others
    assert "summary" in names and not {"record", "doctor"} & set(names)
    assert message(server, {"jsonrpc": "2.0", "method": "notifications/initialized"})[::2] == (202, b"")
    status, _, body = message(server, "{")
    assert (status, json.loads(body)["error"]["code"]) == (200, -32700)
    status, _, body = message(server, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "films"}})
    assert json.loads(body)["result"]["isError"] is True  # this store has none
    # before it is sent: a client that goes on sending may meet a closed connection, and not the answer
    text = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {1 << 20}\r\nAuthorization: Bearer {READ}\r\n\r\n"
    assert b" 413 " in server.raw(text.encode()).split(b"\r\n")[0]
    assert server.request("/mcp")[0] == 405
    assert server.request("/mcp", method="POST", body="{}", headers={"Origin": "http://elsewhere.example"})[0] == 403


def test_tools_for_agents_need_a_token_to_read(start, tmp_path):
    server = start(f"spool={tmp_path}", rules=(f"tokens={READ} read;{WRITE} write",))
    assert [message(server, "{}", token=token)[0] for token in (READ, WRITE, "")] == [200, 403, 401]
