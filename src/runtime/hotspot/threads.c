// SPDX-License-Identifier: Apache-2.0
/*
 * Where a thread of the JVM is found by its thread pointer. It is the value of a pthread key
 * (share/runtime/threadLocalStorage.hpp), of which no table tells: it is looked for in threads that
 * are known.
 */
#include "runtime/hotspot/hotspot.h"

#include <errno.h>

/* At most this many threads are looked at: mostly the first one has it. */
#define THREADS_MAX 16

static bool has(const struct hotspot *jvm, enum hotspot_fact fact)
{
	return jvm->facts[fact] != HOTSPOT_ABSENT;
}

int hotspot_list_threads(const struct runtime_at *at, const struct hotspot *jvm, uint64_t *threads,
			 int most)
{
	uint64_t list, array, length, thread;
	int count = 0;

	if (has(jvm, HOTSPOT_THREADS) && has(jvm, HOTSPOT_THREADS_LENGTH) &&
	    has(jvm, HOTSPOT_THREADS_ARRAY)) {
		if (runtime_read_u64(at, &list, jvm->facts[HOTSPOT_THREADS]) ||
		    hotspot_read_number(at, list + jvm->facts[HOTSPOT_THREADS_LENGTH], 4,
					&length) ||
		    runtime_read_u64(at, &array, list + jvm->facts[HOTSPOT_THREADS_ARRAY]))
			return -EFAULT;
		count = length < (uint64_t)most ? (int)length : most;
		if (runtime_read(at, threads, 8 * (size_t)count, array))
			return -EFAULT;
		return count;
	}
	if (!has(jvm, HOTSPOT_THREADS_FIRST) || !has(jvm, HOTSPOT_THREAD_NEXT) ||
	    runtime_read_u64(at, &thread, jvm->facts[HOTSPOT_THREADS_FIRST]))
		return -EFAULT;
	for (; thread && count < most; count++) {
		threads[count] = thread;
		if (runtime_read_u64(at, &thread, thread + jvm->facts[HOTSPOT_THREAD_NEXT]))
			return -EFAULT;
	}
	return count;
}

int hotspot_read_threads(const struct runtime_at *at, struct hotspot *jvm)
{
	static const enum hotspot_fact needed[] = {HOTSPOT_THREAD_OS, HOTSPOT_THREAD_ANCHOR,
						   HOTSPOT_OS_ID,     HOTSPOT_ANCHOR_SP,
						   HOTSPOT_ANCHOR_PC, HOTSPOT_ANCHOR_FP};
	struct hotspot_data *data = &jvm->data;
	uint64_t threads[THREADS_MAX], os, id;
	int i, count;

	for (i = 0; i < (int)(sizeof(needed) / sizeof(needed[0])); i++)
		if (jvm->facts[needed[i]] > UINT16_MAX)
			return 0;
	count = hotspot_list_threads(at, jvm, threads, THREADS_MAX);
	if (count <= 0)
		return count ? 0 : -EAGAIN;
	data->thread_os = (uint32_t)jvm->facts[HOTSPOT_THREAD_OS];
	data->os_id = (uint32_t)jvm->facts[HOTSPOT_OS_ID];
	data->thread_anchor = (uint32_t)jvm->facts[HOTSPOT_THREAD_ANCHOR];
	data->anchor_sp = (uint32_t)jvm->facts[HOTSPOT_ANCHOR_SP];
	data->anchor_pc = (uint32_t)jvm->facts[HOTSPOT_ANCHOR_PC];
	data->anchor_fp = (uint32_t)jvm->facts[HOTSPOT_ANCHOR_FP];
	for (i = 0; i < count && !data->thread; i++)
		if (!runtime_read_u64(at, &os, threads[i] + data->thread_os) &&
		    !runtime_read_u64(at, &id, os + data->os_id) && id)
			data->thread = runtime_find_key(at, id, threads[i]);
	if (has(jvm, HOTSPOT_WRAPPER_WORDS) && jvm->facts[HOTSPOT_WRAPPER_ANCHOR] <= UINT16_MAX) {
		data->wrapper = 8 * (int32_t)jvm->facts[HOTSPOT_WRAPPER_WORDS];
		data->wrapper_anchor = (uint32_t)jvm->facts[HOTSPOT_WRAPPER_ANCHOR];
	}
	return 0;
}
