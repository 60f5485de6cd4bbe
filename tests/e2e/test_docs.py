# SPDX-License-Identifier: Apache-2.0
"""What is written about stackcam is what it does: --help, manual pages, completion, README, the guide."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAN = ROOT / "doc" / "man"
COMPLETION = ROOT / "completions" / "stackcam.bash"
PAGES = sorted(MAN.glob("*.1"))
VERBS = ["record", "trace", "inspect", "report", "explain", "replay", "diff", "play", "resolve", "threads", "top", "serve", "keep", "agent", "upload", "mcp", "schema", "doctor"]
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")


def run(*words, **options):
    return subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, **options)


@pytest.fixture
def stackcam(places):
    return places[0]


def options_of_help(text):
    """The options that lines such as "  -o, --output FILE   words" begin with, and --help itself."""
    found = {"-h", "--help"}
    for line in text.splitlines():
        if re.match(r" {2,8}--?[A-Za-z]", line):
            found.update(OPTION.findall(re.split(r"  +", line.strip())[0]))
    return found


def plain(line):
    """A line of a manual page's source without its markup."""
    line = re.sub(r"\\f[A-Z]", "", line)
    return line.replace(r"\-", "-").replace('"', "").replace("\\ ", " ")


def options_of_page(path):
    """The options in the tags of a manual page's paragraphs (the line behind .TP)."""
    found, lines = set(), path.read_text().splitlines()
    for before, line in zip(lines, lines[1:]):
        # an example's tag is a command line: it begins with no option
        words = re.sub(r"^\.[A-Z]+ ", "", plain(line))
        if before == ".TP" and re.match(r"--?[A-Za-z]", words):
            found.update(OPTION.findall(words.replace(" ,", ",")))
    return found


def complete(*words):
    """What bash offers for the last of the words."""
    script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _stackcam; ' \
             'printf "%s\\n" "${COMPREPLY[@]}"'
    done = run("bash", "--norc", "-c", script, "bash", COMPLETION, "stackcam", *words)
    return set(done.stdout.split())


