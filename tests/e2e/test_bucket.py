# SPDX-License-Identifier: Apache-2.0
"""Films on object storage: s3rver, of npm, and a stand-in that fails in each way that there is."""

import json
import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from bucket_server import KEYS, KEY_ID, SECRET, bucket_server
from harness import free_port, wait_until

S3RVER = "s3rver@3.7.1"
# its own, which it knows by itself
S3RVER_KEYS = {"AWS_ACCESS_KEY_ID": "S3RVER", "AWS_SECRET_ACCESS_KEY": "S3RVER"}


def is_listening(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def s3rver(request, tmp_path_factory):
    """The address of a bucket of s3rver, which npm fetches once for each build folder."""
    folder = Path(request.config.getoption("--build")).resolve() / "s3rver"
    program = folder / "node_modules/s3rver/bin/s3rver.js"
    if not program.exists():
        if not shutil.which("npm"):
            pytest.skip("npm is missing")
        folder.mkdir(exist_ok=True)
        done = subprocess.run(["npm", "install", "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund", S3RVER],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"npm cannot fetch {S3RVER}: {done.stderr[-300:]}")
    port = free_port()
    command = ["node", program, "--directory", tmp_path_factory.mktemp("s3"), "--address", "127.0.0.1", "--port", str(port),
               "--configure-bucket", "films"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            assert wait_until(lambda: is_listening(port)), "s3rver does not start"
            yield f"s3+http://films@127.0.0.1:{port}"
        finally:
            process.kill()


@pytest.fixture
def faulty():
    with bucket_server() as server:
        yield server


def doctor(lab, address, *options, keys=KEYS):
    """What doctor says of a bucket: its status, and the state of each step with its words."""
    done = lab.run("doctor", "--bucket", address, "--json", *options, env={"PATH": os.environ["PATH"], **keys})
    for secret in (SECRET, "wrong-secret"):
        assert secret not in done.stdout + done.stderr
    if not done.stdout:
        return done.returncode, done.stderr
    steps = json.loads(done.stdout)["steps"]
    return done.returncode, {step["name"]: (step["state"], step["why"] + step["to_do"]) for step in steps}


def states(steps):
    return [state for state, _ in steps.values()]


def test_doctor_with_s3rver(lab, s3rver):
    for prefix in ("", "/a", "/a b/%41/+~"):
        status, steps = doctor(lab, s3rver + prefix, keys=S3RVER_KEYS)
        assert (status, states(steps)) == (0, ["ok"] * 4), steps
    status, steps = doctor(lab, s3rver, keys=S3RVER_KEYS | {"AWS_ACCESS_KEY_ID": "WRONG"})
    assert (status, states(steps)) == (1, ["failed", "untried", "untried", "untried"]), steps
    assert "403 InvalidAccessKeyId" in steps["put"][1] and "check the keys" in steps["put"][1]
    status, steps = doctor(lab, s3rver.replace("films@", "missing@"), keys=S3RVER_KEYS)
    assert status == 1 and "404 NoSuchBucket" in steps["put"][1] and "create the bucket" in steps["put"][1], steps


def test_signatures(lab, faulty):
    """By a second reading of AWS's description: keys, a session, a region, and names that must be escaped."""
    for prefix in ("", "/some/prefix", "/a%20b/c+d/é~"):
        status, steps = doctor(lab, faulty.address(prefix), keys=KEYS | {"AWS_REGION": "eu-north-1"})
        assert (status, states(steps)) == (0, ["ok"] * 4), steps
    status, steps = doctor(lab, faulty.address(), keys=KEYS | {"AWS_SESSION_TOKEN": "session/token=="})
    assert (status, states(steps)) == (0, ["ok"] * 4), steps
    assert not faulty.objects and faulty.requests["PUT"] == faulty.requests["DELETE"] == 4
    status, steps = doctor(lab, faulty.address(), keys=KEYS | {"AWS_SECRET_ACCESS_KEY": "wrong-secret"})
    assert status == 1 and "403 SignatureDoesNotMatch" in steps["put"][1]


@pytest.mark.parametrize("method, fault, step, words", [
    ("PUT", "slow down", "put", "503 SlowDown"),
    ("PUT", "denied", "put", "403 AccessDenied"),
    ("PUT", "skewed", "put", "set the clock"),
    ("PUT", "hang up", "put", "cannot send to"),
    ("PUT", "wrong etag", "put", "checksum"),
    ("PUT", "shorten", "put", "size"),
    ("PUT", "forget", "put", "404"),
    ("GET", "cut", "get", "cannot read from"),
    ("GET", "corrupt", "get", "copy"),
    ("GET", "error", "get", "500 InternalError"),
    ("DELETE", "denied", "delete", "403 AccessDenied"),
])
def test_faults(lab, faulty, method, fault, step, words):
    faulty.always[method] = fault
    status, steps = doctor(lab, faulty.address())
    assert status == 1 and steps[step][0] == "failed" and words in steps[step][1], steps


def test_keys(lab, tmp_path, faulty):
    """From a file that no other user can read, or from the environment; nowhere else."""
    file = tmp_path / "keys"
    file.write_text(f"[default]\naws_access_key_id = {KEY_ID}\naws_secret_access_key = {SECRET}\n")
    file.chmod(0o600)
    status, steps = doctor(lab, faulty.address(), "--bucket-keys", file, keys={})
    assert (status, states(steps)) == (0, ["ok"] * 4), steps
    file.chmod(0o640)
    status, said = doctor(lab, faulty.address(), "--bucket-keys", file, keys={})
    assert status == 1 and "chmod 600" in said
    status, said = doctor(lab, faulty.address(), keys={})
    assert status == 1 and "--bucket-keys" in said
    for wrong in ("films@host", "s3://host/films", "s3://films@", "s3://films@host/a//b", "s3://films@host/../b", "http://films@host",
                  f"s3://{KEY_ID}:{SECRET}@host/films"):
        status, said = doctor(lab, wrong)
        assert status == 2 and "the address of the bucket is invalid" in said, (wrong, said)
    assert doctor(lab, "s3+http://films@127.0.0.1:1")[1]["put"][0] == "failed"
