/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXCHANGE_PPROF_READER_H
#define EXCHANGE_PPROF_READER_H

#include "exchange/import.h"

/*
 * Reads a profile in the format of pprof, which may be packed by gzip, and makes it a film.
 * Field numbers are those of github.com/google/pprof/proto/profile.proto.
 */
struct pprof_reader;

enum {
	PPROF_READER_MAX = 64 << 20
}; /* bytes of a profile, unpacked */

/*
 * Looks at the whole profile. size bytes at body must live until pprof_reader_free(). Returns 0, or
 * -EBADMSG, -E2BIG or -ENOMEM with *why filled.
 */
int pprof_reader_open(const uint8_t *body, size_t size, struct pprof_reader **profile,
		      struct fail *why);
void pprof_reader_free(struct pprof_reader *profile); /* null is allowed */

/* Sets what it says of its time; the rest stays. */
void pprof_reader_span(const struct pprof_reader *profile, struct import_span *span);

/* Emits its samples to a film. Returns 0, or -EBADMSG or -ENOMEM with *why filled. */
int pprof_reader_import(struct pprof_reader *profile, const char *service, struct import *film,
			struct fail *why);

#endif
