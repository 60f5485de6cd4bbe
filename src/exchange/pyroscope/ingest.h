/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXCHANGE_PYROSCOPE_INGEST_H
#define EXCHANGE_PYROSCOPE_INGEST_H

#include <stddef.h>
#include <stdint.h>

#include "exchange/import.h"

/*
 * What stands in the address of a request to /ingest, as Pyroscope's clients write it: all
 * hostile.
 */

/*
 * Parses "APP{KEY=VALUE,…}". What APP ends with in Pyroscope, ".cpu" or ".alloc_space", is left in
 * type ("cpu" if there is none), and stays part of the service's name only where it is not such an
 * ending.
 */
enum {
	INGEST_TYPE_MAX = 63
};
void ingest_name_parse(const char *name, struct import_origin *origin,
		       char type[INGEST_TYPE_MAX + 1]);

/* A time in s, ms, us or ns since 1970, whichever its length says, in ns. Returns 0 or -EINVAL. */
int ingest_time_parse(const char *text, uint64_t *ns);

/*
 * The part of that name in a body of multipart/form-data, in place. Returns 0, -ENOENT, or
 * -EBADMSG: it is none.
 */
int ingest_part(const char *content_type, const uint8_t *body, size_t size, const char *name,
		const uint8_t **part, size_t *part_size);

#endif
