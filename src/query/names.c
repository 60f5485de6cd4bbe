// SPDX-License-Identifier: Apache-2.0
#include "query/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *name_pool_add(struct name_pool *pool, const char *s)
{
	char *copy = strdup(s);

	if (!copy || !vec_push(&pool->names, copy)) {
		free(copy);
		return NULL;
	}
	return copy;
}

void name_pool_free(struct name_pool *pool)
{
	vec_foreach (&pool->names, name)
		free(*name);
	vec_free(&pool->names);
}

const char *name_of_cpu(uint32_t cpu, char to[NAME_CPU_SIZE])
{
	if (cpu)
		snprintf(to, NAME_CPU_SIZE, "[CPU %" PRIu32 "]", cpu - 1);
	else
		snprintf(to, NAME_CPU_SIZE, "[unknown CPU]");
	return to;
}

bool name_cpu_number(const char *name, uint32_t *number)
{
	return sscanf(name, "[CPU %" SCNu32 "]", number) == 1;
}

const char *name_truncation(const char *name, size_t *length)
{
	static const char start[] = "[truncated: ";
	size_t all = strlen(name);

	if (all <= sizeof(start) || memcmp(name, start, sizeof(start) - 1) || name[all - 1] != ']')
		return NULL;
	*length = all - sizeof(start);
	return name + sizeof(start) - 1;
}
