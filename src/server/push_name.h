/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_PUSH_NAME_H
#define SERVER_PUSH_NAME_H

#include <stddef.h>
#include <stdint.h>

#include "server/push_film.h"

/*
 * What stands in the address of a request to /ingest, as Pyroscope's clients write it: all
 * hostile.
 */

/*
 * Takes "APP{KEY=VALUE,…}". What APP ends with in Pyroscope, ".cpu" or ".alloc_space", is left in
 * type ("cpu" if there is none), and stays part of the service's name only where it is not such an
 * ending.
 */
enum {
	PUSH_TYPE_MAX = 63
};
void push_name_parse(const char *name, struct push_origin *origin, char type[PUSH_TYPE_MAX + 1]);

/* A time in s, ms, us or ns since 1970, whichever its length says, in ns. Returns 0 or -EINVAL. */
int push_time_parse(const char *text, uint64_t *ns);

/*
 * The part of that name in a body of multipart/form-data, in place. Returns 0, -ENOENT, or
 * -EBADMSG: it is none.
 */
int push_part(const char *content_type, const uint8_t *body, size_t size, const char *name,
	      const uint8_t **part, size_t *part_size);

#endif
