// SPDX-License-Identifier: Apache-2.0
/* A profile of pprof that a client pushes becomes a film that is kept nowhere. */
#include <stdlib.h>

#include "exchange/pprof/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct import_origin origin = {.host = "host", .service = "service"};
	struct import_span span = {1000000000, 2000000000};
	struct pprof_reader *profile;
	struct import *film;
	struct fail why;

	if (pprof_reader_open(data, size, &profile, &why))
		return 0;
	pprof_reader_span(profile, &span);
	if (import_check_span(&span, 1800000000000000000, &why))
		span = (struct import_span){1000000000, 2000000000};
	if (!import_new(NULL, &origin, &span, &film, &why)) {
		pprof_reader_import(profile, origin.service, film, &why);
		import_close(film, &why);
	}
	pprof_reader_free(profile);
	return 0;
}