def test_verbs_are_the_same_everywhere(stackcam):
    text = run(stackcam, "--help").stdout
    assert re.findall(r"^ {2}([a-z]+) {2,}", text, re.MULTILINE) == VERBS
    assert {f"stackcam-{verb}.1" for verb in VERBS} | {"stackcam.1"} == {p.name for p in PAGES}
    assert set(VERBS) <= complete("")
    named = set(re.findall(r"^\.BR stackcam\\-(\w+) \(1\)$", (MAN / "stackcam.1").read_text(),
                           re.MULTILINE))
    assert named == set(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_all_ways_to_the_help_of_a_verb(stackcam, verb):
    text = run(stackcam, verb, "--help").stdout
    assert re.search(r"^  -h, --help +\w", text, re.MULTILINE)
    for words in ((verb, "-h"), ("help", verb)):
        done = run(stackcam, *words)
        assert (done.returncode, done.stdout, done.stderr) == (0, text, "")
    assert complete("help", verb[:3]) >= {verb}


def test_help_of_what_there_is_not(stackcam):
    done = run(stackcam, "help", "film")
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no verb 'film'" in done.stderr
    assert run(stackcam, "help").stdout == run(stackcam, "-h").stdout


@pytest.mark.parametrize("verb", VERBS)
def test_options_are_the_same_everywhere(stackcam, verb):
    wanted = options_of_help(run(stackcam, verb, "--help").stdout)
    assert options_of_page(MAN / f"stackcam-{verb}.1") == wanted, "in the manual page"
    assert complete(verb, "-") == wanted, "in the completion"


@pytest.mark.parametrize("verb", VERBS)
def test_options_of_help_are_taken(stackcam, verb):
    """--help behind an option is reached, so the option is known; what it takes is not tried."""
    values = {"-e": "on-cpu", "--event": "on-cpu", "--format": "json", "--by": "process", "--wait": "lock",
              "--fail-on": "self", "--label": "a=b", "--sort": "self", "--columns": "all", "-n": "x", "--name": "x", "--cgroup": "/", "-o": "x.film",
              "--output": "x.film", "--debug-dir": "/", "--exit": "return", "--service": "comm=x y"}
    for option in options_of_help(run(stackcam, verb, "--help").stdout):
        # an option that takes no value leaves the number as an argument: --help comes before
        for words in ([option, values.get(option, "1"), "--help"], [option, "--help"]):
            done = run(stackcam, verb, *words)
            if done.returncode == 0 and done.stdout.startswith(f"usage: stackcam {verb}"):
                break
        else:
            pytest.fail(f"{verb} {option}: {done.stderr}")


@pytest.mark.parametrize("verb, films", [("report", 1), ("replay", 1), ("diff", 2)])
def test_formats_are_the_same_everywhere(stackcam, verb, films):
    text = run(stackcam, verb, "--help").stdout
    words = re.search(r"--format FORMAT(.*?)[;.]", text, re.DOTALL).group(1)
    wanted = set(re.findall(r"[\w-]+", words.replace("(the default)", "")))
    assert complete(verb, "--format", "") == wanted
    page = plain((MAN / f"stackcam-{verb}.1").read_text())
    for name in wanted:
        # 1, not 2: the usage is right, the film is not there
        done = run(stackcam, verb, "--format", name, *["/nonexistent.film"] * films)
        assert done.returncode == 1, done.stderr
        assert re.search(rf"^\.BR? .*\b{name}\b", page, re.MULTILINE), name


@pytest.mark.parametrize("verb", ["record", "serve", "agent"])
def test_events_are_the_same_everywhere(stackcam, verb):
    """The table of events says which can be filmed; what it has no source for is refused, not offered."""
    text = run(stackcam, verb, "--help").stdout
    rows = re.search(r"^  -e, --event EVENT.*\n((?: {20,}[\w-]+  .*\n)+)", text, re.MULTILINE).group(1)
    events = re.findall(r"^ +([\w-]+)", rows, re.MULTILINE)
    assert events[0] == "on-cpu"
    assert complete(verb, "-e", "") == set(events)
    assert run(stackcam, verb, "-e", ",".join(events), "--help").returncode == 0
    for refused in ("calls", "inuse_space", "on-cpu,", ""):
        done = run(stackcam, verb, "-e", refused)
        assert done.returncode == 2, refused
        assert f"there is: {', '.join(events)}" in done.stderr


def test_values_that_completion_offers_are_taken(stackcam):
    for verb in ("record", "report", "diff"):
        for event in complete(verb, "-e", ""):
            assert run(stackcam, verb, "-e", event, "--help").returncode == 0
    for value in complete("report", "--by", ""):
        assert run(stackcam, "report", "--by", value, "--help").returncode == 0
    for option in ("--sort", "--columns"):
        for value in complete("report", option, ""):
            assert run(stackcam, "report", option, value, "--help").returncode == 0
    for value in complete("diff", "--fail-on", ""):
        assert run(stackcam, "diff", "--fail-on", value, "--help").returncode == 0
    for value in complete("trace", "--exit", ""):
        assert run(stackcam, "trace", "--exit", value, "--help").returncode == 0
    for value in complete("record", "-F", ""):
        assert run(stackcam, "record", "-F", value, "--help").returncode == 0


def test_completion_knows_what_is_there(tmp_path):
    (tmp_path / "x.film").touch()
    (tmp_path / "other.txt").touch()
    (tmp_path / "folder").mkdir()
    for verb in ("report", "diff", "resolve"):
        assert complete(verb, f"{tmp_path}/") == {f"{tmp_path}/x.film", f"{tmp_path}/folder/"}
    assert str(os.getpid()) in complete("record", "-p", str(os.getpid())[:-1])
    assert f"1,{os.getpid()}" in complete("record", "--pid", "=", f"1,{os.getpid()}")
    assert complete("report", "--format", "=", "js") == {"json"}
    assert "/usr/bin/env" in complete("record", "-F", "99", "--", "/usr/bin/en")
    assert not {"--pid", "--all"} & complete("record", "--", "ls", "--")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_manual_pages_are_clean(page):
    commands = []
    if shutil.which("mandoc"):
        commands.append(["mandoc", "-Tlint", "-Wwarning", page])
    if shutil.which("groff"):
        commands.append(["groff", "-man", "-ww", "-Tutf8", "-Kutf8", "-z", page])
    if not commands:
        pytest.skip("neither mandoc nor groff is here")
    for command in commands:
        done = run(*command)
        words = done.stderr + (done.stdout if command[0] == "mandoc" else "")
        assert not words.strip(), words


GUIDE, INTERNALS, BENCHMARKS = (sorted(str(page.relative_to(ROOT)) for page in (ROOT / folder).glob("*.md"))
                    for folder in ("doc/guide", "doc/internals", "doc/benchmarks"))
# English pages, and the same in Chinese
CHINESE = {name: f"doc/zh/{name.removeprefix('doc/')}" for name in ("README.md", *GUIDE)}


def commands_of(text):
    """The commands in the blocks of code of a Markdown text, without comments: lines that begin with "$ ", with those that continue them."""
    for block in re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in re.sub(r"\s*\\\n\s*", " ", block).splitlines():
            if line.startswith("$ "):
                yield re.split(r"\s#\s", line[2:])[0].rstrip()


def code_of(text):
    """The commands of a Markdown text: those in its blocks of code, and code that begins with a verb."""
    yield from commands_of(text)
    yield from re.findall(rf"`(stackcam (?:{'|'.join(VERBS)})\b[^`]*)`", text)


def anchors_of(text):
    """What GitHub calls the headings of a Markdown text, in links."""
    for heading in re.findall(r"^#+ (.*)", text, re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "dist/skill/stackcam/SKILL.md", *GUIDE])
