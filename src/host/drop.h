/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_DROP_H
#define HOST_DROP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

/*
 * How what runs for long gives up what it may do, in three steps: another user, what the recorder's
 * thread needs, and what all other threads need (base/privileges.h). Each returns 0 or a negative
 * errno with *why filled.
 */

/*
 * A folder that is written to: made if it is not there, and given to the user that the process
 * becomes.
 */
struct drop_folder {
	const char *path;
	bool only_new; /* one that is there stays whose it is */
};

/* Becomes that user; null: it stays who it is. Before there are other threads. */
int drop_to_user(const char *name, const struct drop_folder *folders, unsigned int count,
		 struct fail *why);

/*
 * Before the recorder's thread is started, and once its probes are attached. also: capabilities
 * that others need.
 */
int drop_to_recorder(uint64_t also, struct fail *why);

/*
 * For what is started from now on. folder: all that it will write to, with other, unless that is
 * null; null: anything. also: as before.
 */
int drop_to_others(const char *folder, const char *other, uint64_t also, struct fail *why);

#endif
