# SPDX-License-Identifier: Apache-2.0
"""
Programs of other suites of Debian than the one that is installed: newer runtimes, unmodified. Their packages are
unpacked, never installed, into a folder that is the root of their programs, with the libraries that they need: so
these are also processes in another root, as those of containers are.

apt does it all with a folder of its own, so it checks signatures and finds what packages depend on, and neither the
machine's sources nor its packages are touched. The mirror is the one that the machine's own packages come from.
"""

import contextlib
import fcntl
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
PROJECT = Path(__file__).resolve().parents[2]

# Seconds for an index and some hundred MB of packages; and those that a mirror may be silent.
FETCHING, SILENCE = 600, 20

# Folders that cannot be had, and why: a mirror that is silent is not asked by each test.
missing = {}


def mirror():
    """Where the machine's packages come from; None: not from Debian, or nobody knows."""
    asked = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages",
                            "Origin: Debian", "Label: Debian"], capture_output=True, text=True, check=False)
    return next(iter(asked.stdout.split()), None)


def fetch(folder, suites, packages, component="main", alone=False):
    """Downloads packages and, if not alone, all that they depend on. Returns their files, or a string: why not."""
    source = mirror() if shutil.which("apt-get") else None
    if not source or not KEYS.exists():
        return "no packages of Debian here"
    shutil.rmtree(folder / "archives", ignore_errors=True)
    for part in ("lists/partial", "archives/partial"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    # nothing is installed there, so nothing that is needed is left out
    (folder / "status").write_text("")
    (folder / "sources.list").write_text("".join(
        f"deb [signed-by={KEYS}] {source} {suite} {component}\n" for suite in suites))
    options = {
        "Dir::State": folder, "Dir::State::lists": "lists", "Dir::State::status": folder / "status",
        "Dir::Cache": folder, "Dir::Cache::archives": "archives", "Dir::Etc::sourcelist": folder / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null", "Dir::Etc::preferencesparts": "/dev/null",
        "APT::Install-Recommends": "false", "APT::Sandbox::User": "root", "APT::Get::List-Cleanup": "true",
        "Acquire::Languages": "none", "Acquire::PDiffs": "false", "Acquire::Retries": "1",
        "Acquire::http::Timeout": SILENCE, "Acquire::https::Timeout": SILENCE,
    }
    apt = ["apt-get", "-q", "-y", *(word for key, value in options.items() for word in ("-o", f"{key}={value}"))]
    get = ["download"] if alone else ["-t", suites[-1], "--download-only", "install"]
    for words in (["update"], [*get, *packages]):
        with contextlib.suppress(subprocess.TimeoutExpired):
            done = subprocess.run([*apt, *words], capture_output=True, text=True, check=False, timeout=FETCHING,
                                  cwd=folder / "archives", env={**os.environ, "LC_ALL": "C"})
            # an update that got nothing is a warning for apt
            if done.returncode == 0 and "\nW: Failed to fetch" not in "\n" + done.stderr:
                continue
        return f"{packages[0]} of Debian {suites[-1]} could not be fetched"
    return sorted((folder / "archives").glob("*.deb"))


def unpacked(cache, suites, *packages, component="main", alone=False):
    """
    The root folder with these packages ("name" or "name=version") of a suite, which stays in the folder `cache`
    (Lab.suites) for later runs. Skips where they cannot be had. suites: its name, behind those that it builds
    on ("trixie trixie-backports"). component: of the archive; what is in non-free is fetched for tests, and never part of
    stackcam. alone: without what they depend on.
    """
    suites = suites.split()
    cache = Path(cache).resolve()
    cache.mkdir(parents=True, exist_ok=True)
    root = cache / "+".join([suites[-1], *packages])
    with open(cache / "lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if root.exists():
            return root
        index = cache / (f"apt-{suites[-1]}" if component == "main" else f"apt-{suites[-1]}-{component}")
        files = missing[root] if root in missing else fetch(index, suites, packages, component, alone)
        if isinstance(files, str):
            missing[root] = files
            pytest.skip(files)
        new = root.with_name("new")
        shutil.rmtree(new, ignore_errors=True)
        (new / "usr").mkdir(parents=True)
        for name in ("bin", "sbin", "lib", "lib64"):
            (new / "usr" / name).mkdir()
            (new / name).symlink_to(f"usr/{name}")
        for file in files:
            subprocess.run(["dpkg-deb", "-x", file, new], check=True)
        shutil.rmtree(index / "archives")  # they are not needed any more
        new.rename(root)
    return root


def inside(root, *command, also=()):
    """
    The words that run a command in that root folder, with the pid of who executes them. /proc, /dev, /sys, the folder
    of temporary files, that of the project and those in `also` are there as they are here; what is mounted for that
    goes with the process.
    """
    folders = {"/proc", "/dev", "/sys", "/tmp", tempfile.gettempdir(), str(PROJECT), *map(str, also)}
    # one that is in another one is there already
    tops = sorted(a for a in folders if not any(a.startswith(b + "/") for b in folders))
    for folder in tops:
        (root / folder[1:]).mkdir(parents=True, exist_ok=True)
    mounts = "".join(f"mount --rbind {shlex.quote(folder)} {shlex.quote(f'{root}{folder}')} && " for folder in tops)
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c",
            mounts + f'exec chroot {shlex.quote(str(root))} "$@"', "sh", *map(str, command)]
