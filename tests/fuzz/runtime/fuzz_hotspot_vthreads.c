// SPDX-License-Identifier: Apache-2.0
/* A file that seems to be a JVM's: where its functions are, and where they return. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../check.h"
#include "runtime/hotspot/vthreads.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[] = "/libjvm.so";
	struct image image = {.kind = IMAGE_FILE, .is_elf = true, .path = path};
	struct hotspot_vthreads vthreads;
	struct fail why = {0};

	image.fd = memfd_create("fuzz", MFD_CLOEXEC);
	check(image.fd >= 0 && write(image.fd, data, size) == (ssize_t)size);
	if (!hotspot_vthreads_of(&vthreads, &image, &why))
		check(vthreads.site_count && vthreads.site_count <= HOTSPOT_VTHREADS_SITES_MAX);
	close(image.fd);
	return 0;
}
