/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_NAMER_H
#define HOST_NAMER_H

#include "base/fail.h"
#include "store/store.h"

/*
 * A thread that gives a store names of builds that its films have places of (store/names.h), from a
 * folder of debug files, DIR/.build-id/ab/cdef.debug, each once. It looks every few seconds, and
 * for those that were not there again after ten minutes.
 */
struct namer;

/* store must outlive it. *namer is null after an error. */
int namer_start(struct store *store, const char *folder, struct namer **namer, struct fail *why);
/* Ends it, and frees it. Null is allowed. */
void namer_free(struct namer *namer);

#endif
