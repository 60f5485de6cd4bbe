/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARCH_X86_64_SHAPES_H
#define ARCH_X86_64_SHAPES_H

/* What arch/shapes.h declares and is asked of each byte. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline bool shape_fills(uint8_t byte)
{
	return byte == 0xcc || byte == 0; /* int3 */
}

static inline bool shape_may_pad(uint8_t byte)
{
	/* 90, 66…, 0f 1f…, and cs: in between */
	return byte == 0x90 || byte == 0x66 || byte == 0x0f || byte == 0x2e;
}

/* lea distance(%rip), register */
static inline size_t shape_loads_address(const uint8_t *code, size_t size, int32_t *distance)
{
	if (size < 7 || (code[0] & 0xfb) != 0x48 || code[1] != 0x8d || (code[2] & 0xc7) != 5)
		return 0;
	memcpy(distance, code + 3, sizeof(*distance));
	return 7;
}

#endif
