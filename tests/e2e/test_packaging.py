# SPDX-License-Identifier: Apache-2.0
"""Manifests, chart and packages say the same, and what the guide says. tests/distributions builds and uses the packages."""

import fnmatch
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
CHART = DIST / "helm/stackcam"
VERSION = re.search(r"version: '([\d.]+)'", (ROOT / "meson.build").read_text()).group(1)
GUIDE = (ROOT / "doc/guide/install.md").read_text()


def read(path):
    return list(yaml.safe_load_all(path.read_text()))


@pytest.fixture(scope="module")
def render(tmp_path_factory):
    """A function that renders a template of the chart with values, by Go."""
    go = shutil.which("go")
    if not go:
        pytest.skip("no go here")
    program = tmp_path_factory.mktemp("chart") / "render"
    subprocess.run([go, "build", "-o", program, ROOT / "tests/e2e/render_chart.go"], check=True, timeout=120)

    def rendered(name, values):
        chart = read(CHART / "Chart.yaml")[0]
        data = {"Values": values, "Chart": {"AppVersion": chart["appVersion"]},
                "Release": {"Name": "stackcam", "Namespace": "stackcam"}}
        return subprocess.run([program, CHART / "templates" / name], input=json.dumps(data), capture_output=True,
                              text=True, check=True, timeout=60).stdout
    return rendered


def test_chart_is_the_manifest(render):
    """With the chart's own values, it makes what dist/kubernetes has."""
    values = read(CHART / "values.yaml")[0]
    namespace, daemons = read(DIST / "kubernetes/stackcam.yaml")
    assert yaml.safe_load(render("daemonset.yaml", values)) == daemons
    assert namespace["metadata"]["name"] == daemons["metadata"]["namespace"]
    assert "stackcam port-forward" in render("NOTES.txt", values)


def test_values_of_the_chart_are_used(render):
    """Another value of each kind comes out; a template that names none that there is fails."""
    values = read(CHART / "values.yaml")[0]
    values |= {"args": ["agent", "--to", "https://collector:7171"], "capabilities": ["BPF"], "store": "/srv",
               "image": {"repository": "registry/stackcam", "tag": "2", "pullPolicy": "Always"},
               "resources": {}, "nodeSelector": {"a": "b"}, "tolerations": []}
    pod = yaml.safe_load(render("daemonset.yaml", values))["spec"]["template"]["spec"]
    container = pod["containers"][0]
    assert (container["args"], container["resources"]) == (values["args"], {})
    assert (container["image"], container["imagePullPolicy"]) == ("registry/stackcam:2", "Always")
    assert container["securityContext"]["capabilities"]["add"] == ["BPF"]
    assert (pod["nodeSelector"], pod["tolerations"]) == ({"a": "b"}, [])
    assert pod["volumes"][0]["hostPath"]["path"] == "/srv"
    del values["store"]
    with pytest.raises(subprocess.CalledProcessError):
        render("daemonset.yaml", values)


def test_manifest_fits_together():
    """What the API server would refuse, and what stackcam needs."""
    daemons = read(DIST / "kubernetes/stackcam.yaml")[1]
    pod = daemons["spec"]["template"]
    assert daemons["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    container, = pod["spec"]["containers"]
    assert [m["name"] for m in container["volumeMounts"]] == [v["name"] for v in pod["spec"]["volumes"]]
    assert pod["spec"]["hostPID"] and not container["securityContext"]["privileged"]
    # the options of the guide's "podman run", and the one that it says Debian's nodes need
    documented = set(re.findall(r"--cap-add=(\w+)", GUIDE))
    assert "SYS_ADMIN" in documented
    assert set(container["securityContext"]["capabilities"]["add"]) == documented
    # the units give no more, but to drop it
    for unit in (DIST / "systemd").glob("*.service.in"):
        ambient = re.search(r"^AmbientCapabilities=(.*)", unit.read_text(), re.MULTILINE).group(1)
        assert set(ambient.split()) == {f"CAP_{name}" for name in documented}, unit


def test_one_version_everywhere():
    chart = read(CHART / "Chart.yaml")[0]
    assert (chart["version"], chart["appVersion"]) == (VERSION, VERSION)
    assert re.match(rf"stackcam \({re.escape(VERSION)}\)", (DIST / "debian/changelog").read_text())
    assert re.search(rf"^Version: +{re.escape(VERSION)}$", (DIST / "stackcam.spec").read_text(), re.MULTILINE)
    container, = read(DIST / "kubernetes/stackcam.yaml")[1]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"stackcam:{VERSION}"
    named = set(re.findall(r"stackcam[_:-](\d+\.\d+\.\d+)", GUIDE))
    assert named == {VERSION}


def test_dependencies_are_those_of_run_sh():
    """The package builds with what run.sh installs, and the build tools of Debian."""
    source = (ROOT / "scripts/packages.sh").read_text()
    installed = set(re.search(r'^build_packages="(.*?)"', source, re.MULTILINE | re.DOTALL).group(1).split())
    control = (DIST / "debian/control").read_text()
    wanted = re.search(r"^Build-Depends:\n((?: .*\n)+)", control, re.MULTILINE).group(1)
    names = {re.split(r"[ (:<]", line.strip())[0] for line in wanted.replace(",", "").splitlines()}
    assert names - installed == {"debhelper-compat", "dh-sequence-installsysusers", "nodejs", "npm"}


def test_spec_names_what_is_installed(places):
    """What Meson installs is in the list of files of the RPM, and no other file is."""
    build = places[0].parents[1]
    done = subprocess.run(["meson", "introspect", "--installed", build], check=True, capture_output=True, text=True)
    macros = {"%{_sysconfdir}": "/etc", "%{_bindir}": "/usr/local/bin", "%{_libdir}": "/usr/local/lib/x86_64-linux-gnu",
              "%{_unitdir}": "/usr/local/lib/systemd/system", "%{_sysusersdir}": "/usr/local/lib/sysusers.d",
              "%{_datadir}": "/usr/local/share", "%{_docdir}": "/usr/local/share/doc", "%{_mandir}": "/usr/local/share/man"}
    listed = []
    for line in (DIST / "stackcam.spec").read_text().split("%files")[1].split("%changelog")[0].split():
        macro = re.match(r"%{_\w+}", line)
        if macro:
            listed.append(line.replace(macro.group(), macros[macro.group()]) + ("*" if line.endswith("/") else ""))
    unused = set(listed)
    for path in json.loads(done.stdout).values():
        fitting = {pattern for pattern in listed if fnmatch.fnmatch(path, pattern)}
        assert fitting, path
        unused -= fitting
    # the spec installs it itself
    assert unused == {"/etc/stackcam.conf"}
