#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""image.py ARCHIVE FOLDER: the archive of dist/build-image is what the image specification of OCI asks for, skopeo takes
it, and what is in it records this machine as a container does: in its own root, which is read-only, with the capabilities
that doc/guide/install.md names and no others, and with the processes of this machine. FOLDER is for its files."""

import contextlib
import gzip
import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import time
import urllib.request
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
GUIDE = PROJECT / "doc/guide/install.md"
OCI = "application/vnd.oci.image."


def read_blob(files, descriptor, media):
    """What a descriptor names, after a look at its type, its size and its digest."""
    assert descriptor["mediaType"] == OCI + media, descriptor
    algorithm, digest = descriptor["digest"].split(":")
    data = files[f"blobs/{algorithm}/{digest}"]
    assert len(data) == descriptor["size"] and hashlib.sha256(data).hexdigest() == digest
    return data


def check_layout(archive):
    """Returns the image's configuration, and its only layer."""
    with tarfile.open(archive) as tar:
        files = {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}
    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    index = json.loads(files["index.json"])
    assert index["schemaVersion"] == 2 and index["mediaType"] == OCI + "index.v1+json" and len(index["manifests"]) == 1
    descriptor = index["manifests"][0]
    assert descriptor["platform"] == {"architecture": "amd64", "os": "linux"}
    manifest = json.loads(read_blob(files, descriptor, "manifest.v1+json"))
    assert manifest["schemaVersion"] == 2 and manifest["mediaType"] == descriptor["mediaType"]
    assert len(manifest["layers"]) == 1
    config = json.loads(read_blob(files, manifest["config"], "config.v1+json"))
    layer = gzip.decompress(read_blob(files, manifest["layers"][0], "layer.v1.tar+gzip"))
    assert config["rootfs"] == {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]}
    assert (config["architecture"], config["os"], len(config["history"])) == ("amd64", "linux", 1)
    docker = json.loads(files["manifest.json"])
    assert docker[0]["Layers"] == ["blobs/sha256/" + manifest["layers"][0]["digest"][7:]]
    # there is nothing that no descriptor names
    assert len([name for name in files if name.startswith("blobs/")]) == 3
    return config, layer


def documented_capabilities():
    """Those of the guide's "docker run"."""
    return ["cap_" + name.lower() for name in re.findall(r"--cap-add[= ](\w+)", GUIDE.read_text())]


def inside(root, store, entrypoint, *words):
    """The words that run the entrypoint as a runtime does: with /proc, /sys and /dev, a store, and few capabilities."""
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text())
    names = [subprocess.run(["capsh", f"--decode={1 << number:x}"], capture_output=True, text=True,
                            check=True).stdout.strip().split("=")[1] for number in range(last + 1)]
    kept = documented_capabilities()
    assert {"cap_bpf", "cap_perfmon"} <= set(kept) <= set(names), kept
    mounts = "; ".join(["set -e", 'mount --bind "$1" "$1"', 'for f in proc sys dev; do mount --rbind /$f "$1/$f"; done',
                        'mount -t tmpfs tmp "$1/tmp"', 'mount --bind "$2" "$1/var/lib/stackcam"',
                        'mount -o remount,bind,ro "$1"', 'root=$1', "shift 2", 'exec capsh --chroot="$root" "$@"'])
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", mounts, "sh", root, store,
            "--drop=" + ",".join(name for name in names if name not in kept), "--no-new-privs",
            f"--shell={entrypoint}", "--", *words]


def answer(address, token):
    ask = urllib.request.Request(f"{address}api/v1/series?from=-1h&to=now", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(ask, timeout=30) as got:
        return got.read().decode()


def serves(root, store, config, folder):
    """The image's own command, on a free port: the page has samples of this machine."""
    words = inside(root, store, *config["Entrypoint"], *config["Cmd"], "--listen", "127.0.0.1:0", "--store",
                   "/var/lib/stackcam")
    end = time.monotonic() + 120
    with open(folder / "said", "w", encoding="utf-8") as said, subprocess.Popen(words, stderr=said) as serve:
        try:
            address = None
            while time.monotonic() < end and serve.poll() is None:
                address = re.search(r"http://127\.0\.0\.1:\d+/", (folder / "said").read_text())
                if address:
                    lines = [line.split() for line in (store / "tokens").read_text().splitlines()]
                    token = next(line[0] for line in lines if line[1:] == ["read"])
                    with contextlib.suppress(OSError):
                        if re.search(r'"samples":[1-9]', answer(address.group(), token)):
                            break
                time.sleep(0.2)
            else:
                raise AssertionError("no samples: " + (folder / "said").read_text())
        finally:
            serve.terminate()
    assert serve.returncode == 0, serve.returncode


def main():
    archive, folder = sys.argv[1], Path(sys.argv[2]).resolve()
    if shutil.which("skopeo"):
        for kind in ("oci-archive", "docker-archive"):
            subprocess.run(["skopeo", "inspect", f"{kind}:{archive}"], check=True, stdout=subprocess.DEVNULL)
    config, layer = check_layout(archive)
    config = config["config"]
    shutil.rmtree(folder, ignore_errors=True)
    root, store = folder / "root", folder / "store"
    store.mkdir(parents=True)
    with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
        tar.extractall(root)
    for name in ("proc", "sys", "dev"):
        (root / name).mkdir()
    with subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"]) as busy:
        try:
            subprocess.run(inside(root, store, *config["Entrypoint"], "record", "-q", "-p", str(busy.pid), "-d", "1",
                                  "-o", "/var/lib/stackcam/a.film"), check=True)
            report = subprocess.run(inside(root, store, *config["Entrypoint"], "report", "/var/lib/stackcam/a.film"),
                                    check=True, capture_output=True, text=True).stdout
            assert "dash" in report and re.search(r"\d+ complete", report), report
            serves(root, store, config, folder)
        finally:
            busy.kill()


if __name__ == "__main__":
    main()