def test_commands_exist(stackcam, name):
    commands = list(code_of((ROOT / name).read_text()))
    assert commands
    for command in commands:
        for path in re.findall(r"(?:^|\s)(\./[\w/.-]+|tests/[\w/.-]+)", command):
            if not path.startswith("./build"):
                assert (ROOT / path).exists(), command
        used = re.search(r"stackcam ([a-z]+)((?: .*)?)$", command)
        if not used or used.group(1) not in VERBS:
            continue
        # what stands behind "--" is another program's, and so is what is quoted
        words = re.sub(r"'[^']*'|\"[^\"]*\"", "", used.group(2).split(" -- ")[0].split("|")[0])
        known = options_of_help(run(stackcam, used.group(1), "--help").stdout)
        assert set(OPTION.findall(words)) <= known, command


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "doc/serve.md", "doc/cases.md", "doc/benchmarks.md",
                                  *GUIDE, *INTERNALS, *BENCHMARKS, *CHINESE.values()])
def test_links_lead_somewhere(name):
    text = (ROOT / name).read_text()
    for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", text):
        page = (ROOT / name).parent / target if target else ROOT / name
        assert page.exists(), target
        assert not anchor or anchor in anchors_of(page.read_text()), f"{target}#{anchor}"
    # files that are named in running text
    for path in re.findall(r"`((?:src|tests|doc|bench|completions)/[\w./-]+\.\w+)`", text):
        assert "NAME" in path or (ROOT / path).exists(), path


@pytest.mark.parametrize("name", CHINESE)
def test_chinese_pages_have_the_same_commands(name):
    """In the same order; comments are in Chinese. Links lead to Chinese pages where they exist, but for that to the page in English."""
    english, chinese = ((ROOT / page).read_text() for page in (name, CHINESE[name]))
    assert list(commands_of(chinese)) == list(commands_of(english))
    assert set(code_of(chinese)) == set(code_of(english))
    folder = Path(CHINESE[name]).parent
    for target in re.findall(r"\]\(([^)#:]+)", chinese):
        page = os.path.normpath(folder / target)
        assert page == name or page not in CHINESE, target
    if Path(name).name == "README.md":
        assert f"]({os.path.relpath(CHINESE[name], Path(name).parent)})" in english
        assert f"]({os.path.relpath(name, folder)})" in chinese


