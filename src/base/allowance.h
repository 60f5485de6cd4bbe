/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ALLOWANCE_H
#define BASE_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The CPU time that may go into reading files, of all files together. A budget (budget.h) bounds
 * what one of them costs; a thousand of them would still take a thousand budgets. So time comes in
 * at a rate, and some is saved up for moments when many are to be read. A reading begins as long as
 * any is left, and what it has taken is taken off afterwards, also below zero: then the next ones
 * are put off until enough has come in.
 *
 * Any user can make files. A part is kept for those that only root can have written, so that
 * programs that are installed are read while a user's own files use up all of the rest.
 *
 * In one round, others' files are read for a while only: what comes beside them is not to wait for
 * long.
 *
 * One thread at a time.
 */
struct allowance {
	uint64_t most;				     /* ns, saved up at most */
	uint64_t part;				     /* one part-th of the time of a CPU comes in */
	uint64_t round;				     /* ns of others' files in one round */
	int64_t left, left_to_others, left_of_round; /* ns */
	uint64_t filled;			     /* clock_ns() when time last came in */
};

/* What is kept for root's files: of what is saved up, and of what comes in. */
#define ALLOWANCE_KEPT_PART 4

/* now: clock_ns(), here and below. It begins with as much as can be saved up. */
void allowance_begin(struct allowance *allowance, uint64_t most, uint64_t part, uint64_t round,
		     uint64_t now);

/* Another round begins; is_last: others' files may take all that is left to them. */
void allowance_next_round(struct allowance *allowance, bool is_last);

/* Whether a file may be read now; is_of_root: only root can have written it. */
bool allowance_ask(struct allowance *allowance, bool is_of_root, uint64_t now);

/* Takes off what reading it has taken. */
void allowance_take(struct allowance *allowance, bool is_of_root, uint64_t ns);

/*
 * Both around a reading by this thread: begins it, if it may begin now, and takes off what it has
 * taken, with what child processes have that ended meanwhile. *begin is for the second one.
 */
bool allowance_start(struct allowance *allowance, bool is_of_root, uint64_t *begin);
void allowance_end(struct allowance *allowance, bool is_of_root, uint64_t begin);

#endif
