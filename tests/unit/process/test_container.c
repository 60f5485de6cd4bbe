// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <string.h>

#include "process/container.h"

#define ID_A "4f5e6d7c8b9a0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796"
#define ID_B "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define POD  "pod8f2c1b9e-6a3d-4c57-9e10-2b7f4d5a6c3e"

static const struct example {
	const char *path, *id;
} examples[] = {
	/* docker, with the cgroupfs and the systemd driver */
	{"/docker/" ID_A, ID_A},
	{"/system.slice/docker-" ID_A ".scope", ID_A},
	{"/system.slice/docker-" ID_A ".scope/init.scope", ID_A},
	/* docker in docker: the inner one */
	{"/docker/" ID_A "/docker/" ID_B, ID_B},
	/* kubernetes: containerd, cri-o, docker */
	{"/kubepods/burstable/" POD "/" ID_A, ID_A},
	{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod8f2c1b9e.slice/"
	 "cri-containerd-" ID_A ".scope",
	 ID_A},
	{"/system.slice/containerd.service/"
	 "kubepods-besteffort-pod8f2c1b9e.slice:cri-containerd:" ID_A,
	 ID_A},
	{"/kubepods.slice/kubepods-pod8f2c1b9e.slice/crio-" ID_A ".scope", ID_A},
	{"/kubepods.slice/kubepods-pod8f2c1b9e.slice/crio-" ID_A ".scope/container", ID_A},
	{"/kubepods.slice/kubepods-pod8f2c1b9e.slice/docker-" ID_A ".scope", ID_A},
	{"/kubepods/" POD, ""},
	{"/k8s.io/" ID_A, ID_A},
	/* podman */
	{"/machine.slice/libpod-" ID_A ".scope", ID_A},
	{"/machine.slice/libpod-" ID_A ".scope/container", ID_A},
	{"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID_A ".scope/container",
	 ID_A},
	{"/libpod_parent/libpod-" ID_A, ID_A},
	/* the watchers stand beside the container */
	{"/machine.slice/libpod-conmon-" ID_A ".scope", ""},
	{"/system.slice/crio-conmon-" ID_A ".scope", ""},
	/* ECS */
	{"/ecs/55091c13-b8cf-4801-b527-f4601742204d/" ID_A, ID_A},
	/* lxc */
	{"/lxc/web1", "web1"},
	{"/lxc/web1/system.slice/cron.service", "web1"},
	{"/lxc.payload.web1", "web1"},
	{"/lxc.payload/web1/init.scope", "web1"},
	{"/lxc.monitor.web1", ""},
	{"/lxc.payload.web1/docker/" ID_A, ID_A},
	/* systemd-nspawn; a virtual machine is not a container */
	{"/machine.slice/machine-debian\\x2dtree.scope", "debian-tree"},
	{"/machine.slice/machine-web.scope/payload/system.slice/cron.service", "web"},
	{"/machine.slice/systemd-nspawn@web\\x2d2.service/payload", "web-2"},
	{"/machine.slice/machine-qemu\\x2d1\\x2dvm.scope", ""},
	/* none */
	{"", ""},
	{"/", ""},
	{"///", ""},
	{"/user.slice/user-1000.slice/session-3.scope", ""},
	{"/system.slice/sshd.service", ""},
	{"/machine.slice", ""},
	{"/lxc", ""},
	{"/lxc.payload.", ""},
	{"/machine-.scope", ""},
	{"/docker/" ID_A "0", ""},
	{"/docker/x" ID_A, ""},
	{"/docker/4F5E6D7C8B9A0F1E2D3C4B5A69788796A5B4C3D2E1F00F1E2D3C4B5A69788796", ""},
	{"/machine-a\\x00b.scope", ""},
	{"/machine-a\\x2.scope", "a\\x2"},
};

static void all_examples(void **state)
{
	char id[256];

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		bool found = container_of_cgroup(examples[i].path, id, sizeof(id));

		if (strcmp(id, examples[i].id))
			print_error("%s: '%s', not '%s'\n", examples[i].path, id, examples[i].id);
		assert_string_equal(id, examples[i].id);
		assert_int_equal(found, *examples[i].id != 0);
	}
}

static void too_long_for_the_caller(void **state)
{
	char id[8];

	(void)state;
	assert_false(container_of_cgroup("/docker/" ID_A, id, sizeof(id)));
	assert_string_equal(id, "");
	assert_true(container_of_cgroup("/lxc/seven77", id, sizeof(id)));
	assert_false(container_of_cgroup("/lxc/eight888", id, sizeof(id)));
	assert_string_equal(id, "");
	/* what does not fit leaves the outer one */
	assert_true(container_of_cgroup("/lxc/web1/machine-inner\\x2done.scope", id, sizeof(id)));
	assert_string_equal(id, "web1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_examples),
		cmocka_unit_test(too_long_for_the_caller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
