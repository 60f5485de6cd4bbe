# SPDX-License-Identifier: Apache-2.0
"""stackcam explain: causes that the kernel, other processes or a database have, which it must name first."""

import subprocess

from harness import needs_root
from test_explain import EVENTS, explained, is_of_machine
from test_flight import memory_group

pytestmark = needs_root

TOUCHES = """
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned long sum;

static __attribute__((noipa)) void touch_all(const volatile char *at, size_t size)
{
	for (size_t i = 0; i < size; i += 4096)
		sum += at[i];
}

int main(int argc, char **argv)
{
	size_t size = 256ul << 20;
	int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	char *at;

	if (argc != 2 || ftruncate(fd, size))
		return 1;
	at = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED || madvise(at, size, MADV_RANDOM))
		return 1;
	for (int i = 0; i < 3; i++)
		touch_all(at, size);
	return sum == 1;
}
"""


def build(tmp_path, source, name):
    (tmp_path / f"{name}.c").write_text(source)
    subprocess.run(["cc", "-O1", "-g", "-o", tmp_path / name, tmp_path / f"{name}.c", "-pthread"], check=True)
    return tmp_path / name


def causes(request):
    """The parts that are the program's, the longest first."""
    return [part for part in request["parts"] if not is_of_machine(part)]


def test_the_kernel_frees_memory_for_a_group_at_its_limit(lab, tmp_path):
    """More of it is freeing than a tenth; of the time on CPU both parts have the function that asked for memory."""
    program = build(tmp_path, TOUCHES, "touches")
    with memory_group(32 << 20) as group:
        film = lab.record(*EVENTS, "--", "sh", "-c", f"echo $$ >{group}/cgroup.procs; exec {program} {tmp_path}/file", hz=999)
    request, = explained(lab, film, "-n", "touches")
    found, = [part for part in request["parts"] if part["kind"] == "reclaim"]
    rest, = [part for part in request["parts"] if part["kind"] == "on-cpu"]
    assert found in causes(request)[:2] and found["duration"] > 0.1 * (found["duration"] + rest["duration"]), request["parts"]
    assert found["functions"][0]["name"] == rest["functions"][0]["name"] == "touch_all", found
    assert f"{group.name} is at its limit" in found["words"], found
    assert found["samples"] + rest["samples"] > 20, (found, rest)
