# SPDX-License-Identifier: Apache-2.0
"""serve: films without an end, keeps the films, answers; after crashes, with damage, with few privileges."""

import contextlib
import http.client
import json
import os
import re
import select
import shutil
import signal
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from harness import Film, PATIENCE, as_from_a_terminal, name_of, needs_root, running, wait_until
from asking import certificate

NOBODY = 65534

# linux/capability.h
CAPABILITIES = {"dac_read_search": 2, "sys_ptrace": 19, "syslog": 34, "bpf": 39, "perfmon": 38,
                "checkpoint_restore": 40}
OF_THE_RECORDER = sum(1 << number for name, number in CAPABILITIES.items() if name != "perfmon")


class Serving:
    """A running serve."""

    def __init__(self, command, **options):
        self.said = ""
        self.tokens = Path(command[command.index("--store") + 1]) / "tokens"
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        preexec_fn=as_from_a_terminal, **options)
        self.pid = self.process.pid
        os.set_blocking(self.process.stderr.fileno(), False)

    def hear(self, pattern, seconds=PATIENCE):
        """Reads what it says until that fits; returns the match."""
        deadline = time.monotonic() + seconds
        while not (found := re.search(pattern, self.said)):
            select.select([self.process.stderr], [], [], 0.1)
            piece = self.process.stderr.read()
            self.said += (piece or b"").decode(errors="replace")
            assert piece != b"" and time.monotonic() < deadline, f"not said: {pattern}: {self.said}"
        return found

    def ready(self):
        self.url = self.hear(r"the page is at (https?://\S+)/, ")[1]
        return self

    def get(self, path, token=None, **query):
        """What the API answers, to the token that its start made, if no other is given."""
        request = urllib.request.Request(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(query)}")
        token = token or self.made_token("read")
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)

    def post(self, path, allows):
        """What it answers to an empty body, with the token of that kind."""
        request = urllib.request.Request(f"{self.url}/api/v1/{path}", data=b"", method="POST")
        request.add_header("Authorization", f"Bearer {self.made_token(allows)}")
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)

    def made_token(self, allows):
        if self.tokens.exists():
            return re.search(rf"^(\S+) {allows}$", self.tokens.read_text(), re.MULTILINE)[1]
        return None

    def functions(self, **query):
        """Name to (self, total), with its parts of one name added up."""
        found = {}
        for function in self.get("functions", limit=10000, **query)["functions"]:
            name = name_of(function["name"])
            before = found.get(name, (0, 0))
            found[name] = (before[0] + function["self"], before[1] + function["total"])
        return found

    def services(self, **query):
        return {(series["service"], series["labels"])
                for series in self.get("series", **query)["series"]}

    def wait_for_function(self, name, **query):
        assert wait_until(lambda: name in self.functions(**query)), self.functions(**query)

    def tasks(self):
        """What /proc says of each thread."""
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            yield dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines()
                       if ":\t" in line)

    def end(self, number=signal.SIGTERM):
        """Returns its status, and how long it took."""
        begin = time.monotonic()
        self.process.send_signal(number)
        status = self.process.wait(timeout=PATIENCE)
        return status, time.monotonic() - begin


@contextlib.contextmanager
def serving(lab, store, *options, prefix=(), **more):
    serve = Serving([*prefix, lab.stackcam, "serve", "--listen", "127.0.0.1:0", "--store", store,
                     *options], **more)
    try:
        yield serve.ready()
    finally:
        if serve.process.poll() is None:
            serve.process.kill()
        serve.process.wait(timeout=PATIENCE)
        serve.process.stderr.close()


def films_of(store):
    return sorted(path for path in Path(store).glob("films/*/*/*") if path.name.endswith(".film"))


# A film of serve ends when the clock shows the next ten minutes.
FILM_SECONDS = 600


