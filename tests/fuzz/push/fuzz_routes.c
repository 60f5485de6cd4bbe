// SPDX-License-Identifier: Apache-2.0
/*
 * Whole requests, by the first byte to one of the three routes; films are made, opened, and removed
 * again.
 */
#include <stdlib.h>

#include "take.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct query query[] = {{"name", "app{env=prod}"}, {NULL, NULL}};
	static route_function *const routes[] = {push_ingest, push_pusher, push_opentelemetry};
	struct pushed pushed = {.err = size & 1 ? -28 : 0};
	struct fail why;

	if (!size)
		return 0;
	push_to(routes[*data % 3], query,
		*data & 4 ? "multipart/form-data; boundary=xx" : "application/x-protobuf", data + 1,
		size - 1, &pushed, &why);
	pushed_free(&pushed);
	return 0;
}
