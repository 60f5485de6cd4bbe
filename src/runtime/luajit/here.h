/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_LUAJIT_HERE_H
#define RUNTIME_LUAJIT_HERE_H

/*
 * What the kernel side says of a place (bpf/runtime/luajit/place.h), for user space: from the
 * memory of a process.
 */

#include "runtime/luajit/internal.h"

#define LUAJIT_FROM  const struct runtime_at
#define LUAJIT_APART static inline

static inline long luajit_get(const struct runtime_at *at, void *to, uint32_t size,
			      uint64_t address)
{
	return runtime_read(at, to, size, address);
}

static inline uint64_t luajit_recall(const struct runtime_at *at, uint64_t key)
{
	(void)at;
	(void)key;
	return 0;
}

static inline void luajit_remember(const struct runtime_at *at, uint64_t key, uint64_t value)
{
	(void)at;
	(void)key;
	(void)value;
}

static inline long luajit_repeat(uint32_t count, long (*step)(uint32_t i, void *context),
				 void *context)
{
	uint32_t i;

	for (i = 0; i < count && !step(i, context); i++)
		;
	return i;
}

#include "bpf/runtime/luajit/place.h"

#endif
