/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_NAMER_H
#define HOST_NAMER_H

#include "base/fail.h"
#include "host/debug_server.h"
#include "store/store.h"

/*
 * A thread that gives a store names of builds that its films have places of (store/names.h), from a
 * folder of debug files, DIR/.build-id/ab/cdef.debug, or from debuginfod servers, each once. It
 * looks every few seconds, and for those that were not there again after ten minutes.
 */
struct namer;

struct namer_options {
	struct store *store; /* which must outlive the namer */
	const char *folder;  /* null: none */
	/* the store's folder, if servers are asked (debug_server_settings()); else null */
	const char *cached_in;
};

/* Strings are copied. *namer is null after an error. */
int namer_start(const struct namer_options *options, struct namer **namer, struct fail *why);
/* Ends it, and frees it. Null is allowed. */
void namer_free(struct namer *namer);

/* What became of builds that servers were asked for; all 0 where none is. From any thread. */
void namer_state(struct namer *namer, struct debug_server_state *state);

#endif
