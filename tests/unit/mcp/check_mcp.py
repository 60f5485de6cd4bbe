#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stackcam mcp as clients of each revision speak with it: check_mcp.py STACKCAM MAKE_FILM MAKE_CALLS MAKE_TURNS. Films are made up."""
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

STACKCAM, MAKE_FILM, MAKE_CALLS, MAKE_TURNS = map(os.path.abspath, sys.argv[1:5])
ANSWER_MAX = 16000  # bytes: 4,000 tokens, if one is 4 bytes
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


def speak(text, *words):
    """The lines that answer those of a text."""
    done = subprocess.run([STACKCAM, "mcp", *words], input=text.encode(), capture_output=True, timeout=100, check=False)
    assert (done.returncode, done.stderr) == (0, b""), done
    return [json.loads(line) for line in done.stdout.splitlines()]


def ask(*requests, words=()):
    """The results or errors of (method, params)."""
    lines = [json.dumps({"jsonrpc": "2.0", "id": i, "method": method, "params": params}) for i, (method, params) in enumerate(requests)]
    answers = speak("\n".join(lines) + "\n", *words)
    assert [answer["id"] for answer in answers] == list(range(len(requests)))
    return [answer.get("result", answer.get("error")) for answer in answers]


def call(tool, words=(), **arguments):
    """The text of a tool, and whether it is an error."""
    result, = ask(("tools/call", {"name": tool, "arguments": arguments}), words=words)
    content, = result["content"]
    assert content["type"] == "text" and len(content["text"]) <= ANSWER_MAX
    return content["text"], result["isError"]


