/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_REQUESTS_NAMES_H
#define SOURCES_REQUESTS_NAMES_H

#include <stdint.h>

#include "base/map.h"
#include "bpf/requests/abi.h"
#include "film/writer.h"

/* Names of Unix sockets, which the kernel's side tells once each (bpf/requests/unix.h). Bounded. */
struct requests_names {
	struct map by_hash; /* texts */
	uint64_t refused;
};

void requests_names_add(struct requests_names *names, const struct requests_unix_record *record);

/*
 * As in /proc/net/unix, one that does not lead to a file begins with "@". No control character is
 * in it. Null: it is not known. It lives as long as names.
 */
const char *requests_names_find(const struct requests_names *names, uint64_t hash);

/* A film's mark with the name that the server's end of a request has; 0: none, or not known. */
uint32_t requests_names_mark(const struct requests_names *names, struct film_writer *film,
			     const struct film_request *row);

void requests_names_free(struct requests_names *names);

#endif
