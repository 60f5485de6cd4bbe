// SPDX-License-Identifier: Apache-2.0
/* A perf map. Whatever is named, some line of the map must say so. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/batch.h"
#include "symbol/perf_map.h"

#define ADDRESSES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t addresses[ADDRESSES];
	struct batch batch;
	int fd = memfd_create("fuzz", MFD_CLOEXEC), err;

	check(fd >= 0 && write(fd, data, size) == (ssize_t)size && !lseek(fd, 0, SEEK_SET));
	for (size_t i = 0; i < ADDRESSES; i++)
		addresses[i] = i < ADDRESSES / 2 ? i * 0x10 : 0x1000 + i * 4;
	check(!batch_make(&batch, addresses, ADDRESSES));
	err = perf_map_read(fd, &batch);
	check(!err || err == -E2BIG);
	for (size_t i = 0; i < batch.count; i++) {
		const char *name = batch.at[i].name;

		if (name)
			check(name[0] && !strchr(name, '\n') &&
			      memmem(data, size, name, strlen(name)));
	}
	batch_free(&batch);
	close(fd);
	return 0;
}