def await_one_film(seconds=30):
    """Waits for the next film's time to begin, if that is to come so soon: what follows is in one film then."""
    left = FILM_SECONDS - time.time() % FILM_SECONDS
    if left < seconds:
        time.sleep(left + 1)


def wait_for_film(store, earlier=()):
    """The film that is being made, once it is there."""
    assert wait_until(lambda: set(films_of(store)) - set(earlier))
    return (set(films_of(store)) - set(earlier)).pop()


def report(lab, film, *options):
    done = lab.run("report", "--format", "json", *options, film)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def functions_of_report(answer):
    found = {}
    for function in answer["functions"]:
        name = name_of(function["name"])
        before = found.get(name, (0, 0))
        found[name] = (before[0] + function["self"], before[1] + function["total"])
    return found


@contextlib.contextmanager
def notify_socket(folder):
    """As systemd listens: an inbox of what is told."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as inbox:
        inbox.bind(str(folder / "notify"))
        os.chmod(folder / "notify", 0o777)
        inbox.settimeout(PATIENCE)
        yield inbox


@needs_root
def test_from_start_to_end(lab, tmp_path):
    """Films, answers, as systemd wants it; a kill -9 and what is there afterwards; the answers are those of report."""
    await_one_film()
    store, config = tmp_path / "store", tmp_path / "serve.conf"
    config.write_text("# a comment\nfrequency = 499\nlabel = env=test\nevent = off-cpu\n"
                      f"service = exe=*/split first\n")
    with notify_socket(tmp_path) as inbox, \
         serving(lab, store, "--config", config, "-e", "on-cpu", "-e", "mem-grow",
                 env=dict(os.environ, NOTIFY_SOCKET=str(tmp_path / "notify"),
                          WATCHDOG_USEC="600000")) as serve:
        assert inbox.recv(4096).startswith(b"READY=1\nSTATUS=http://127.0.0.1:")
        assert inbox.recv(4096) == b"WATCHDOG=1"
        assert subprocess.run([lab.program("split"), "1"], stdout=subprocess.DEVNULL,
                              check=False).returncode == 0
        serve.wait_for_function("f70", comm="split")
        assert serve.services(comm="split") == {("first", "env=test")}
        # what was asked for on the command line: all of it, and nothing of the file
        events = {"on-cpu", "mem-grow"}
        assert wait_until(lambda: events <= set(serve.get("status")["events"]))
        assert "off-cpu" not in serve.get("status")["events"]
        status = serve.get("status")
        assert status["filming"] and status["recorder"]["frequency"] == 499
        assert status["process"]["rss_bytes"] > 0 and status["process"]["cpu_seconds"] > 0

        # the same store cannot be served twice
        done = lab.run("serve", "--listen", "127.0.0.1:0", "--store", store, "--no-record")
        assert done.returncode == 1 and str(store) in done.stderr, done.stderr

        # other rules, for what comes from now on; mistakes change nothing
        config.write_text("frequency = 99\nservice = exe=*/omit second\n")
        serve.process.send_signal(signal.SIGHUP)
        serve.hear("'frequency' was changed: it takes effect at the next start")
        serve.hear("the configuration was read again")
        config.write_text("\nkeep-age = never\n")
        serve.process.send_signal(signal.SIGHUP)
        serve.hear(rf"{config}:2: --keep-age takes a time")
        serve.hear("nothing is changed")
        with running(lab.program("omit"), 20):
            serve.wait_for_function("c30", comm="omit")
            assert serve.services(comm="omit") == {("second", "env=test")}
            assert '"second"' in json.dumps(serve.get("flame", by="service", comm="omit"))
        film = wait_for_film(store)
        killed = time.time()
        serve.end(signal.SIGKILL)

    # what was committed is there; the next film stands beside it
    answer = report(lab, film)
    assert {"main", "f70", "c30"} <= set(functions_of_report(answer))
    assert answer["loss"] == {} or "samples" not in answer["loss"], answer["loss"]
    with serving(lab, store, "--keep-age", "0") as serve:
        # at once: nothing has to be made again
        assert "f70" in serve.functions(comm="split")
        second = wait_for_film(store, [film])
        status, seconds = serve.end()
        assert status == 0 and seconds < 10
    assert not Path(f"{second}-wal").exists(), "a film that was closed is a single file"
    end = report(lab, film)["film"]["end"]
    assert abs(killed - time.mktime(time.strptime(end[:19], "%Y-%m-%dT%H:%M:%S"))) % 3600 < 30

    # one service, whole: the index says of it what report says of the films
    with serving(lab, store, "--no-record") as serve:
        assert not serve.get("status")["filming"]
        for comm in ("split", "omit"):
            theirs = functions_of_report(report(lab, film, "--comm", comm))
            assert {name: sums for name, sums in serve.functions(comm=comm).items()} == theirs
        # what makes programs grow is filmed besides
        grown = json.loads(lab.run("report", "-e", "mem-grow", "--format", "json", film).stdout)
        assert grown["event"]["unit"] == "bytes" and grown["event"]["total"] > 0
        total = sum(report(lab, each)["event"]["total"] for each in (film, second))
        assert serve.get("series")["sum"]["total"] == total


@needs_root
@pytest.mark.parametrize("way", ["root", "user", "ambient"])
def test_with_few_privileges(lab, tmp_path, way):
    """Programs of others, in other places, that start afterwards: they have names all the same."""
    await_one_film()
    store, options, prefix = tmp_path / "store", [], []
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    if way == "user":
        options = ["--user", "nobody"]
    if way == "ambient":
        # as systemd starts it
        setpriv = shutil.which("setpriv")
        if not setpriv:
            pytest.skip("no setpriv")
        caps = ",".join(["-all", *(f"+{name}" for name in CAPABILITIES)])
        prefix = [setpriv, f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
                  f"--inh-caps={caps}", f"--ambient-caps={caps}", f"--bounding-set={caps}"]
        store.mkdir(mode=0o700)
        os.chown(store, NOBODY, NOBODY)
    place = tmp_path / "place"
    place.mkdir()
    elsewhere = f"mount -t tmpfs none {place} && cp {lab.program('omit')} {place}/elsewhere && " \
                f"exec {place}/elsewhere 2"
    with serving(lab, store, "-F", "499", *options, prefix=prefix) as serve:
        programs = [
            subprocess.Popen([lab.program("split"), "2"], stdout=subprocess.DEVNULL, user=4242),
            subprocess.Popen([lab.program("jit"), "2"], stdout=subprocess.DEVNULL),
            subprocess.Popen(["/usr/bin/python3", "-c",
                              "def work():\n  sum(i * i for i in range(10000000))\nwork()"]),
            subprocess.Popen(["unshare", "--mount", "sh", "-c", elsewhere],
                             stdout=subprocess.DEVNULL),
        ]
        for program in programs:
            assert program.wait(timeout=PATIENCE) == 0
        check_threads(list(serve.tasks()), way)
        assert serve.end()[0] == 0
    film, = films_of(store)
    if way != "root":
        assert film.stat().st_uid == NOBODY
    assert film.stat().st_mode & 0o077 == 0
    functions = functions_of_report(report(lab, film))
    assert {"f70", "jit_alpha", "work", "c30"} <= set(functions), functions
    kernel = [f for f in report(lab, film)["functions"] if f["kind"] == "kernel"]
    assert kernel and any("+0x" not in f["name"] for f in kernel), kernel


def check_threads(tasks, way):
    """One thread films, all others have nothing left, that which writes the film, too."""
    filming, = (task for task in tasks if int(task["CapEff"], 16) | int(task["CapPrm"], 16))
    assert int(filming["CapEff"], 16) == OF_THE_RECORDER, filming
    for task in tasks:
        assert int(task["CapPrm"], 16) & ~OF_THE_RECORDER == 0, task
        assert int(task["CapInh"], 16) == int(task["CapAmb"], 16) == 0, task
        if way != "ambient":
            assert int(task["CapBnd"], 16) & ~OF_THE_RECORDER == 0, task
        assert task["NoNewPrivs"] == "1" and task["Seccomp"] == "2", task
        assert task["Uid"].split() == [str(0 if way == "root" else NOBODY)] * 4


# Two processes that wake each other: the recorder's programs run at each switch.
PING_PONG = """
import os
a, b = os.pipe(), os.pipe()
if os.fork():
    while os.write(a[1], b"x") and os.read(b[0], 1): pass