class Messages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="stackcam-test-")
        os.chdir(cls.folder.name)
        os.mkdir("films")
        os.mkdir("films/more")
        for path, maker in (("films/a.film", [MAKE_FILM, "3000", "20", "20"]), ("films/calls.film", [MAKE_CALLS, "5000", "2"]),
                            ("films/more/turns.film", [MAKE_TURNS, "3000", "8"]), ("films/b.film", [MAKE_FILM, "5000", "50", "20"]),
                            ("outside.film", [MAKE_FILM, "100", "5", "5"])):
            subprocess.run([*maker, path], check=True)
        os.utime("films/b.film", (4e9, 4e9))
        os.symlink("../outside.film", "films/link.film")
        os.mkdir("films/.hidden")
        for path in (".hidden/x.film", "film.db"):
            shutil.copy("outside.film", f"films/{path}")
        os.chdir("films")

    @classmethod
    def tearDownClass(cls):
        os.chdir("/")
        cls.folder.cleanup()

    def test_handshake_of_each_revision(self):
        for wanted, given in (("2025-11-25", "2025-11-25"), ("2025-06-18", "2025-06-18"), ("2024-11-05", "2024-11-05"),
                              ("2026-07-28", "2025-11-25"), ("1999-01-01", "2025-11-25")):
            result, = ask(("initialize", {"protocolVersion": wanted, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}))
            self.assertEqual(result["protocolVersion"], given)
            self.assertEqual(result["serverInfo"]["name"], "stackcam")
            self.assertIn("tools", result["capabilities"])
            self.assertNotIn("resultType", result)
        self.assertEqual(ask(("ping", {})), [{}])

    def test_newest_revision_needs_no_handshake(self):
        found, listed, called = ask(("server/discover", {"_meta": MODERN}), ("tools/list", {"_meta": MODERN}),
                                    ("tools/call", {"name": "films", "_meta": MODERN}))
        self.assertIn("2026-07-28", found["supportedVersions"])
        self.assertEqual(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "stackcam")
        for result in (found, listed, called):
            self.assertEqual(result["resultType"], "complete")
        self.assertGreater(listed["ttlMs"], 0)
        later = {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}
        error, = ask(("tools/list", {"_meta": later}))
        self.assertEqual((error["code"], error["data"]["requested"]), (-32022, "2099-01-01"))
        later["io.modelcontextprotocol/protocolVersion"] = "x" * 200000
        error, = ask(("tools/list", {"_meta": later}))
        self.assertEqual((error["code"], error["data"]["requested"][:3]), (-32022, "xxx"))
        self.assertLess(len(json.dumps(error)), ANSWER_MAX)

    def test_messages_that_are_wrong(self):
        for line, code in (("{", -32700), ("[]", -32600), ("3", -32600), ('"x"', -32600), ('{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
                           ('{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600), ('{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
                           ('{"jsonrpc":"2.0","id":1}', -32600), ('{"jsonrpc":"2.0","id":1,"method":"nope"}', -32601),
                           ('{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602),
                           ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nope"}}', -32602),
                           ('{"jsonrpc":"2.0","id":1,"method":"tools/call"}', -32602),
                           ('{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}', -32700), ("[" * 100000, -32700),
                           ('{"jsonrpc":"2.0","id":1,"method":"pi\\u0000ng"}', -32700),
                           ('"' + "x" * 300000 + '"', -32600)):
            # what follows is answered all the same
            answer, pong = speak(line + '\n{"jsonrpc":"2.0","id":"é","method":"ping"}\n')
            self.assertEqual(answer["error"]["code"], code, line[:80])
            self.assertEqual(pong, {"jsonrpc": "2.0", "id": "é", "result": {}})

    def test_what_needs_no_answer(self):
        self.assertEqual(speak('{"jsonrpc":"2.0","method":"notifications/initialized"}\n\n \r\n'
                               '{"jsonrpc":"2.0","id":7,"result":{}}\n{"jsonrpc":"2.0","method":"tools/call"}\n{"jsonrpc":"2.0"'), [])

    def test_tools(self):
        result, = ask(("tools/list", {}))
        tools = {tool["name"]: tool for tool in result["tools"]}
        self.assertEqual(list(tools), ["films", "summary", "functions", "callers_and_callees", "waits_and_locks", "slow_requests", "explain",
                                       "diff", "doctor"])
        self.assertLess(len(json.dumps(result)), ANSWER_MAX)
        for tool in tools.values():
            self.assertIs(tool["annotations"]["readOnlyHint"], True)
            self.assertIs(tool["inputSchema"]["additionalProperties"], False)
        result, = ask(("tools/list", {}), words=["--allow-record"])
        more = {tool["name"]: tool for tool in result["tools"]}
        self.assertEqual(set(more) - set(tools), {"record"})
        self.assertLessEqual(len(more), 10)
        self.assertIs(more["record"]["annotations"]["readOnlyHint"], False)
        self.assertEqual(more["record"]["inputSchema"]["properties"]["seconds"]["maximum"], 60)

    def test_arguments_that_are_refused(self):
        for tool, arguments, says in (("summary", {"flim": "a.film"}, "did you mean 'film'"), ("summary", {"x": 1}, "unknown argument 'x'"),
                                      ("functions", {"limit": "5"}, "whole number"), ("functions", {"limit": 0}, "from 1 to 100"),
                                      ("functions", {"limit": 2.5}, "whole number"), ("functions", {"event": ""}, "1 to 64 bytes"),
                                      ("functions", {"event": "x" * 65}, "1 to 64 bytes"), ("functions", {"event": "on-cup"}, "did you mean 'on-cpu'"), ("functions", {"sort": "x"}, "x"),
                                      ("functions", {"from": "soon"}, "soon"), ("callers_and_callees", {}, "function is missing"),
                                      ("callers_and_callees", {"function": "no_such"}, "no function matches"),
                                      ("diff", {}, "before is missing"), ("explain", {"film": "a.film"}, "threads")):
            text, is_error = call(tool, **arguments)
            self.assertTrue(is_error, tool)
            self.assertIn(says, text)
        result, = ask(("tools/call", {"name": "films", "arguments": [1]}))
        self.assertTrue(result["isError"])

    def test_a_client_gets_at_no_other_file(self):
        listed = call("films")[0]
        self.assertEqual([line.split()[-1] for line in listed.splitlines()][0], "b.film")
        self.assertEqual({line.split()[-1] for line in listed.splitlines()}, {"a.film", "b.film", "calls.film", "more/turns.film"})
        for name in (".hidden/x.film", "film.db", "../outside.film", "link.film", os.path.abspath("../outside.film"), "more/../../outside.film", "nope.film", "more", "/"):
            text, is_error = call("summary", film=name)
            self.assertTrue(is_error and "there is no film" in text, name)
        self.assertFalse(call("summary", film="more/turns.film")[1])
        self.assertFalse(call("summary", words=["a.film"], film="a.film")[1])
        self.assertTrue(call("summary", words=["a.film"], film="b.film")[1])

    def test_answers_are_those_of_the_verbs(self):
        table = json.loads(subprocess.run([STACKCAM, "report", "--json", "b.film"], capture_output=True, check=True).stdout)
        text, _ = call("functions", limit=3)
        rows = re.findall(r"^(f[0-9a-f]{8})(?: +\S+% +\S+ \S+){2}  (.*)  \S+$", text, re.MULTILINE)
        self.assertEqual([name for _, name in rows], [f["name"] for f in table["functions"][:3]])
        self.assertIn(f"{len(table['functions']) - 3} more; offset=3", text)
        second, _ = call("functions", limit=1, offset=1)
        self.assertEqual(re.findall(r"^f[0-9a-f]{8}", second, re.MULTILINE), [rows[1][0]])
        self.assertIn(f"behind the last of {len(table['functions'])}", call("functions", offset=100000)[0])
        by_id, by_name = (call("callers_and_callees", function=rows[0][i])[0] for i in (0, 1))
        self.assertEqual(by_id, by_name)
        self.assertIn("Its callers", by_id)
        self.assertIn("What it called", by_id)
        page = subprocess.run([STACKCAM, "report", "--format", "summary", "b.film"], capture_output=True, text=True, check=True).stdout
        self.assertEqual([line for line in call("summary")[0].splitlines() if "more: " not in line],
                         [line for line in page.splitlines() if "more: " not in line])
        self.assertIn("before: on-cpu", call("diff", before="a.film", limit=5)[0])
        self.assertIn("calls, average", call("functions", film="calls.film", sort="p99")[0])
        self.assertIn("threads were: disk", call("waits_and_locks", film="more/turns.film")[0])
        one = call("waits_and_locks", film="more/turns.film", limit=1)[0]
        self.assertEqual(one.count("threads were: "), 1)
        self.assertIn("at most 1 of each kind", one)
        self.assertIn("threads, lost: ", one)
        self.assertIn("'record -e off-cpu", call("waits_and_locks", film="a.film")[0])
        self.assertIn("'record -e requests", call("slow_requests", film="a.film")[0])

    def test_answers_are_short_and_say_what_is_left_out(self):
        done = subprocess.run([STACKCAM, "mcp"], capture_output=True, check=True, input=json.dumps(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "functions", "arguments": {"limit": 100}}}).encode() + b"\n")
        self.assertLess(len(done.stdout), ANSWER_MAX)
        text = json.loads(done.stdout)["result"]["content"][0]["text"]
        self.assertTrue(re.search(r"^\d+ more; offset=100", text, re.MULTILINE) or re.search(r"^\[cut: \d+ of \d+ bytes left out", text, re.MULTILINE))

    def test_what_is_left_out_is_of_the_whole_text(self):
        """As JSON, a '<' takes six bytes: the text is cut more than once, and counted once."""
        with tempfile.TemporaryDirectory(prefix="stackcam-test-") as folder:
            for number in range(40):
                with open(f"{folder}/{'<' * 200}{number:02}.film", "xb"):
                    pass
            shown, note = call("films", words=[folder])[0].split("\n[cut: ")
        left, whole = map(int, re.match(r"(\d+) of (\d+) bytes left out", note).groups())
        self.assertEqual((left + len(shown), whole), (whole, 40 * len(f"2026-11-29T12:00:00Z {'0 B':>10}  {'<' * 200}00.film\n")))
        self.assertEqual(len(shown) % (whole // 40), 0)

    def test_the_newest_of_too_many_is_not_guessed(self):
        with tempfile.TemporaryDirectory(prefix="stackcam-test-") as folder:
            for number in range(20001):
                with open(f"{folder}/{number}", "xb"):
                    pass
            shutil.copy("b.film", f"{folder}/x.film")
            text, is_error = call("summary", words=[folder])
            self.assertTrue(is_error and "which film is the newest is not known" in text, text)
            self.assertFalse(call("summary", words=[folder], film="x.film")[1])

    def test_a_film_that_was_cut_off(self):
        """Each tool says so, of both films that are compared."""
        with tempfile.TemporaryDirectory(prefix="stackcam-test-") as folder:
            shutil.copy("a.film", f"{folder}/x.film")
            db = sqlite3.connect(f"{folder}/x.film")
            db.execute("INSERT OR REPLACE INTO meta(name, value) VALUES('open', 1)")
            db.commit()
            db.close()
            for tool, arguments in (("summary", {}), ("functions", {}), ("callers_and_callees", {"function": "*"}), ("diff", {"before": "x.film"})):
                text, is_error = call(tool, words=[folder], **arguments)
                self.assertFalse(is_error, text)
                self.assertEqual(text.count("did not end properly"), 1 + (tool == "diff"), text)

    def test_a_recording_that_fails_says_why(self):
        for arguments, says in (({"events": "--help"}, "there is no event '--help'"), ({"process": 1, "name": "x"}, "not both")):
            text, is_error = call("record", words=["--allow-record"], seconds=1, **arguments)
            self.assertTrue(is_error and says in text, text)

    def test_usage(self):
        for words in (("--nope",), ("a.film", "b.film"), ("--allow-record", "a.film")):
            self.assertEqual(subprocess.run([STACKCAM, "mcp", *words], stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode, 2)
        self.assertEqual(subprocess.run([STACKCAM, "mcp", "nope"], stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode, 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
