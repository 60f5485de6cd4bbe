# SPDX-License-Identifier: Apache-2.0
"""trace: what a command executes later is traced, and what was missed of it is told."""
from harness import needs_root


@needs_root
def test_program_that_a_shell_executes(lab):
    program = lab.program("calls_tree")
    done = lab.run("trace", "-f", "c", "-o", lab.new_film(), "--", "sh", "-c",
                   f"{program}; sleep 1; {program}; exit 5")
    assert done.returncode == 5, done.stderr
    assert "no function of" in done.stderr and "executes or loads later" in done.stderr
    assert "were not seen" in done.stderr and "nothing lost" not in done.stderr
    assert " 0 calls" not in done.stderr


@needs_root
def test_program_that_is_gone_at_once(lab):
    done = lab.run("trace", "-f", "c", "-o", lab.new_film(), "--", "sh", "-c",
                   lab.program("calls_tree"))
    assert done.returncode == 0, done.stderr
    assert "nothing lost" not in done.stderr or " 0 calls" not in done.stderr
