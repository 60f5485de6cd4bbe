# SPDX-License-Identifier: Apache-2.0
"""trace: what a command executes later is traced, although the command itself has nothing to trace."""
from calls import assert_first_calls, trace
from harness import needs_root


@needs_root
def test_program_that_a_shell_executes(lab):
    program = lab.program("calls_tree")
    film = trace(lab, "-f", "c", "--", "sh", "-c", f"{program}; {program}; exit 5", check=False)
    stderr = film.recording.stderr
    assert film.recording.returncode == 5, stderr
    assert "no function of" in stderr and "executes or loads later" in stderr
    assert_first_calls(film, c=120)


@needs_root
def test_program_that_is_gone_at_once(lab):
    assert_first_calls(trace(lab, "-f", "c", "--", "sh", "-c", lab.program("calls_tree")), c=60)
