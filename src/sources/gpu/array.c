// SPDX-License-Identifier: Apache-2.0
#include "sources/gpu/array.h"

/* Larger ones than any device has: the description comes from a program. */
#define EXTENT_MAX   (1ull << 24)
#define CHANNELS_MAX 4
#define LEVELS_MAX   25 /* of an extent of that many bits, down to 1 */

/* Bytes of one value (CUarray_format of cuda.h); 0: not known. */
static uint64_t bytes_of_format(uint32_t format)
{
	switch (format) {
	case 0x01: /* integers of 8 bits, without a sign and with one */
	case 0x08:
		return 1;
	case 0x02: /* of 16 bits, and a float of these */
	case 0x09:
	case 0x10:
		return 2;
	case 0x03: /* of 32 bits, and a float of these */
	case 0x0a:
	case 0x20:
		return 4;
	default:
		return 0;
	}
}

/*
 * Each level is half as wide as the one before, down to 1; a dimension that is not there is none.
 */
static uint64_t extent_at(uint64_t extent, uint32_t level)
{
	extent >>= level;
	return extent ? extent : 1;
}

uint64_t gpu_array_bytes(const struct hbm_array *array)
{
	uint64_t value = bytes_of_format(array->format) * array->channels, sum = 0;
	uint32_t levels = array->levels ? array->levels : 1;

	if (array->channels > CHANNELS_MAX || levels > LEVELS_MAX || array->width > EXTENT_MAX ||
	    array->height > EXTENT_MAX || array->depth > EXTENT_MAX ||
	    (array->height && array->depth &&
	     array->width * array->height > (1ull << 46) / array->depth))
		return 0;
	for (uint32_t i = 0; i < levels; i++)
		sum += extent_at(array->width, i) * extent_at(array->height, i) *
		       extent_at(array->depth, i) * value;
	return sum;
}