while os.read(a[0], 1) and os.write(b[1], b"x"): pass
"""


def cost_of(pid):
    """Seconds: when, what the process took with its children that ended, what its BPF programs ran, by the kernel."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ran = {}
    for entry in Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(OSError):
            info = dict(line.split(":", 1) for line in entry.read_text().splitlines() if ":" in line)
            if "run_time_ns" in info:
                ran[info["prog_id"]] = int(info["run_time_ns"])
    return (time.monotonic(), sum(int(word) for word in words[11:15]) / os.sysconf("SC_CLK_TCK"), sum(ran.values()) / 1e9)


@needs_root
def test_it_says_what_all_of_it_takes(lab, tmp_path):
    """Threads that answer, and BPF programs, too: as the kernel counts them."""
    with subprocess.Popen(["/usr/bin/python3", "-c", PING_PONG], start_new_session=True) as busy, \
            serving(lab, tmp_path / "store", "-e", "on-cpu,off-cpu", "--camera", "python3*") as serve:
        try:
            assert wait_until(lambda: serve.get("status")["recorder"])
            begin = cost_of(serve.pid)
            first = serve.get("status")
            shares = []
            while len(shares) < 3:  # of none, of ten seconds, of twenty
                serve.get("flame", **{"from": "-1m"})
                status = serve.get("status")
                if status["recorder"] and status["recorder"]["cpu"] not in shares:
                    end, last = cost_of(serve.pid), status
                    shares.append(status["recorder"]["cpu"])
        finally:
            os.killpg(busy.pid, signal.SIGKILL)
    elapsed, cpu, bpf = (b - a for a, b in zip(begin, end))
    assert bpf > 0.02 * elapsed and cpu > 0.02 * elapsed
    assert last["recorder"]["cpu"] == pytest.approx((cpu + bpf) / elapsed, rel=0.1)
    assert last["recorder"]["cpu_bpf"] == pytest.approx(bpf / elapsed, rel=0.1)
    assert last["process"]["cpu_seconds"] - first["process"]["cpu_seconds"] == pytest.approx(cpu, rel=0.1)
    assert last["process"]["bpf_seconds"] - first["process"]["bpf_seconds"] == pytest.approx(bpf, rel=0.1)


