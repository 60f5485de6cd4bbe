# SPDX-License-Identifier: Apache-2.0
"""Pods of Kubernetes by what a node has: made control groups, and a made /var/log in a mount namespace of serve's own."""

import contextlib
import subprocess

from harness import control_group, needs_root, wait_until
from test_serve import serving

UID = "8f2c1b9e-6a3d-4c57-9e10-2b7f4d5a6c3e"
ID = "4f5e6d7c8b9a0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796"
# in a mount namespace of its own, another /var/log
ELSEWHERE = ("unshare", "--mount", "--propagation", "private", "sh", "-c",
             'mount --bind "$0" /var/log && exec "$@"')


@contextlib.contextmanager
def in_container(group, command):
    """A program in the control group that the kubelet and containerd would have made for a container of a pod."""
    pod = group / f"kubepods-besteffort-pod{UID.replace('-', '_')}.slice"
    inner = pod / f"cri-containerd-{ID}.scope"
    inner.mkdir(parents=True)
    process = subprocess.Popen(["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', inner, *command],
                               stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert wait_until(lambda: not (inner / "cgroup.procs").read_text())
        inner.rmdir()
        pod.rmdir()


def labels_of(serve, **query):
    return {row["labels"] for row in serve.get("series", comm="fp", **query)["series"]}


@needs_root
def test_pods_are_labels(lab, tmp_path):
    log = tmp_path / "log"
    (log / "pods" / f"shop_web-7d9f_{UID}" / "app").mkdir(parents=True)
    (log / "containers").mkdir()
    (log / "containers" / f"web-7d9f_shop_app-{ID}.log").symlink_to("nowhere")
    (log / "containers" / f"evil_<script>_x-{ID}.log").symlink_to("nowhere")
    with control_group() as group, in_container(group, [lab.program("fp"), "100"]), \
         serving(lab, tmp_path / "store", "--label", "env=test", prefix=(*ELSEWHERE, log)) as serve:
        expected = "container=app,env=test,namespace=shop,pod=web-7d9f"
        assert wait_until(lambda: labels_of(serve) == {expected}), labels_of(serve)
        # the program names the service, not the pod
        (row,) = serve.get("series", label="pod=web-7d9f", native=1)["series"]
        assert row["service"] == "fp" and row["labels"] == expected
        assert wait_until(lambda: "c30" in serve.functions(label="namespace=shop"))
        assert serve.get("series", label="pod=another")["series"] == []
        answer = serve.get("timeline", group="label.pod")
        assert {row["name"] for row in answer["rows"]} == {"web-7d9f", ""}
        assert sum(row["total"] for row in answer["rows"]) == answer["sum"]["total"]
