// SPDX-License-Identifier: Apache-2.0

/*
 * What processes call themselves, and rules: lines of cgroup, exe, command, comm, container and a
 * rule. There is always a name, it ends within its room, and valid UTF-8 is not cut within a
 * character.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "base/text.h"
#include "query/identity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_utf8(const char *s)
{
	uint32_t point;

	for (size_t step; *s; s += step) {
		step = text_utf8(s, strlen(s), &point);
		if (!step)
			return false;
	}
	return true;
}

static char *next_line(char **at)
{
	char *line = *at, *end = strchr(line, '\n');

	*at = end ? end + 1 : line + strlen(line);
	if (end)
		*end = 0;
	return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t sizes[] = {2, 5, 16, 256};
	char *copy = malloc(size + 1), *at = copy, *rule;
	struct identity *identity = NULL;
	struct film_process process = {.pid = 2000, .parent = 1};
	bool valid;

	if (!copy || identity_new(&identity, NULL)) {
		free(copy);
		return 0;
	}
	memcpy(copy, data, size);
	copy[size] = 0;
	valid = is_utf8(copy);
	process.cgroup = next_line(&at);
	process.exe = next_line(&at);
	process.command = next_line(&at);
	process.comm = next_line(&at);
	process.container = next_line(&at);
	rule = next_line(&at);
	identity_add(identity, rule, NULL);
	for (size_t i = 0; i < 4; i++) {
		char *name = malloc(sizes[i]);

		check(name);
		identity_of(identity, &process, name, sizes[i]);
		check(*name && memchr(name, 0, sizes[i]));
		/* a rule's captures are of any bytes, and so are escapes of a unit's name */
		if (valid && !strchr(rule, '$') && !strchr(process.cgroup, '\\'))
			check(is_utf8(name));
		free(name);
	}
	identity_free(identity);
	free(copy);
	return 0;
}