@needs_root
def test_damaged_films_are_set_aside(lab, tmp_path):
    """They are a gap; the rest is served. An index that is damaged is made again."""
    store = tmp_path / "store"
    good = lab.film_program("split", options=("-F", "499")).path
    with serving(lab, store, "--no-record"):
        pass
    day = store / "films" / "some-host" / "2026-11-20"
    day.mkdir(parents=True)
    shutil.copy(good, day / "10.film")
    (day / "11.film").write_bytes(b"no film at all" * 1000)
    data = bytearray(good.read_bytes())
    data[len(data) // 2:] = os.urandom(len(data) - len(data) // 2)
    (day / "12.film").write_bytes(data)
    (store / "index.db").write_bytes(b"damaged" * 1000)
    with serving(lab, store, "--no-record", "--keep-age", "0") as serve:
        assert wait_until(lambda: serve.get("status")["store"]["set_aside"] == 2), \
            serve.get("status")
        assert len(list((store / "aside").rglob("*.film"))) >= 1
        assert serve.get("status")["store"]["films"] == 1
        serve.wait_for_function("f70")
        assert serve.end()[0] == 0


@needs_root
def test_a_film_that_is_removed_while_it_is_written(lab, tmp_path):
    """Another one begins within seconds, and the log says so."""
    await_one_film()
    with serving(lab, tmp_path / "store") as serve:
        film = wait_for_film(tmp_path / "store")
        # one that is not made yet could not be made
        assert wait_until(Film(lab.stackcam, film).begun)
        removed = film.open("rb")
        for path in film.parent.glob(film.name + "*"):
            # SQLite's journal comes and goes
            path.unlink(missing_ok=True)
        serve.hear("was removed while it was being written")
        # it may have the name of the one that is gone, whose inode is in use as long as it is open
        assert wait_until(lambda: any(other.stat().st_ino != os.fstat(removed.fileno()).st_ino
                                      for other in films_of(tmp_path / "store")))
        removed.close()
        assert wait_until(lambda: serve.get("status")["filming"])
        assert serve.end()[0] == 0


def test_wrong_usage(lab, tmp_path):
    config = tmp_path / "serve.conf"
    for words, said in ((["--listen", "nowhere"], "--listen takes an address"),
                        (["--keep-age", "5"], "--keep-age takes a time"),
                        (["--keep-size", "7"], "--keep-size takes a size"),
                        (["-e", "magic"], "there is no event 'magic'"),
                        (["--markers", "3"], "--markers takes a number from 0 to 2, not '3'"),
                        (["--label", "no"], "no"),
                        (["--service", "nonsense"], "nonsense"),
                        (["--tls-cert", "x.pem"], "need each other"),
                        (["store"], "'store' is not an option")):
        done = lab.run("serve", *words)
        assert (done.returncode, done.stdout) == (2, ""), done
        assert said in done.stderr and "see 'stackcam serve --help'" in done.stderr, done.stderr
    for text, said in (("magic = 1", ":1: there is no setting 'magic'"),
                       ("\nlisten", ":2: 'listen' needs a value"),
                       ("no-record = yes", ":1: 'no-record' takes no value"),
                       ("config = x", ":1: there is no setting 'config'"),
                       ("a b", ":1: this is not a line 'name = value'")):
        config.write_text(text)
        done = lab.run("serve", "--config", config)
        assert done.returncode == 1 and f"{config}{said}" in done.stderr, done.stderr
    assert lab.run("serve", "--config", tmp_path / "none").returncode == 1


def status_of(serve, path="status", user=None, **options):
    """The HTTP status that curl gets, as another user if one is named."""
    words = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}"]
    for name, value in options.items():
        words += [f"--{name.replace('_', '-')}", value]
    done = subprocess.run([*words, f"{serve.url}/{path}"], capture_output=True, text=True, timeout=PATIENCE,
                          check=False, **(user or {}))
    return int(done.stdout)


