// SPDX-License-Identifier: Apache-2.0
/* What a program publishes of itself may hold anything: what is taken are labels. */
#include <string.h>

#include "../check.h"
#include "resolve/otel_resource.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[OTEL_RESOURCE_SIZE], key[FILM_LABEL_KEY_MAX + 1];
	const char *at = text, *value;
	size_t length;

	if (otel_resource_parse(data, size, text))
		return 0;
	check(*text);
	while ((value = film_labels_next(&at, key, &length)))
		check(film_label_key_ok(key, strlen(key)) && film_label_value_ok(value, length));
	check(!*at);
	return 0;
}
