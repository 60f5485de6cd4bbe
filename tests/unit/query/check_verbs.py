#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report and diff as they are called: check_verbs.py STACKCAM MAKE_FILM MAKE_CALLS. Films are made up."""
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

STACKCAM, MAKE_FILM, MAKE_CALLS = map(os.path.abspath, sys.argv[1:4])


def run(*words, **options):
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([STACKCAM, *words], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, check=False, **options)


class Verbs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="stackcam-test-")
        os.chdir(cls.folder.name)
        for name, samples, stacks in (("stackcam.film", 5000, 50), ("other.film", 3000, 20)):
            subprocess.run([MAKE_FILM, str(samples), str(stacks), "20", name], check=True)
        subprocess.run([MAKE_CALLS, "20000", "3", "calls.film"], check=True)
        subprocess.run([MAKE_CALLS, "5000", "2", "fewer.film"], check=True)
        cls.before = sorted(os.listdir("."))

    @classmethod
    def tearDownClass(cls):
        os.chdir("/")
        cls.folder.cleanup()

    def tearDown(self):
        for name in set(os.listdir(".")) - set(self.before):
            os.remove(name)

    def ends(self, status, *words, says=""):
        done = run(*words)
        self.assertEqual(done.returncode, status, done.stderr)
        if status:
            self.assertTrue(done.stderr)
            self.assertEqual(done.stdout, "")
        self.assertIn(says, done.stderr)
        return done

    def test_summary(self):
        """Its numbers are those of the table, and as JSON the same as in the text."""
        table = json.loads(self.ends(0, "report", "--json").stdout)
        page = json.loads(self.ends(0, "report", "--format", "summary", "--json").stdout)
        self.assertEqual(page["schema"], "stackcam/summary/1")
        self.assertEqual(page["film"], table["film"])
        event, = page["events"]
        self.assertEqual((event["name"], event["samples"], event["total"], event["complete"]),
                         ("on-cpu", 5000, table["event"]["total"], table["stacks"]["complete"]))
        self.assertEqual(page["processes"], [
            {"pid": p["pid"], "comm": p["comm"], "event": "on-cpu", "total": p["total"]} for p in table["processes"][:8]])
        hottest = [(f["subject"], f["value"]) for f in page["findings"] if f["kind"] == "function"]
        self.assertEqual(hottest, [(f["name"], f["self"]) for f in table["functions"][:3]])
        text = self.ends(0, "report", "--format", "summary").stdout
        for name, _ in hottest:
            self.assertIn(f"hottest function: {name}", text)
        self.assertEqual(self.ends(0, "report", "--format", "summary", "-e", "on-cpu").stdout, text)
        shares = re.findall(r"^ *\S+ \S+ +([\d.]+)%  (?:.* \(\d+\)|\d+ more)$", text, re.MULTILINE)
        self.assertEqual(len(shares), 9)
        self.assertAlmostEqual(sum(map(float, shares)), 100, delta=0.1)
        self.assertIn(f"%  {len(table['processes']) - 8} more\n", text)
        for words in (("--from", "999s"), ("--to", "1970-01-01T00:00:00Z")):
            span = json.loads(self.ends(0, "report", "--format", "summary-json", *words).stdout)["span"]
            self.assertLessEqual(span["from"], span["to"])
        self.assertEqual(self.ends(0, "report", "--format", "json", "--json").stdout, self.ends(0, "report", "--json").stdout)
        self.ends(1, "report", "--format", "summary", "-e", "on-cup", says="did you mean 'on-cpu'")
        pid = table["processes"][0]["pid"]
        of_one = self.ends(0, "report", "--format", "summary-json", "-p", str(pid)).stdout
        self.assertEqual(json.loads(of_one)["events"][0]["total"],
                         sum(p["total"] for p in table["processes"] if p["pid"] == pid))

    def test_summary_of_calls(self):
        table = json.loads(self.ends(0, "report", "--json", "calls.film").stdout)
        page = json.loads(self.ends(0, "report", "--format", "summary-json", "calls.film").stdout)
        self.assertEqual([(f["subject"], f["value"], f["count"]) for f in page["findings"]],
                         [(f["name"], f["total"], f["calls"]) for f in sorted(table["functions"], key=lambda f: -f["total"])[:3]])

    def test_callers_and_callees(self):
        hottest = json.loads(self.ends(0, "report", "--json").stdout)["functions"][0]
        for option in ("--callers", "--callees"):
            done = self.ends(0, "report", option, hottest["name"], "--min-percent", "0")
            lines = done.stdout.splitlines()
            root = next(i for i, line in enumerate(lines) if line.startswith("100.00%"))
            self.assertIn(f"  {hottest['name']}  [", lines[root])
            self.assertEqual(done.stderr, "")
        self.assertIn("<svg", self.ends(0, "report", "--callers", hottest["name"], "--format", "svg").stdout)
        wrong = hottest["name"][:-2] + hottest["name"][-1]
        self.ends(1, "report", "--callers", wrong, says="did you mean '")
        self.ends(1, "report", "--callers", "re:(", says="regular expression")
        self.assertIn("match '*', too", self.ends(0, "report", "--callers", "*").stderr)
        for words, says in ((("--format", "table"), "tree, svg and html do"), (("--json",), "has no JSON"),
                            (("--callees", "x"), "at a time")):
            self.ends(2, "report", "--callers", "x", *words, says=says)

    def test_what_a_user_meant(self):
        for words, says in ((("reprot",), "did you mean 'report'"), (("report", "--formt", "x"), "did you mean '--format'"),
                            (("report", "--format", "tabel"), "did you mean 'table'"),
                            (("record", "-e", "off-cup"), "did you mean 'off-cpu'")):
            self.ends(2, *words, says=says)

    def test_report_takes_the_film_of_this_folder(self):
        self.assertIn("5,000 samples", self.ends(0, "report").stdout)
        self.assertIn("3,000 samples", self.ends(0, "report", "other.film").stdout)
        self.ends(1, "report", "a.film", "other.film", says="a.film")

    def test_wrong_usage(self):
        for words in (("--nope",), ("--format", "png"), ("--format",), ("--limit", "-1"),
                      ("--limit", "ten"), ("--min-percent", "101"), ("--min-percent", "x"),
                      ("--min-percent", "nan"), ("--focus", "("), ("--ignore", "["),
                      ("--by", "pid"), ("--pid", "x"), ("--from", "soon"),
                      ("--from", "3", "--to", "1"), ("-e",),
                      ("-p", "x"), ("-t", ""), ("--from", "14:33", "--to", "14:32")):
            self.ends(2, "report", *words, says="--help")
        for words in ((), ("one.film",), ("a", "b", "c"), ("--format", "tree", "a", "b"),
                      ("-o", "x.tree", "a", "b"), ("--fail-above", "-1", "a", "b"),
                      ("--fail-above", "5%%", "a", "b"), ("--fail-on", "all", "a", "b")):
            self.ends(2, "diff", *words, says="--help")

    def test_wrong_options_are_named(self):
        for verb in ("report", "diff", "resolve", "doctor"):
            for words, says in ((("--nope",), "unknown option '--nope'"),
                                (("--nope=3",), "unknown option '--nope'"),
                                (("-Q",), "unknown option '-Q'"),
                                (("--help=3",), "option '--help' takes no value")):
                self.ends(2, verb, *words, says=f"stackcam {verb}: {says}; see")
        for words, says in ((("-o",), "option '-o' needs a value"),
                            (("-ho",), "option '-o' needs a value"),
                            (("--out",), "option '--out' needs a value"),
                            (("--format=json", "-hQ"), "unknown option '-Q'"),
                            (("--no-color=1",), "option '--no-color' takes no value"),
                            (("--fo",), "option '--fo' could be --focus or --format")):
            self.ends(2, "report", *words, says=f"stackcam report: {says}; see")

    def test_failures(self):
        self.ends(1, "report", "nowhere.film", says="nowhere.film")
        self.ends(1, "report", "-e", "off-cpu", says="on-cpu")
        self.ends(1, "report", "-o", "no/place.svg", says="no/place.svg")
        self.ends(1, "report", "-o", "other.film", says="other.film")
        self.ends(1, "diff", "stackcam.film", "nowhere.film", says="nowhere.film")

    def test_help(self):
        for verb in ("report", "diff", "resolve", "doctor"):
            done = self.ends(0, verb, "--help")
            self.assertIn("Examples:", done.stdout)
            self.assertTrue(all(len(line) <= 90 for line in done.stdout.splitlines()))

    def test_the_name_decides_on_the_format(self):
        starts = {"x.svg": b"<", "x.html": b"<!", "x.json": b'{"film"', "x.folded": b"part",
                  "x.pb.gz": b"\x1f\x8b", "x.speedscope.json": b'{"$schema"', "x.txt": b"on-cpu"}
        for name, start in starts.items():
            self.ends(0, "report", "-o", name)
            with open(name, "rb") as file:
                self.assertTrue(file.read().lower().startswith(start), name)
        self.ends(0, "report", "-o", "x.svg", "--format", "json")
        with open("x.svg", encoding="utf-8") as file:
            json.load(file)
        with gzip.open("x.pb.gz") as file:
            self.assertTrue(file.read())

    def test_endings_and_formats_that_do_not_fit(self):
        done = self.ends(0, "report", "-o", "x.pb")
        self.assertIn("the ending '.pb' names no format: a table is written", done.stderr)
        for words in (("-o", "x.pb", "--format", "table"), ("-o", "x"), ("-o", "x.txt")):
            self.assertEqual(self.ends(0, "report", *words).stderr, "")
        self.ends(2, "report", "--format", "png", says="unknown format 'png'; the formats are: table")
        films = ("stackcam.film", "other.film")
        self.ends(2, "diff", "-o", "d.tree", *films,
                  says="d.tree: tree cannot hold a comparison of two films; these can: table")
        self.ends(2, "diff", "--format", "tree", *films, says="diff: tree cannot hold")
        done = self.ends(0, "diff", "-o", "d.pb", *films)
        self.assertIn("the ending '.pb' names no format", done.stderr)

    def test_the_filters_of_record(self):
        for short, long in (("-p", "--pid"), ("-t", "--tid"), ("-n", "--comm"), ("-n", "--name")):
            value = {"-p": "1001,1003", "-t": "2005", "-n": "worker-1?"}[short]
            first = self.ends(0, "report", short, value).stdout
            self.assertEqual(first, self.ends(0, "report", long, value).stdout)
            self.assertNotIn("5,000 samples", first)
            self.ends(0, "diff", short, value, "stackcam.film", "other.film")

    def test_losses_are_the_whole_film_s(self):
        self.assertIn("\nlost:   nothing\n", self.ends(0, "report").stdout)
        self.assertIn("\nlost (whole film): nothing\n", self.ends(0, "report", "-p1001").stdout)

    def test_nothing_matches(self):
        for words in (("--focus", "zzz"), ("-p", "9"), ("-t", "9"), ("-n", "9"),
                      ("--from", "9000s"), ("--to", "2001-01-02T00:00:00Z")):
            for form in ("table", "json", "folded", "tree"):
                done = self.ends(0, "report", "--format", form, *words)
                self.assertIn("of the 5,000 samples in stackcam.film nothing matches", done.stderr)
                self.assertIn(words[1], done.stderr)
        self.assertNotIn("Self%", self.ends(0, "report", "-p", "9").stdout)
        self.assertIn("its processes are server-0 (1000), server-1 (1001), ",
                      self.ends(0, "report", "-n", "x").stderr)
        self.assertIn("it was filmed from 2026-01-02 ",
                      self.ends(0, "report", "--from", "9000").stderr)
        done = self.ends(0, "diff", "-p", "9", "stackcam.film", "other.film")
        self.assertIn("samples in stackcam.film nothing matches --pid 9;", done.stderr)
        self.assertIn("samples in other.film nothing matches --pid 9;", done.stderr)
        self.assertEqual(self.ends(0, "report").stderr, "")

    def test_an_empty_film(self):
        subprocess.run([MAKE_FILM, "0", "1", "1", "empty.film"], check=True)
        for words in ((), ("-p", "9")):
            done = self.ends(0, "report", *words, "empty.film")
            self.assertIn("there are no samples in empty.film: what was to be filmed ran too short a time "
                          "for a sample to hit it, or not at all, in the 0 ns of 'make_film'", done.stderr)

    def test_all_formats_agree(self):
        answer = json.loads(self.ends(0, "report", "--format", "json").stdout)
        total = answer["event"]["total"]
        self.assertEqual(sum(f["self"] for f in answer["functions"]), total)
        self.assertEqual(sum(p["total"] for p in answer["processes"]), total)
        folded = self.ends(0, "report", "--format", "folded").stdout.splitlines()
        self.assertEqual(sum(int(line.rpartition(" ")[2]) for line in folded), total)
        scope = json.loads(self.ends(0, "report", "--format", "speedscope").stdout)
        self.assertEqual(sum(scope["profiles"][0]["weights"]), total)

    def test_limits(self):
        def lines(*words):
            return len(self.ends(0, "report", *words).stdout.splitlines())
        self.assertEqual(lines("--limit", "5") + 2, lines("--limit", "7"))
        self.assertGreater(lines("--limit", "0"), lines())

    def test_wide(self):
        for words in (("report",), ("report", "--format", "tree"),
                      ("diff", "stackcam.film", "other.film")):
            self.assertEqual(self.ends(0, *words).stdout, self.ends(0, *words, "--wide").stdout)

    def test_doctor(self):
        done = run("doctor")
        first, empty, *lines = done.stdout.splitlines()
        self.assertEqual(empty, "")
        states = {line.split()[1]: line.split()[0] for line in lines}
        answer = json.loads(run("doctor", "--json").stdout)
        for feature in answer["features"]:
            self.assertIn(feature["state"], ("ok", "missing", "absent", "unknown"))
            self.assertTrue(feature["state"] != "missing" or feature["required"], feature)
            self.assertTrue(feature["state"] != "absent" or not feature["required"], feature)
            self.assertEqual(states[feature["name"]], feature["state"])
        if done.returncode == 0:
            self.assertNotIn("missing", states.values())
            how = "hardware cycles" if states["cycles"] == "ok" else "the CPU clock"
            self.assertTrue(first.startswith("stackcam can record on-CPU profiles here, by " + how))
        else:
            self.assertEqual(done.returncode, 3)
            self.assertTrue(first.startswith("stackcam cannot record here: " + answer["obstacle"]))

    def test_formats_of_calls_agree(self):
        answer = json.loads(self.ends(0, "report", "--format", "json", "calls.film").stdout)
        total = answer["event"]["total"]
        self.assertEqual(answer["event"]["name"], "calls")
        self.assertEqual(sum(f["self"] for f in answer["functions"]), total)
        self.assertEqual(sum(f["calls"] for f in answer["functions"]), answer["calls"]["calls"])
        self.assertEqual(sum(p["total"] for p in answer["processes"]), total)
        for f in answer["functions"]:
            if f["min"] is not None:
                self.assertTrue(f["min"] <= f["p50"] <= f["p99"] <= f["max"], f)
                self.assertTrue(f["min"] <= f["avg"] <= f["max"], f)
            self.assertTrue(f["self"] <= f["total"] and f["on_cpu"] <= f["total"], f)
        folded = self.ends(0, "report", "--format", "folded", "calls.film").stdout.splitlines()
        self.assertEqual(sum(int(line.rpartition(" ")[2]) for line in folded), total)
        for by in ("process", "thread", "image"):
            groups = json.loads(self.ends(0, "report", "--format", "json", "--by", by,
                                          "calls.film").stdout)["groups"]
            self.assertEqual(sum(g["self"] for g in groups), total)
        for form in ("tree", "svg", "html", "pprof", "speedscope", "histogram", "graph"):
            self.assertTrue(run("report", "--format", form, "-o", "x", "calls.film").returncode == 0)

    def test_calls_as_they_are_asked_for(self):
        table = self.ends(0, "report", "calls.film").stdout
        self.assertRegex(table, r"\n +TOTAL +SELF +CALLS +FUNCTION +IMAGE\n")
        wide = self.ends(0, "report", "--columns", "all", "--sort", "calls", "calls.film").stdout
        self.assertIn("P99", wide)
        self.ends(2, "report", "--columns", "speed", "calls.film", says="'speed' is not a list")
        self.ends(2, "report", "--sort", "speed", "calls.film", says="'speed' is none of total")
        self.ends(1, "report", "--sort", "p99", says="not an event of calls")
        self.ends(1, "report", "--format", "graph", says="format graph shows calls")
        self.ends(1, "report", "-e", "on-cpu", "calls.film", says="only calls")
        done = self.ends(0, "report", "--focus", "zzz", "calls.film")
        self.assertRegex(done.stderr, r"of the [\d,]+ calls in calls.film nothing matches --focus")

    def test_spans_of_calls_add_up(self):
        def total(*words):
            done = self.ends(0, "report", "--raw", "--format", "json", *words, "calls.film")
            return json.loads(done.stdout)["event"]["total"]
        for cut in ("10us", "1ms", "7ms"):
            self.assertEqual(total("--to", cut) + total("--from", cut), total())

    def test_diff_of_calls(self):
        films = ("fewer.film", "calls.film")
        self.assertRegex(self.ends(0, "diff", *films).stdout, r"Calls +before")
        answer = json.loads(self.ends(0, "diff", "--format", "json", *films).stdout)
        self.assertTrue(all("before_calls" in f for f in answer["functions"]))
        self.ends(0, "diff", "--fail-above", "0", films[0], films[0])
        self.assertEqual(run("diff", "--fail-above", "0", *films).returncode, 1)

    def test_nobody_reads(self):
        for ignored in (signal.SIG_DFL, signal.SIG_IGN):
            inner, outer = os.pipe()
            os.close(inner)
            done = run("report", stdout=outer, preexec_fn=lambda how=ignored: signal.signal(
                signal.SIGPIPE, how), restore_signals=False)
            os.close(outer)
            self.assertEqual((done.returncode, done.stderr), (-signal.SIGPIPE, ""))

    def test_full_disk(self):
        for words in (("report", "--format", "html"), ("schema",), ("schema", "report")):
            with open("/dev/full", "w", encoding="ascii") as full:
                done = run(*words, stdout=full)
            self.assertEqual(done.returncode, 1)
            self.assertIn("No space left", done.stderr)

    def test_diff(self):
        done = self.ends(0, "diff", "stackcam.film", "other.film")
        self.assertIn("change", done.stdout)
        answer = json.loads(self.ends(0, "diff", "--format", "json", "stackcam.film",
                                      "other.film").stdout)
        for key in ("self_change", "total_change"):
            self.assertTrue(all(-1 <= f[key] <= 1 for f in answer["functions"]))
        self.assertAlmostEqual(sum(f["self_change"] for f in answer["functions"]), 0, places=5)
        for name in ("x.svg", "x.html", "x.folded", "x.json"):
            self.ends(0, "diff", "-o", name, "stackcam.film", "other.film")

    def test_calls_as_they_happened(self):
        def told(verb, *words):
            done = subprocess.run([STACKCAM, verb, *words, "calls.film"], capture_output=True,
                                  check=True)
            return done.stdout

        for form in ("chrome", "perfetto"):
            self.assertTrue(told("report", "--format", form))
            for words in ((), ("--raw",), ("--tid", "2001"), ("--from", "1ms", "--to", "2ms")):
                self.assertEqual(told("report", "--format", form, *words),
                                 told("replay", "--format", form, *words))
            self.assertEqual(told("report", "--format", form, "--focus", "function_[0-4]"),
                             told("replay", "--format", form, "--under", "re:function_[0-4]"))
        for name in ("x.chrome.json", "x.pftrace"):
            self.ends(0, "report", "-o", name, "calls.film")
            with open(name, "rb") as file:
                self.assertEqual(file.read(), told("replay", "--format",
                                                   "chrome" if "chrome" in name else "perfetto"))
        names = {e["name"] for e in json.loads(told("report", "--format", "chrome"))["traceEvents"]
                 if e["ph"] == "X"}
        name = sorted(names)[0]
        left = json.loads(told("report", "--format", "chrome", "--ignore",
                               name.split("(")[0] + "\\("))["traceEvents"]
        self.assertTrue(left)
        self.assertNotIn(name, {event["name"] for event in left})
        done = self.ends(0, "report", "--format", "chrome", "--tid", "9", "calls.film")
        self.assertIn("calls in calls.film nothing matches --tid 9", done.stderr)
        self.assertFalse([e for e in json.loads(done.stdout)["traceEvents"] if e["ph"] == "X"])
        self.ends(1, "report", "--format", "chrome", says="format chrome shows calls, and the film has none")
        self.ends(1, "report", "--format", "perfetto", "-e", "on-cpu", "calls.film", says="only calls")
        for words in (("--by", "process"), ("--lines",), ("--inlines",)):
            self.ends(2, "report", "--format", "chrome", *words, "calls.film", says="--by, --lines")
        self.ends(2, "diff", "--format", "chrome", "a", "b", says="chrome cannot hold")

    def test_other_names_of_flame_graphs(self):
        for form in ("svg", "html"):
            self.assertEqual(self.ends(0, "report", "--format", f"flame-{form}").stdout,
                             self.ends(0, "report", "--format", form).stdout)

    def test_gate(self):
        films = ("stackcam.film", "other.film")
        self.ends(0, "diff", "--fail-above", "0", films[0], films[0])
        self.ends(0, "diff", "--fail-above", "100%", *films)
        done = run("diff", "--fail-above", "0.5%", *films)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the self share of part", done.stderr)
        self.assertIn("change", done.stdout)
        done = run("diff", "--fail-above", "0.5", "--fail-on", "total", *films)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the total share of part", done.stderr)


unittest.main(argv=sys.argv[:1])
