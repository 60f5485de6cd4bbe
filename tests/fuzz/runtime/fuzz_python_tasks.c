// SPDX-License-Identifier: Apache-2.0
/* A file that seems to have the C part of asyncio. Its first byte says of which version. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../check.h"
#include "runtime/python/tasks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64] = "/_asyncio.cpython-3";
	struct image image = {.kind = IMAGE_FILE, .is_elf = true, .path = path};
	struct python_tasks tasks;
	struct fail why = {0};

	if (!size)
		return 0;
	snprintf(path + strlen(path), sizeof(path) - strlen(path), "%u-x.so", data[0] % 20);
	image.fd = memfd_create("fuzz", MFD_CLOEXEC);
	check(image.fd >= 0 && write(image.fd, data + 1, size - 1) == (ssize_t)size - 1);
	if (!python_tasks_of(&tasks, &image, &why))
		check(tasks.site_count && tasks.site_count <= PYTHON_TASKS_SITES_MAX &&
		      tasks.image.state);
	close(image.fd);
	return 0;
}
