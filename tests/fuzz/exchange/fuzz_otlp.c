// SPDX-License-Identifier: Apache-2.0
/* Profiles of OTLP that a client pushes become films that are kept nowhere. */
#include <stdlib.h>
#include <string.h>

#include "exchange/otlp/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_origin(const struct import_origin *origin)
{
	if (strnlen(origin->host, sizeof(origin->host)) == sizeof(origin->host) ||
	    strnlen(origin->labels, sizeof(origin->labels)) == sizeof(origin->labels))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct otlp_reader *request;
	struct import *film;
	struct fail why;

	if (otlp_reader_open(data, size, &request, &why))
		return 0;
	for (size_t i = 0; i < otlp_reader_count(request); i++) {
		struct import_span span = {1000000000, 2000000000};

		check_origin(otlp_reader_origin(request, i));
		otlp_reader_span(request, i, &span);
		if (import_check_span(&span, 1800000000000000000, &why))
			span = (struct import_span){1000000000, 2000000000};
		if (import_new(NULL, otlp_reader_origin(request, i), &span, &film, &why))
			continue;
		otlp_reader_import(request, i, film, &why);
		import_close(film, &why);
	}
	otlp_reader_free(request);
	return 0;
}
