// SPDX-License-Identifier: Apache-2.0
/* A configuration: what is taken is a part of the text, and names are names. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct text {
	const char *at;
	size_t size;
};

static int take(void *context, const char *name, const char *value, struct fail *why)
{
	const struct text *text = context;

	if (name < text->at || name + strlen(name) > text->at + text->size)
		abort();
	if (!*name || strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(name))
		abort();
	if (value &&
	    (value < name || value + strlen(value) > text->at + text->size || strchr(value, '\n')))
		abort();
	return *name == 'x' ? fail(why, -1, NULL, "'%s' is refused", name) : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + 1);
	struct text text = {copy, size};
	struct fail why = {0};

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	copy[size] = 0;
	if (config_parse(copy, size, "x.conf", take, &text, &why) &&
	    strncmp(why.what, "x.conf:", 7))
		abort();
	free(copy);
	return 0;
}
