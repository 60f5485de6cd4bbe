# SPDX-License-Identifier: Apache-2.0
"""Films on object storage: s3rver, of npm, and a stand-in that fails in each way that there is."""

import json
import os
import re
import shutil
import socket
import subprocess
import urllib.request

import pytest

import npm
from bucket_server import KEYS, KEY_ID, SECRET, bucket_server
from harness import PATIENCE, free_port, needs_root, wait_until
from test_serve import serving

S3RVER = "s3rver@3.7.1"
# its own, which it knows by itself
S3RVER_KEYS = {"AWS_ACCESS_KEY_ID": "S3RVER", "AWS_SECRET_ACCESS_KEY": "S3RVER"}


def is_listening(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def s3rver(request, tmp_path_factory):
    """The address of a bucket of s3rver, which npm fetches once for each build folder."""
    program = npm.modules(request.config.getoption("--build"), "s3rver", S3RVER) / "s3rver/bin/s3rver.js"
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
    ("GET", "longer", "get", "size"),
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


@pytest.fixture
def keys(tmp_path):
    file = tmp_path / "keys"
    file.write_text("".join(f"{name}={value}\n" for name, value in KEYS.items()))
    file.chmod(0o600)
    return file


HOURS = ["films/web7/2026-01-02/03.film", "films/web%2B8/2026-01-02/04.film"]


@pytest.fixture
def store(shared_lab, tmp_path):
    """A store with the same film in hours that are over, which serve will pack."""
    film = shared_lab.film_program("split").path
    folder = tmp_path / "store"
    for hour in HOURS:
        (folder / hour).parent.mkdir(parents=True)
        shutil.copy(film, folder / hour)
    return folder


def metrics(serve):
    text = urllib.request.urlopen(f"{serve.url}/metrics", timeout=PATIENCE).read().decode()
    return {name: float(value) for name, value in re.findall(r"^(stackcam_bucket\S+) (\S+)$", text, re.MULTILINE)}


def by_films(serve):
    """An answer that only films can give."""
    return serve.get("functions", comm="split")["sum"]


def test_serve(lab, faulty, keys, store):
    """Films go to the bucket as soon as it takes them, leave the store, and answer again."""
    options = ["--no-record", "--bucket", faulty.address(), "--bucket-keys", keys, "--read-open"]
    faulty.faults["PUT"] = ["slow down", "wrong etag"]
    with serving(lab, store, *options) as serve:
        serve.hear("503 SlowDown; it is tried again until it works")
        serve.hear("films can be kept in the bucket again")
        assert wait_until(lambda: serve.get("status")["bucket"]["here"] == len(HOURS)), serve.get("status")["bucket"]
        status = serve.get("status")["bucket"]
        assert status["trouble"] == "" and (status["put"], status["failed"], status["waiting"]) == (2, 2, 0), status
        counted = metrics(serve)
        for reason in ("busy", "differs"):
            assert counted[f'stackcam_bucket_failures_total{{verb="put",reason="{reason}"}}'] == 1
        assert (counted["stackcam_bucket_put_total"], counted["stackcam_bucket_works"]) == (2, 1)
        samples = by_films(serve)["samples"]
        assert samples > 0 and not faulty.requests["GET"]
        # as they are here, by host, day and hour
        objects = {key: body for key, (body, _) in faulty.objects.items()}
        assert objects == {f"some/prefix/{hour.removeprefix('films/')}": (store / hour).read_bytes() for hour in HOURS}
        assert sum("again" in line for line in serve.said.splitlines()) == 2 and SECRET not in serve.said, serve.said
    for hour in HOURS:
        (store / hour).unlink()
    faulty.faults["GET"] = ["corrupt", "cut"]
    with serving(lab, store, *options) as serve:
        assert serve.get("functions")["sum"]["samples"] == samples
        answer = by_films(serve)
        assert (answer["samples"], answer["films_unread"], answer["films_unfetched"]) == (0, 2, 2), answer
        assert "copy" in serve.hear("stackcam: (.*); it is tried again")[1]
        assert wait_until(lambda: by_films(serve)["films_unfetched"] == 0)
        assert by_films(serve)["samples"] == samples
        serve.hear("films can be read from the bucket again")
        counted = metrics(serve)
        assert counted['stackcam_bucket_failures_total{verb="get",reason="differs"}'] == 1
        assert counted["stackcam_bucket_got_total"] == 2 and counted["stackcam_bucket_unfetched_total"] >= 2
        assert faulty.requests["GET"] == 4, "they are kept for the next question"


def test_serve_with_s3rver(lab, s3rver, store):
    options = ["--no-record", "--bucket", s3rver + "/serve", "--read-open"]
    environment = os.environ | S3RVER_KEYS
    with serving(lab, store, *options, env=environment) as serve:
        assert wait_until(lambda: serve.get("status")["bucket"]["here"] == len(HOURS)), serve.get("status")["bucket"]
        samples = by_films(serve)["samples"]
        assert samples > 0
    for hour in HOURS:
        (store / hour).unlink()
    with serving(lab, store, *options, env=environment) as serve:
        answer = by_films(serve)
        assert (answer["samples"], answer["films_unread"]) == (samples, 0), answer


def test_the_index_is_lost(lab, faulty, keys, store):
    """What serve.md says to do then: with the objects back in the store, all films and sums are there."""
    options = ["--no-record", "--bucket", faulty.address(), "--bucket-keys", keys, "--read-open"]
    with serving(lab, store, *options) as serve:
        assert wait_until(lambda: serve.get("status")["bucket"]["here"] == len(HOURS)), serve.get("status")["bucket"]
        films, sums = by_films(serve), serve.get("functions")["sum"]
    shutil.rmtree(store)
    with serving(lab, store, *options) as serve:
        assert serve.get("functions")["sum"]["samples"] == 0
    for key, (body, _) in faulty.objects.items():
        film = store / "films" / key.removeprefix("some/prefix/")
        film.parent.mkdir(parents=True)
        film.write_bytes(body)
    with serving(lab, store, *options) as serve:
        assert wait_until(lambda: serve.get("status")["bucket"]["here"] == len(HOURS)), serve.get("status")["bucket"]
        assert (by_films(serve), serve.get("functions")["sum"]) == (films, sums)
