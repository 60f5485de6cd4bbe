// SPDX-License-Identifier: Apache-2.0
/*
 * The names that a program publishes of its threads' attributes, and their records, may hold
 * anything.
 */
#include <string.h>

#include "../check.h"
#include "runtime/otel/keys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first byte is the size of a record, which follows; the rest is a process context. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct otel_keys keys;
	char text[OTEL_TEXT_MAX];
	size_t unknown, split, count;

	if (!size)
		return 0;
	split = data[0] < size - 1 ? data[0] : size - 1;
	if (otel_keys_parse(data + 1 + split, size - 1 - split, &keys))
		check(!keys.count);
	check(keys.count <= OTEL_KEYS_MAX);
	for (size_t i = 0; i < keys.count; i++)
		check(!strpbrk(keys.names[i], "=,\n"));
	/* also those of a program that has names for all */
	for (int all = 0; all < 2; all++) {
		count = otel_labels_format(&keys, data + 1, split, text, &unknown);
		check(strlen(text) < sizeof(text) && !strchr(text, '\n'));
		check(!count == !*text && count <= keys.count && unknown <= split / 2);
		keys.count = OTEL_KEYS_MAX;
		for (size_t i = 0; i < keys.count; i++)
			memset(keys.names[i], 'k', OTEL_KEY_BYTES);
	}
	return 0;
}
