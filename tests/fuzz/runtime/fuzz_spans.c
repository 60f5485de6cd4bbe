// SPDX-License-Identifier: Apache-2.0
/*
 * What HotSpot has memory for, looked for in memory that holds anything. Addresses wrap around, so
 * that each leads somewhere.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "runtime/hotspot/hotspot.h"
#include "wrapped_memory.h"

#define FACTS 128u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct hotspot jvm;
	struct runtime_spans spans = {0};
	struct memory memory;
	struct runtime_at at = {0};

	if (size <= FACTS)
		return 0;
	memset(&jvm, 0, sizeof(jvm));
	for (size_t i = 0; i < HOTSPOT_FACT_COUNT; i++)
		jvm.facts[i] =
			data[i % FACTS] == 0xff ? HOTSPOT_ABSENT : 8 * (uint64_t)data[i % FACTS];
	jvm.version = data[0] & 1 ? 17 : 11;
	memcpy(&jvm.data.heaps, data,
	       sizeof(jvm.data.heaps) < FACTS ? sizeof(jvm.data.heaps) : FACTS);
	memory = (struct memory){data + FACTS, size - FACTS, 0};
	at.memory = (struct runtime_memory){read_memory, &memory};
	hotspot_spans(&at, &jvm, &spans);
	vec_foreach (&spans.all, span)
		check(span->start < span->end && span->use < RUNTIME_USES);
	vec_free(&spans.all);
	return 0;
}
