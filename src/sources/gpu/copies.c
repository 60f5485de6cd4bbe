// SPDX-License-Identifier: Apache-2.0
#include "sources/gpu/copies.h"

#include <stddef.h>

#include "../inject/gpu_places.h"

/* As CUpti_ActivityMemcpyKind counts them (cupti_activity.h). */
static const struct {
	const char *name;
	const char *pageable; /* of host memory that the driver must copy once more */
} directions[GPU_COPY_DIRECTIONS] = {
	[1] = {"[copy host to device]", "[copy pageable host memory to device]"},
	[2] = {"[copy device to host]", "[copy device to pageable host memory]"},
	[3] = {"[copy host to array]", "[copy pageable host memory to array]"},
	[4] = {"[copy array to host]", "[copy array to pageable host memory]"},
	[5] = {"[copy array to array]", NULL},
	[6] = {"[copy array to device]", NULL},
	[7] = {"[copy device to array]", NULL},
	[8] = {"[copy within the device]", NULL},
	[9] = {"[copy host to host]", NULL},
	[10] = {"[copy to another device]", NULL},
	[GPU_COPY_SET] = {"[set memory]", NULL},
};

const char *gpu_copy_name(uint64_t work)
{
	size_t direction = work / 2 % GPU_COPY_DIRECTIONS;
	const char *pageable = directions[direction].pageable;

	if (work / 2 / GPU_COPY_DIRECTIONS == 1 && pageable)
		return pageable;
	return directions[direction].name ? directions[direction].name : "[copy]";
}