@needs_root
def test_what_nobody_can_change(lab, tmp_path):
    """Another user of this machine: nothing, and nothing is shown either, unless --read-open says so."""
    if not shutil.which("curl"):
        pytest.skip("no curl")
    nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    film = tmp_path / "one.film"
    shutil.copy(lab.film_program("split", options=("-F", "499")).path, film)
    film.chmod(0o644)
    store, host = tmp_path / "store", "X-Stackcam-Host: web1"
    pushes = [("api/v1/films", f"@{film}"), ("ingest?name=redis", "main;mine 1000000"),
              ("push.v1.PusherService/Push", "x"), ("v1development/profiles", "x")]

    def try_all(serve, expected):
        for path, body in pushes:
            assert status_of(serve, path, nobody, data_binary=body, header=host) == 401
        # what a program of the machine's own hands over by a header it makes up is no token
        assert status_of(serve, pushes[0][0], nobody, data_binary=pushes[0][1],
                         header="Authorization: Bearer 0123456789abcdef") == 401
        assert [status_of(serve, f"api/v1/{path}", nobody) for path in ("status", "flame", "series")] == [expected] * 3
        assert serve.get("status")["store"]["taken"] == 0

    with serving(lab, store, "--no-record") as serve:
        tokens = store / "tokens"
        assert tokens.stat().st_mode & 0o7777 == 0o600 and tokens.stat().st_uid == 0
        serve.hear(f"the one to read is in {tokens}")
        try_all(serve, 401)
        serve.hear("refused a request from 127.0.0.1: this server takes films only with a token to write")
        made = tokens.read_text()
        bearer = f"Authorization: Bearer {serve.made_token('write')}"
        assert status_of(serve, "api/v1/status", header=bearer) == 403
        config = tmp_path / "curl.conf"
        config.write_text(f'header = "{bearer}"\nheader = "{host}"\n')
        assert status_of(serve, "api/v1/films", data_binary=f"@{film}", config=config) == 200
        assert serve.get("status")["store"]["taken"] == 1
    with serving(lab, store, "--no-record", "--read-open") as serve:
        assert tokens.read_text() == made
        try_all(serve, 200)
    # a token that all can read is none
    own = tmp_path / "own-tokens"
    own.write_text("0123456789abcdef-read read\n")
    own.chmod(0o644)
    with serving(lab, store, "--no-record", "--token-file", own) as serve:
        serve.hear(rf"others can read the tokens in {own} \(mode 0644\): 'chmod 600")


