// SPDX-License-Identifier: Apache-2.0
/* A profile of pprof that a client pushes becomes a film that is kept nowhere. */
#include <stdlib.h>

#include "server/push_pprof.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct push_origin origin = {.host = "host", .service = "service"};
	struct push_span span = {1000000000, 2000000000};
	struct push_pprof *profile;
	struct push_film *film;
	struct fail why;

	if (push_pprof_open(data, size, &profile, &why))
		return 0;
	push_pprof_span(profile, &span);
	if (push_check_span(&span, 1800000000000000000, &why))
		span = (struct push_span){1000000000, 2000000000};
	if (!push_film_new(NULL, &origin, &span, &film, &why)) {
		push_pprof_give(profile, origin.service, film, &why);
		push_film_close(film, &why);
	}
	push_pprof_free(profile);
	return 0;
}