def test_benchmarks_are_summed_up():
    sys.path.insert(0, str(ROOT / "bench"))
    import digest  # pylint: disable=import-outside-toplevel

    text = (ROOT / "doc/benchmarks.md").read_text()
    assert text == digest.replaced(text, "digest", digest.digest()), "bench/all --only none"
    assert len(text.splitlines()) <= 300
    names = set(re.findall(r'"([a-z-]+)"', (ROOT / "bench/all").read_text().partition("BENCHMARKS = (")[2].partition(")")[0]))
    assert len(names) > 60 and all(digest.page_of(name) for name in names)


def test_sizes_of_a_fleet_are_those_of_the_figures():
    """The tables of the page, in both languages, are what its script makes from what was measured."""
    done = run(ROOT / "bench/fleet-sizing", "--check")
    assert done.returncode == 0, done.stderr


def pictures():
    return json.loads((ROOT / "doc/pictures/pictures.json").read_text())


def test_pictures_are_those_of_the_script():
    """Each is listed as scripts/pictures has made it, is small, and stands in a page of both languages."""
    listed = pictures()
    files = {path.name: path for path in (ROOT / "doc/pictures").iterdir() if path.name != "pictures.json"}
    assert set(listed) == set(files)
    for name, path in files.items():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == listed[name]["sha256"], f"{name}: scripts/pictures makes it"
        assert path.stat().st_size < (1_500_000 if name == "cause.webp" else 200_000), name
        assert any(f"pictures/{name})" in (ROOT / page).read_text() and f"pictures/{name})" in (ROOT / chinese).read_text()
                   for page, chinese in CHINESE.items()), name


@pytest.mark.parametrize("name", sorted(pictures()))
def test_pictures_show_the_page_as_it_is(name):
    """The page's own words that were seen in a picture are still the page's."""
    words = "".join(path.read_text() for path in (ROOT / "web/src/text").glob("*en.ts"))
    seen = pictures()[name]["labels"]
    assert {"Overview", "Timeline", "Requests", "Profile", "Compare"} <= set(seen)
    stale = [label for label in seen if f"'{label}'" not in words]
    assert not stale, f"{name} is not current, run scripts/pictures: {stale}"


def test_animation_has_the_commands():
    """The animation shows the tutorial's commands and that which opens the page, in 20 seconds."""
    commands = list(commands_of((ROOT / "doc/guide/tutorial.md").read_text()))[:3]
    assert pictures()["cause.webp"]["commands"] == [*commands, "build/src/stackcam play shop.film"]
    assert commands[1:] == list(commands_of((ROOT / "README.md").read_text()))[2:4]
    data, at, duration = (ROOT / "doc/pictures/cause.webp").read_bytes(), 12, 0
    assert data[:4] == b"RIFF" and data[8:12] == b"WEBP"
    while at < len(data):
        kind, size = data[at:at + 4], int.from_bytes(data[at + 4:at + 8], "little")
        if kind == b"ANMF":
            duration += int.from_bytes(data[at + 20:at + 23], "little")
        at += 8 + size + size % 2
    assert duration == 20_000  # ms


def test_front_door_is_small():
    for page in "README.md", CHINESE["README.md"]:
        assert len((ROOT / page).read_text().splitlines()) <= 150
    assert {str(page.relative_to(ROOT)) for page in (ROOT / "doc/zh").rglob("*.md")} == set(CHINESE.values())
    for folder in "doc/guide", "doc/internals", "doc/zh/guide":
        index = (ROOT / folder / "README.md").read_text()
        for page in (ROOT / folder).glob("[a-z]*.md"):
            assert f"({page.name})" in index, page
