/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_PUSH_PPROF_H
#define SERVER_PUSH_PPROF_H

#include "server/push_film.h"

/*
 * Reads a profile in the format of pprof, which may be packed by gzip, and makes it a film.
 * Field numbers are those of github.com/google/pprof/proto/profile.proto.
 */
struct push_pprof;

enum {
	PUSH_PPROF_MAX = 64 << 20
}; /* bytes of a profile, unpacked */

/*
 * Looks at the whole profile. size bytes at body must live until push_pprof_free(). Returns 0, or
 * -EBADMSG, -E2BIG or -ENOMEM with *why filled.
 */
int push_pprof_open(const uint8_t *body, size_t size, struct push_pprof **profile,
		    struct fail *why);
void push_pprof_free(struct push_pprof *profile); /* null is allowed */

/* Sets what it says of its time; the rest stays. */
void push_pprof_span(const struct push_pprof *profile, struct push_span *span);

/* Gives its samples to a film. Returns 0, or -EBADMSG or -ENOMEM with *why filled. */
int push_pprof_give(struct push_pprof *profile, const char *service, struct push_film *film,
		    struct fail *why);

#endif
