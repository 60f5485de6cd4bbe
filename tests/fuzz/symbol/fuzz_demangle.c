// SPDX-License-Identifier: Apache-2.0
/* Any name: what comes back is bounded, also in time (libFuzzer's -timeout). */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = malloc(size + 1), *text;

	if (!name)
		return 0;
	memcpy(name, data, size);
	name[size] = 0;
	text = symbol_demangle(name);
	if (!text || strlen(text) > 4096 + 3)
		abort();
	free(text);
	free(name);
	return 0;
}
