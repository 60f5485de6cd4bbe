# SPDX-License-Identifier: Apache-2.0
"""Packages of npm, fetched once for each build folder."""

import shutil
import subprocess
from pathlib import Path

import pytest


def modules(build, name, package):
    """The folder node_modules that has the package, such as "axe-core@4.10.3". name: its folder in the build folder."""
    folder = Path(build).resolve() / name
    if not (folder / "node_modules" / package.rpartition("@")[0]).exists():
        if not shutil.which("npm"):
            pytest.skip("npm is missing")
        folder.mkdir(exist_ok=True)
        done = subprocess.run(["npm", "install", "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund", package],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"npm cannot fetch {package}: {done.stderr[-300:]}")
    return folder / "node_modules"