@needs_root
def test_the_address_opens_the_page(lab, tmp_path):
    """On a terminal it has the token; what systemd shows to everybody has not."""
    master, slave = os.openpty()
    store = tmp_path / "store"
    with notify_socket(tmp_path) as inbox:
        process = subprocess.Popen([lab.stackcam, "serve", "--no-record", "--listen", "127.0.0.1:0", "--store", store],
                                   stdin=subprocess.DEVNULL, stderr=slave, preexec_fn=as_from_a_terminal,
                                   env=dict(os.environ, NOTIFY_SOCKET=str(tmp_path / "notify")))
        try:
            status = inbox.recv(4096)
            said = ""
            while not (found := re.search(r"the page is at (http://\S+)/#token=([0-9a-f]{48}), ", said)):
                assert select.select([master], [], [], PATIENCE)[0], said
                said += os.read(master, 4096).decode()
            assert found[2].encode() not in status and found[1].encode() in status
            request = urllib.request.Request(f"{found[1]}/api/v1/status",
                                             headers={"Authorization": f"Bearer {found[2]}"})
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                assert json.load(answer)["filming"] is False
        finally:
            process.terminate()
            assert process.wait(timeout=PATIENCE) == 0
            os.close(master), os.close(slave)


@needs_root
def test_other_addresses_need_a_token(lab, tmp_path):
    store, token = tmp_path / "store", tmp_path / "token"
    done = lab.run("serve", "--no-record", "--store", store, "--listen", "0.0.0.0:0", "--read-open")
    assert done.returncode in (1, 2) and "--read-open" in done.stderr, done.stderr
    with serving(lab, store, "--no-record", "--listen", "0.0.0.0:0") as serve:
        serve.url = serve.url.replace("0.0.0.0", "127.0.0.1")
        serve.hear("without TLS, the tokens .* can be read on their way")
        with pytest.raises(urllib.error.HTTPError, match="401"):
            serve.get("status", token="not-the-one-that-it-made")
        assert serve.get("status")["filming"] is False
    (store / "tokens").unlink()
    token.write_text("correct-horse-battery\n")
    with serving(lab, store, "--no-record", "--listen", "0.0.0.0:0", "--token-file",
                 token) as serve:
        serve.url = serve.url.replace("0.0.0.0", "127.0.0.1")
        for wrong in (None, "correct-horse-batterx"):
            with pytest.raises(urllib.error.HTTPError, match="401"):
                serve.get("status", token=wrong)
        assert serve.get("status", token="correct-horse-battery")["filming"] is False
        # a new one, without a new start
        token.write_text("another-token-for-all\n")
        serve.process.send_signal(signal.SIGHUP)
        serve.hear("the configuration was read again")
        with pytest.raises(urllib.error.HTTPError, match="401"):
            serve.get("status", token="correct-horse-battery")
        assert serve.get("status", token="another-token-for-all")["filming"] is False


