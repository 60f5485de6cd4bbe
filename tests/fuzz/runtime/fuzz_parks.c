// SPDX-License-Identifier: Apache-2.0
/*
 * The fields of locks of java.util.concurrent, and of virtual threads, looked for in memory that
 * holds anything. Addresses wrap around, so that each leads somewhere.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/hotspot/hotspot.h"
#include "wrapped_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct hotspot jvm;
	struct lock_park park;
	struct vthreads_process process;
	struct fail why = {0};
	struct memory memory;
	struct runtime_at at = {0};
	uint64_t klass;

	if (size < 128)
		return 0;
	memset(&jvm, 0, sizeof(jvm));
	for (size_t i = 0; i < HOTSPOT_FACT_COUNT; i++)
		jvm.facts[i] = 8 * (uint64_t)data[i % 64];
	jvm.facts[HOTSPOT_SYMBOL_BODY] = data[0] % 10;
	jvm.facts[HOTSPOT_SYMBOL_LENGTH] = data[1] % 8;
	if (data[2] & 1)
		jvm.facts[HOTSPOT_CLASS_FIELD_STREAM] = HOTSPOT_ABSENT;
	memory = (struct memory){data + 64, size - 64, 0};
	at.memory = (struct runtime_memory){read_memory, &memory};
	memcpy(&klass, data + 8, sizeof(klass));
	hotspot_read_objects(&at, &jvm);
	/* flags are seldom the ones */
	jvm.objects = (struct hotspot_objects){true, data[3] & 1, data[3] & 2, false, true};
	hotspot_parks(&at, &jvm, &park);
	hotspot_vthreads(&at, &jvm, data[4], &process, &why);
	hotspot_park_class(&at, &jvm, klass);
	return 0;
}
