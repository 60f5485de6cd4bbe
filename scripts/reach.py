#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""reach.py parts|e2e|tidy [SINCE]: what the files that changed can reach.

parts: parts of test.sh. e2e: files of tests/e2e. tidy: source files for clang-tidy, and for each header that
changed one that includes it (the build folder `build` knows which); files in which only comments changed do not count.

SINCE is a revision. Without it, it is where this branch left its upstream; a branch that has none, or is not ahead of
it, is looked at from the day before its newest commit on, so that a clean checkout looks at what was landed last.
Where that is not in the history at hand, everything has changed.
"""

import fnmatch
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ALL = ["tests/e2e"]

TRACER = ["trace"]
SERVERS = ["access", "upload", "server", "querier", "serve.", "agent", "play", "store", "timeline", "requests_api", "bucket", "sums", "page/test_app"]
SHOWN = ["output", "diff", "trace", "truth", "page", "server", "faults"]

# Files that changed, and words of the names of those tests of e2e that they can reach. The first row that fits is
# taken; what fits none reaches all.
REACH = (
    ("doc/guide/tutorial.md", ["docs", "tutorial"]),
    ("examples/*", ["docs", "tutorial"]),
    ("doc/guide/install.md", ["docs", "packaging"]),
    ("*.md", ["docs"]),
    ("doc/schemas.json", ["schema", "docs"]),
    ("doc/*", ["docs", "test_server.py", "test_timeline.py"]),
    ("completions/*", ["docs"]),
    ("bench/*", []),
    (".ci/*", []),
    ("dist/grafana/*", ["querier"]),
    ("dist/*", ["docs", "packaging", "serve.", "agent"]),
    ("scripts/reach.py", []),
    ("scripts/pictures", ["docs"]),
    ("scripts/terminal.py", ["docs"]),
    ("tests/unit/server/*", ["server"]),
    ("tests/unit/runtime/steps*", ["every_instruction"]),
    ("tests/unit/query/make_turns.c", ["timeline"]),
    ("tests/unit/*", []),
    ("tests/fuzz/*", []),
    ("tests/kernels/*", []),
    ("tests/systemd/*", []),
    ("tests/distributions/*", []),
    ("tests/e2e/page/test_*.py", None),
    ("tests/e2e/page/*", ["page"]),
    ("tests/e2e/test_*.py", None),
    ("tests/e2e/render_chart.go", ["packaging"]),
    ("tests/e2e/calls.py", TRACER),
    ("tests/e2e/asking.py", ["server"]),
    ("tests/e2e/openapi.py", ["server"]),
    ("tests/e2e/querier.py", ["querier"]),
    ("tests/e2e/bucket_server.py", ["bucket"]),
    ("tests/e2e/npm.py", ["bucket", "sums", "page/test_accessible"]),
    ("tests/e2e/clickhouse.py", ["sums"]),
    ("tests/e2e/chdb_server.js", ["sums"]),
    ("tests/e2e/planted.py", ["explain", "spans"]),
    ("tests/e2e/gpu_code.py", ["gpu"]),
    ("tests/e2e/databases.py", ["requests", "explain"]),
    ("web/*", ["page", "play", "test_server.py", "output"]),
    ("src/server/*", SERVERS),
    ("src/store/*", SERVERS),
    ("src/send/*", ["serve.", "agent", "bucket", "sums", "upload"]),
    ("src/mcp/*", ["mcp"]),
    ("src/cmd/schema*", ["schema", "docs"]),
    ("src/cmd/mcp*", ["mcp", "docs"]),
    ("src/show/inspect*", ["inspect", "docs"]),
    ("src/base/shown*", ["inspect"]),
    ("src/show/explain*", ["explain"]),
    ("src/show/states*", SHOWN + ["threads_camera"]),
    ("src/show/*", SHOWN),
    ("src/exchange/*", SHOWN + SERVERS),
    ("src/query/explain*", ["explain", "spans", "mcp", "threads"]),
    ("src/query/histories*", ["explain", "threads"]),
    ("src/query/slices*", SHOWN + SERVERS + ["threads_camera", "explain"]),
    ("src/query/state*", SHOWN + SERVERS + ["threads_camera"]),
    ("src/query/*", SHOWN + SERVERS),
    ("src/symbol/cubin/*", ["gpu"]),
    ("src/runtime/lua*/*", ["lua", "languages", "every_instruction"]),
    ("src/runtime/python/*", ["python", "languages", "every_instruction"]),
    ("src/runtime/hotspot/*", ["java", "languages"]),
    ("src/runtime/v8/*", ["node", "languages"]),
    ("src/runtime/go/*", ["go", "languages", "trace"]),
    ("src/runtime/otel/*", ["thread_context", "requests_context"]),
    ("src/probe/values*", ["inspect"]),
    ("src/probe/abi*", ["inspect"]),
    ("src/probe/shapes*", ["inspect"]),
    ("src/probe/*", TRACER + ["inspect"]),
    ("src/bpf/gpu/*", ["gpu"]),
    ("src/sources/gpu/*", ["gpu", "doctor_process"]),
    ("inject/gpu*", ["gpu"]),
    ("src/bpf/calls/*", TRACER),
    ("src/sources/calls/*", TRACER),
    ("src/attach/uprobe*", TRACER + ["inspect"]),
    ("src/bpf/inspect/*", ["inspect"]),
    ("src/sources/inspect/*", ["inspect"]),
    ("src/cmd/inspect*", ["inspect", "docs"]),
    ("src/cmd/trace*", TRACER + ["docs", "faults"]),
    ("src/cmd/serve*", ["docs", "serve.", "faults", "bucket", "sums"]),
    ("src/cmd/upload*", ["docs", "upload"]),
    ("src/cmd/agent*", ["docs", "agent", "faults", "upload"]),
    ("src/host/*", ["docs", "serve.", "agent", "faults", "bucket"]),
    ("src/cmd/threads*", ["docs", "threads"]),
    ("src/cmd/top.c", ["docs", "test_top.py"]),
    ("src/cmd/terminal*", ["test_top.py"]),
    ("src/cmd/explain*", ["docs", "explain"]),
    ("src/bpf/sched/threads*", ["threads_camera", "offcpu"]),
    ("src/bpf/sched/switch_stack*", ["threads_camera", "offcpu"]),
    ("src/bpf/sched/waker_context*", ["threads_camera", "offcpu"]),
    ("src/sources/sched/lives*", ["threads_camera"]),
    ("src/sources/sched/threads*", ["threads_camera"]),
    ("src/bpf/sched/dump*", ["threads"]),
    ("src/sources/sched/dump*", ["threads"]),
    ("src/cmd/doctor_bucket*", ["docs", "bucket"]),
    ("src/cmd/doctor_sums*", ["docs", "sums"]),
    ("src/host/sums*", ["sums"]),
    ("src/cmd/play*", ["docs", "play", "faults"]),
)

# Folders of which a change is built into stackcam or its tests, and so reaches other kernels.
IN_KERNEL = ("src/arch/", "src/bpf/", "src/attach/", "src/resolve/", "src/sources/", "src/record/", "src/elf/", "src/unwind/", "src/process/", "src/probe/", "tests/kernels/")
NOT_BUILT = ("*.md", "doc/*", "bench/*", ".ci/*", "dist/*", "completions/*")


def git(*words):
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def begin():
    """The revision from which on changes count; None: unknown."""
    ahead = git("merge-base", "HEAD", "@{upstream}")
    if ahead and ahead != git("rev-parse", "HEAD"):
        return ahead
    newest = git("show", "-s", "--format=%ct", "HEAD")
    return git("rev-list", "-1", f"--before={int(newest) - 86400}", "HEAD") or None if newest else None


def changed(since):
    """Paths that changed since a revision, those that are gone too; None: all, as the revision is unknown."""
    committed = git("diff", "--name-only", "--no-renames", since) if since else None
    if committed is None:
        return None
    return sorted({*committed.split("\n"), *git("ls-files", "--others", "--exclude-standard").split("\n")} - {""})


def tests():
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests/e2e").rglob("test_*.py"))


def reached_by(path):
    """Files of tests that a change of that path can reach."""
    for pattern, words in REACH:
        if fnmatch.fnmatch(path, pattern):
            if words is None:
                return [path] if (ROOT / path).exists() else []
            return [test for test in tests() if any(word in test for word in words)]
    if path.startswith("tests/programs/"):
        # those that name the program, or one that is made of it
        stem = Path(path).stem.split("_x86")[0]
        return [test for test in tests() if stem in (ROOT / test).read_text(encoding="utf-8")] or tests()
    return tests()


def e2e(paths):
    reached = {test for path in paths for test in reached_by(path)}
    return ALL if reached == set(tests()) else sorted(reached)


def parts(paths):
    """lint and docs are cheap, and always asked."""
    names = ["lint"]
    if any(not any(fnmatch.fnmatch(path, pattern) for pattern in NOT_BUILT) for path in paths):
        names += ["unit", "replay"]
    if e2e(paths):
        names.append("e2e")
    if any(path.startswith(IN_KERNEL) for path in paths):
        names.append("kernels")
    return names


def includers():
    """Header to the sources of src that include it, as the build folder knows them, those for the kernel apart."""
    found, source = {}, None
    for line in subprocess.run(["ninja", "-C", ROOT / "build", "-t", "deps"], capture_output=True, text=True,
                               check=True).stdout.splitlines():
        path = line.strip().removeprefix("../")
        if not line.startswith(" "):
            source = None
        elif source is None:
            source = path  # the first file that an object depends on
        elif path.startswith("src/") and source.startswith("src/") and not source.endswith(".bpf.c"):
            found.setdefault(path, []).append(source)
    return found


def code_of(text):
    """A source of C without its comments and its white space."""
    found = re.findall(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|//[^\n]*|/\*.*?\*/|\w+|\S', text, re.DOTALL)
    return [token for token in found if not token.startswith(("//", "/*"))]


def moved(since):
    """For each source that has another path since then, its path before."""
    lines = (git("diff", "-M", "--diff-filter=R", "--name-status", since) or "").split("\n")
    return {new: old for _, old, new in (line.split("\t") for line in lines if line)}


def without_includes(text):
    return re.sub(r'^#\s*(?:include ".*"|ifndef \w+_H|define \w+_H)$', "", text, flags=re.MULTILINE)


def has_other_code(path, since, was=None):
    """Whether more than comments of a source has changed; where it was at another path, also more than where things are."""
    before, now = git("show", f"{since}:{was or path}"), ROOT / path
    if before is None or not now.exists():
        return True
    texts = [before, now.read_text(encoding="utf-8")]
    return len({tuple(code_of(without_includes(text) if was else text)) for text in texts}) > 1


def tidy(paths, since):
    """Sources among the paths, and for each header one source that includes it, its own if it has one."""
    before = moved(since)
    paths = [path for path in paths if not fnmatch.fnmatch(path, "src/*.[ch]") or has_other_code(path, since, before.get(path))]
    sources = {path for path in paths if fnmatch.fnmatch(path, "src/*/*.c") and not path.endswith(".bpf.c")}
    headers = [path for path in paths if fnmatch.fnmatch(path, "src/*.h")]
    by_header = includers() if headers else {}
    for header in headers:
        including = by_header.get(header, [])
        sources.update([path for path in including if path == header[:-1] + "c"] or including[:1])
    return sorted(f"/{path}$" for path in sources if (ROOT / path).exists())


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in ("parts", "e2e", "tidy"):
        sys.exit(__doc__)
    what = sys.argv[1]
    since = sys.argv[2] if len(sys.argv) == 3 else begin()
    paths = changed(since)
    if paths is None:
        answer = {"parts": ["lint", "unit", "replay", "e2e", "kernels"], "e2e": ALL,
                  "tidy": [r"/src/[a-z/]*/[a-z_0-9]*\.c$"]}[what]
    else:
        answer = tidy(paths, since) if what == "tidy" else {"parts": parts, "e2e": e2e}[what](paths)
    print(" ".join(answer))


if __name__ == "__main__":
    main()
