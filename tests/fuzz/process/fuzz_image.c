// SPDX-License-Identifier: Apache-2.0
/* The reader of ELF headers and notes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "process/image_open.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* of exactly this size, so that a read behind it is seen */
	uint8_t *copy = malloc(size ? size : 1);
	struct image image = {.fd = -1, .memory = copy, .memory_size = size};
	uint64_t bias;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	if (image_read_elf(&image) || image.build_id_size > IMAGE_BUILD_ID_MAX)
		abort();
	for (uint64_t offset = 0; offset < 0x10000; offset += 0x800)
		image_bias(&image, 0x7f0000000000 + offset, offset, &bias);
	image_bias(&image, UINT64_MAX, UINT64_MAX, &bias);
	free(image.segments);
	free(copy);
	return 0;
}
