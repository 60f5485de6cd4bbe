// SPDX-License-Identifier: Apache-2.0
/* Profiles of OTLP that a client pushes become films that are kept nowhere. */
#include <stdlib.h>
#include <string.h>

#include "server/push_otlp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_origin(const struct push_origin *origin)
{
	if (strnlen(origin->host, sizeof(origin->host)) == sizeof(origin->host) ||
	    strnlen(origin->labels, sizeof(origin->labels)) == sizeof(origin->labels))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct push_otlp *request;
	struct push_film *film;
	struct fail why;

	if (push_otlp_open(data, size, &request, &why))
		return 0;
	for (size_t i = 0; i < push_otlp_count(request); i++) {
		struct push_span span = {1000000000, 2000000000};

		check_origin(push_otlp_origin(request, i));
		push_otlp_span(request, i, &span);
		if (push_check_span(&span, 1800000000000000000, &why))
			span = (struct push_span){1000000000, 2000000000};
		if (push_film_new(NULL, push_otlp_origin(request, i), &span, &film, &why))
			continue;
		push_otlp_give(request, i, film, &why);
		push_film_close(film, &why);
	}
	push_otlp_free(request);
	return 0;
}