@needs_root
def test_other_certificates_without_a_new_start(lab, tmp_path):
    """SIGHUP reads them again; connections go on with theirs, and what is no certificate changes nothing."""
    (one, one_key), (two, two_key) = (certificate(tmp_path, name) for name in ("one", "two"))
    pem, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    shutil.copy(one, pem), shutil.copy(one_key, key)

    def connect(port, trusted):
        connection = http.client.HTTPSConnection(
            "127.0.0.1", port, timeout=PATIENCE, context=ssl.create_default_context(cafile=trusted))
        connection.connect()
        return connection

    def ask(connection):
        connection.request("GET", "/api/v1/status")
        with connection.getresponse() as answer:
            answer.read()
            return answer.status

    with serving(lab, tmp_path / "store", "--no-record", "--read-open", "--tls-cert", pem, "--tls-key", key) as serve:
        port = urllib.parse.urlsplit(serve.url).port
        before = connect(port, one)
        assert ask(before) == 200
        pem.write_text("no certificate")
        serve.process.send_signal(signal.SIGHUP)
        serve.hear("cannot start the web server")
        assert ask(connect(port, one)) == 200
        shutil.copy(two, pem), shutil.copy(two_key, key)
        serve.process.send_signal(signal.SIGHUP)
        serve.hear("the configuration was read again")
        assert ask(connect(port, two)) == 200
        with pytest.raises(ssl.SSLCertVerificationError):
            connect(port, one)
        assert ask(before) == 200
        assert serve.end()[0] == 0


@needs_root
def test_without_privileges(lab, tmp_path):
    """Nothing can be filmed: status 3, in words. What needs no privileges works."""
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    store = tmp_path / "store"
    store.mkdir()
    os.chown(store, NOBODY, NOBODY)
    nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    done = subprocess.run([lab.stackcam, "serve", "--store", store], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=PATIENCE, check=False, **nobody)
    assert done.returncode == 3 and "run as root" in done.stderr, done.stderr
    with serving(lab, store, "--no-record", **nobody) as serve:
        assert serve.get("status")["filming"] is False
        assert serve.end()[0] == 0


def test_waits_that_go_on_are_there_while_they_do(lab, tmp_path):
    """A thread that waits forever has the time that it has waited so far, before the film ends."""
    await_one_film()
    with running(lab.program("dump"), 100), serving(lab, tmp_path / "store", "-e", "off-cpu") as serve:
        serve.wait_for_function("wait_for_pipe", event="off-cpu")
        first = serve.functions(event="off-cpu")["wait_for_pipe"][1]
        assert wait_until(lambda: serve.functions(event="off-cpu")["wait_for_pipe"][1] > first)

        def spread():
            found = serve.functions(event="off-cpu")
            others = [found[name][1] for name in ("wait_for_socket", "wait_for_network", "wait_for_time")]
            return (max(others) - min(others)) / found["wait_for_pipe"][1]

        # as long as each other, since they began together, but while a list of threads is half written; and idle ones not
        assert wait_until(lambda: spread() < 0.1), serve.functions(event="off-cpu")
        assert "wait_for_event" not in serve.functions(event="off-cpu")
        serve.end()
    film = films_of(tmp_path / "store")[0]
    done = lab.run("report", "-e", "off-cpu", "--by", "wait", "--format", "json", film)
    assert json.loads(done.stdout)["loss"] == {} or "part of a wait" not in done.stdout, done.stdout
