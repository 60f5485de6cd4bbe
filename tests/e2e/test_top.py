# SPDX-License-Identifier: Apache-2.0
"""stackcam top: what takes most, screen after screen."""

import os
import pty
import re
import select
import signal
import subprocess
import termios
import time

from harness import PATIENCE, needs_root, running

pytestmark = needs_root
ROW = re.compile(r"^ +[\d.,]+ \w+ +([\d.]+)%  (.*)$", re.MULTILINE)


def section(screen, title):
    """Shares and words of the rows below a title, down to the next empty line."""
    rows = screen.partition(title)[2].partition("\n")[2].partition("\n\n")[0]
    return [(float(share), words) for share, words in ROW.findall(rows + "\n")]


def test_functions_waits_and_processes_as_text(lab, tmp_path):
    with running(lab.program("threads"), PATIENCE) as program:
        done = lab.run("top", "-b", "--count", 2, "-d", 1, "-F", 499, "-p", program.pid, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert done.returncode == 0 and not done.stderr, done.stderr
    screens = done.stdout.split("stackcam top, ")
    assert len(screens) == 3 and not screens[0]
    for screen in screens[1:]:
        share, words = section(screen, "on-cpu: hottest function")[0]
        assert share > 10 and re.search(r"\w+ \(threads\)", words), screen
        share, words = section(screen, "Process, by on-cpu")[0]
        assert share == 100 and words == f"threads ({program.pid})", screen
        assert "nothing lost" in screen.splitlines()[0]
    # what a screen is about was a file only while it was opened
    assert not list(tmp_path.iterdir())


class Screen:
    """A terminal that stackcam top draws on."""

    def __init__(self, lab, *options):
        self.master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (20, 70))
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.process = subprocess.Popen([lab.stackcam, "top", "-d", "1", *map(str, options)], stdin=slave, stdout=slave, stderr=subprocess.PIPE)
        self.seen = ""

    def read_until(self, pattern):
        """The text since the last time, up to where that pattern is seen."""
        end = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, self.seen)):
            assert time.monotonic() < end and self.process.poll() is None, self.seen
            if select.select([self.master], [], [], 1)[0]:
                self.seen += os.read(self.master, 65536).decode(errors="replace")
        text, self.seen = self.seen[:found.end()], self.seen[found.end():]
        return text

    def press(self, keys):
        os.write(self.master, keys.encode())

    def ends(self):
        assert self.process.wait(timeout=PATIENCE) == 0, self.process.stderr.read()
        while select.select([self.master], [], [], 0)[0]:
            self.seen += os.read(self.master, 65536).decode(errors="replace")
        assert self.seen.endswith("\033[?25h\033[?1049l") and termios.tcgetattr(self.slave) == self.before
        self.process.stderr.close()
        os.close(self.master)
        os.close(self.slave)


def test_a_terminal_is_drawn_on_and_left_as_it_was(lab):
    with running(lab.program("threads"), PATIENCE) as program:
        screen = Screen(lab, "-p", program.pid)
        text = screen.read_until(r"off-cpu: longest waits[\s\S]*?\033\[J")
        drawn = text.rpartition("\033[H")[2]
        lines = re.sub(r"\033\[[KJ]", "", drawn).splitlines()
        assert len(lines) <= 20 and max(map(len, lines)) <= 70, lines
        screen.press("1")
        # a screen may have been drawn before the key was read
        screens = [screen.read_until(r"\033\[H[\s\S]*?\033\[J") for _ in range(3)]
        assert "on-cpu: " in screens[-1] and "off-cpu: " not in screens[-1], screens
        screen.press(" ")
        screen.read_until(r"stackcam top \(stopped\)")
        screen.press("q")
        screen.ends()


def test_keys_choose_what_is_shown(lab):
    with running(lab.program("threads"), PATIENCE) as program:
        screen = Screen(lab, "-p", program.pid, "-F", 499)
        screen.read_until(r"off-cpu: longest waits[\s\S]*?\033\[J")

        def press(keys, pattern):
            """The screen on which that is seen, without what moves the cursor."""
            screen.press(keys)
            shown = screen.read_until(pattern + r"[\s\S]*?\033\[J").rpartition("\033[H")[2]
            return re.sub(r"\033\[[KJ]|\r", "", shown)

        press(" ", r"stackcam top \(stopped\)")
        assert "q           end" in press("h", "reverse the order") and "on-cpu: " in press("h", "on-cpu: ")
        title = "on-cpu: hottest function"
        by_name = section(press(">", "by name"), title)
        assert len(by_name) > 1 and [words for _, words in by_name] == sorted(words for _, words in by_name), by_name
        largest = section(press("<", title), title)
        assert [share for share, _ in largest] == sorted((share for share, _ in largest), reverse=True)
        smallest = section(press("R", "by value, reversed"), title)
        assert [share for share, _ in smallest] == sorted(share for share, _ in smallest)
        assert "off-cpu: " not in press("R\033[C", r"\(stopped\)")
        assert title not in press("\t", "off-cpu: ")
        assert title in press("\t", "off-cpu: ") and title not in press("\033[D", "off-cpu: ")
        # what was typed before Escape does not count, and neither does what was erased
        press("0/sleep", "PID; none: all\\): sleep_")
        assert "of processes" not in press("\033", "off-cpu: ")
        assert "Nothing was recorded" in press("/no-such\xfcx\x7f\x7f*\n", r"of processes no-such\*")
        # the line that says so takes the room of a row
        assert section(press(f"/{program.pid}\n", f"of processes {program.pid}"), title) == largest[:3]
        assert "of processes" not in press("/\n", "off-cpu: ")
        screen.press("q")
        screen.ends()


def test_a_signal_ends_it(lab):
    with running(lab.program("threads"), PATIENCE) as program:
        screen = Screen(lab, "-p", program.pid)
        screen.read_until("on-cpu: hottest function")
        screen.process.send_signal(signal.SIGINT)
        screen.ends()


def test_wrong_usage(lab):
    for options in (["-d", "100ms"], ["--count", "0"], ["true"], ["-e", "no-event"], ["-F", "0"]):
        done = lab.run("top", *options)
        assert done.returncode == 2 and done.stderr.startswith("stackcam top: "), done
