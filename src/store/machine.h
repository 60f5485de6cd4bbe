/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_MACHINE_H
#define STORE_MACHINE_H

#include "query/machine.h"
#include "store/ask.h"

/*
 * What machines did beside the threads of an event of slices: answered by films, as store_lanes().
 * Of machine the caller sets steps and all else to 0; its time becomes that of the ask. To be freed
 * with machine_free(), also after a failure. Returns 0 or a negative errno with *why filled.
 */
int store_machine(struct store *store, const struct store_ask *ask, struct machine *machine,
		  struct store_sum *sum, struct fail *why);

#endif
