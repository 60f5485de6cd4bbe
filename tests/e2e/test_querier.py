# SPDX-License-Identifier: Apache-2.0
"""What Grafana's data source for Pyroscope queries: profiles that were pushed come back, in both encodings of Connect."""

import base64
import json
import re
import time
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
import yaml

from asking import READ, WRITE, program, server, start  # noqa: F401 (fixtures)
from harness import PATIENCE, needs_root, wait_until
from querier import exchange
from test_serve import serving

GRAFANA = Path(__file__).resolve().parents[2] / "dist" / "grafana"
CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
# Service, labels, folded stacks; a sample stands for 10 ms.
PUSHES = [("shop", "env=prod", "main;parse 3\nmain;parse;read 2\nmain;write 5\n"),
          ("shop", "env=test", "main;parse 7\n"),
          ("mail", "env=prod", "main;send 4\n")]
SAMPLE = 10_000_000


def stacks_of(flamegraph):
    """The stacks of a flame graph in levels, with what was spent in each: where a node begins shows its parent."""
    found, above = {}, [(0, flamegraph.total, ())]
    for depth, level in enumerate(flamegraph.levels):
        at, nodes = 0, []
        values = list(level.values)
        assert len(values) % 4 == 0
        for offset, total, own, name in zip(*[iter(values)] * 4):
            at += offset
            if not depth:
                assert (at, total, flamegraph.names[name]) == (0, flamegraph.total, "total")
                stack = ()
            else:
                stack = next(s for begin, end, s in above if begin <= at and at + total <= end) + (flamegraph.names[name],)
            nodes.append((at, at + total, stack))
            if own:
                found[stack] = found.get(stack, 0) + own
            at += total
        above = nodes
    assert sum(found.values()) == flamegraph.total
    assert flamegraph.max_self == max((own for level in flamegraph.levels for own in list(level.values)[2::4]), default=0)
    return {";".join(stack): value // SAMPLE for stack, value in found.items()}


@needs_root
def test_pushed_profiles_come_back(lab, tmp_path):
    begin = int(time.time()) // 60 * 60 - 600
    span = {"start": begin * 1000, "end": (begin + 300) * 1000}
    with serving(lab, tmp_path / "store", "--no-record") as serve:
        tokens = {may: serve.made_token(may) for may in ("read", "write")}

        def request(path, method, body, headers, may="read"):
            asked = urllib.request.Request(serve.url + path, body, {**headers, "Authorization": f"Bearer {tokens[may]}"}, method=method)
            with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
                return answer.status, answer.headers, answer.read()

        def push(service, labels, stacks):
            query = urllib.parse.urlencode({"name": f"{service}.cpu{{{labels}}}", "units": "samples", "sampleRate": 100,
                                            "format": "folded", "from": begin + 60, "until": begin + 70})
            assert request(f"/ingest?{query}", "POST", stacks.encode(), {}, "write")[0] == 200

        for service, labels, stacks in PUSHES:
            push(service, f"{labels},hostname=web1", stacks)
        everything = {"profile_typeID": CPU, **span}
        assert wait_until(lambda: exchange(request, "SelectMergeStacktraces", True, **everything).flamegraph.total == 21 * SAMPLE)
        for is_json in (True, False):
            def call(method, **fields):
                return exchange(request, method, is_json, **fields)

            def flame(selector, **fields):
                return stacks_of(call("SelectMergeStacktraces", label_selector=selector, **everything, **fields).flamegraph)

            def totals(selector, *names, **fields):
                series = call("SelectSeries", label_selector=selector, group_by=names, step=60, **everything, **fields).series
                return [({pair.name: pair.value for pair in one.labels}, sum(point.value for point in one.points) / SAMPLE)
                        for one in series]

            types = call("ProfileTypes", **span).profile_types
            assert [(one.ID, one.name, one.sample_type, one.sample_unit, one.period_type) for one in types] == [
                (CPU, "process_cpu", "cpu", "nanoseconds", "cpu")]
            assert call("LabelNames", matchers=["{}"], **span).names == ["__profile_type__", "env", "hostname", "service_name", "version"]
            assert call("LabelValues", name="service_name", matchers=['{env="prod"}'], **span).names == ["mail", "shop"]
            assert call("LabelValues", name="env", matchers=['{service_name=~"sh.*"}'], **span).names == ["prod", "test"]
            assert call("LabelValues", name="__profile_type__", **span).names == [CPU]
            assert call("LabelValues", name="env", start=1000, end=2000).names == []
            sets = call("Series", matchers=[], label_names=["service_name", "env"], **span).labels_set
            assert sorted(tuple(pair.value for pair in one.labels) for one in sets) == [
                ("mail", "prod"), ("shop", "prod"), ("shop", "test")]
            assert flame('{service_name="shop", env="prod"}') == {"main;parse": 3, "main;parse;read": 2, "main;write": 5}
            assert flame('{service_name="shop"}') == {"main;parse": 10, "main;parse;read": 2, "main;write": 5}
            assert flame('{env!~"te.t"}') == {"main;parse": 3, "main;parse;read": 2, "main;write": 5, "main;send": 4}
            assert flame('{env="prod", service_name=~"mail|other"}') == {"main;send": 4}
            assert flame('{service_name="none"}') == {} == flame('{nothing="x"}')
            assert sum(flame("{}", max_nodes=4).values()) == 21
            assert totals("{}") == [({}, 21)]
            assert totals("{}", "service_name") == [({"service_name": "shop"}, 17), ({"service_name": "mail"}, 4)]
            assert totals('{service_name="shop"}', "service_name", "env") == [
                ({"service_name": "shop", "env": "prod"}, 10), ({"service_name": "shop", "env": "test"}, 7)]
            assert totals("{}", "service_name", limit=1) == [({"service_name": "shop"}, 17)]
            points = call("SelectSeries", step=60, **everything).series[0].points
            assert [point.timestamp for point in points if point.value] == [(begin + 60) * 1000]
            stats = call("GetProfileStats")
            assert stats.data_ingested and stats.oldest_profile_time // 60000 == begin // 60 + 1
        # a host with more films is answered in whole minutes: its values stay in their time beside those of seconds
        for _ in range(5):
            push("shop", "hostname=web2", "main;parse 1\n")
        assert wait_until(lambda: exchange(request, "SelectMergeStacktraces", True, **everything).flamegraph.total == 26 * SAMPLE)
        series = exchange(request, "SelectSeries", True, group_by=["hostname"], step=15, **everything).series
        assert [({pair.value for pair in one.labels}, sum(point.value for point in one.points)) for one in series] == [
            ({"web1"}, 21 * SAMPLE), ({"web2"}, 5 * SAMPLE)]
        assert all(begin + 60 <= point.timestamp // 1000 < begin + 120 for one in series for point in one.points if point.value)


@pytest.fixture
def call(server):
    def call_it(method, is_json=True, token=READ, **fields):
        return exchange(lambda path, method, body, headers: server.request(
            path, method, body, {**headers, "Authorization": f"Bearer {token}"}), method, is_json, **fields)
    return call_it


@pytest.mark.parametrize("selector, status, words", [
    ('service_name="a"', 400, "selector"), ('{service_name="a"', 400, "selector"), ("{a=b}", 400, "selector"),
    ('{a=~"("}', 400, "regular expression"), ("{a=~\"" + "x" * 300 + "\"}", 400, "longer"), ('{a="b"} or', 400, "selector"),
    ("{" + 'a="b",' * 33 + "}", 429, "conditions"), ('{"a"="b"}', 400, "selector"), ('{a=~"' + "(a*)*" * 40 + 'b"}', 400, ""),
])
@pytest.mark.parametrize("is_json", [True, False], ids=["json", "protobuf"])
def test_selectors_that_are_refused(call, selector, status, words, is_json):
    found = call("SelectMergeStacktraces", is_json, profile_typeID=CPU, label_selector=selector)
    if not words and not isinstance(found, tuple):
        return  # a slow expression that ended in time
    assert found[0] == status and words in found[1], found
    assert json.loads(found[1])["code"] == ("invalid_argument" if status == 400 else "resource_exhausted")


def test_requests_that_are_refused(server, call):
    path = "/querier.v1.QuerierService/SelectMergeStacktraces"
    headers = {"Authorization": f"Bearer {READ}"}
    for kind, body, status in (("application/json", b"{", 400), ("application/json", b"[]", 400), ("application/json", b'{"start": -1}', 400),
                               ("application/json", b'{"labelSelector": 5}', 400), ("application/proto", b"\xff", 400),
                               ("application/proto", b"\x0a\x05ab", 400), ("application/grpc", b"", 501),
                               ("application/json", b'{"format": "PROFILE_FORMAT_TREE"}', 501),
                               ("application/json", b'{"stackTraceSelector": {"callSite": []}}', 501),
                               ("application/json", b"{}", 400)):
        found, _, answer = server.request(path, "POST", body, {**headers, "Content-Type": kind})
        assert (found, bool(json.loads(answer)["message"])) == (status, True), (body, answer)
    assert call("SelectSeries", profile_typeID=CPU, aggregation=1)[0] == 501
    assert call("SelectMergeStacktraces", profile_typeID=CPU, start=2, end=1)[0] == 400
    # what does not exist has no profiles, and is no failure
    assert not call("SelectMergeStacktraces", profile_typeID="a:b:c:d:e").HasField("flamegraph")
    # before it is sent: a client that goes on sending may meet a closed connection, and not the answer
    text = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {1 << 20}\r\nAuthorization: Bearer {READ}\r\n\r\n"
    assert b" 413 " in server.raw(text.encode()).split(b"\r\n")[0]
    assert server.request("/querier.v1.QuerierService/AnalyzeQuery", "POST", b"{}", headers)[0] == 404


def test_who_may_query(start, tmp_path):
    server = start(f"spool={tmp_path}", rules=(f"tokens={READ} read;{WRITE} write",))
    for token, status in (("", 401), (WRITE, 403), (READ, 200)):
        assert server.request("/querier.v1.QuerierService/ProfileTypes", "POST", b"{}",
                              {"Content-Type": "application/json", "Authorization": f"Bearer {token}"})[0] == status


def test_hostile_names(call):
    """Names of functions and services are texts, whatever they hold."""
    for is_json in (True, False):
        flamegraph = call("SelectMergeStacktraces", is_json, profile_typeID=CPU).flamegraph
        assert [name for name in flamegraph.names if "<script>" in name]
        assert "main" in flamegraph.names and flamegraph.total
        values = call("LabelValues", is_json, name="service_name").names
        assert "shop" in values and len(values) == 2
        assert all(re.fullmatch(r"[a-z_]+", name) for name in call("LabelNames", is_json).names)


def test_files_for_grafana(server, call):
    """They use metrics that are there, counters as rates, and a profile type that is there."""
    metrics = dict(re.findall(r"^# TYPE (\S+) (\S+)$", server.request("/metrics")[2].decode(), re.M))
    dashboard = json.loads((GRAFANA / "dashboard.json").read_text())
    rules = [rule for group in yaml.safe_load((GRAFANA / "alerts.yaml").read_text())["groups"] for rule in group["rules"]]
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"] if "expr" in target]
    assert len(expressions) > 15 and len(rules) > 5
    for expression in [*expressions, *(rule["expr"] for rule in rules)]:
        names = re.findall(r"\b(?:stackcam|process)_\w+", expression)
        assert names and set(names) <= set(metrics), expression
        rates = re.findall(r"(?:rate|increase)\((\w+)(?:\{[^}]*\})?\[\w+\]\)", expression)
        assert {name for name in names if metrics[name] == "counter"} == set(rates), expression
    types = [one.ID for one in call("ProfileTypes").profile_types]
    profiles = [target["profileTypeId"] for panel in dashboard["panels"] for target in panel["targets"] if "profileTypeId" in target]
    assert profiles and set(profiles) <= set(types)
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24 and panel["title"]
    source = yaml.safe_load((GRAFANA / "datasources.yaml").read_text())["datasources"][0]
    assert source["type"] == "grafana-pyroscope-datasource"
    # as Basic has it: the token is the password
    headers = {"Authorization": "Basic " + base64.b64encode(f"stackcam:{READ}".encode()).decode(), "Content-Type": "application/json"}
    assert server.request("/querier.v1.QuerierService/ProfileTypes", "POST", b"{}", headers)[0] == 200
