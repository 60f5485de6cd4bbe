/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ALLOWANCE_H
#define BASE_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Limits the CPU time that reading files takes in total (a token bucket). A budget (budget.h)
 * bounds the cost of one file, but a thousand files would still cost a thousand budgets. Time is
 * added at a constant rate, and up to `most` ns are saved for moments when many files are read. A
 * read may begin while any time is left. Its cost is subtracted afterwards, which may make the
 * balance negative: further reads then wait until enough time was added.
 *
 * Any user can create files. A part of the time is reserved for files that only root can have
 * written, so that installed programs are still read after a user's own files have used up the
 * rest.
 *
 * In one round, files of other users are read for at most `round` ns, so that the caller's other
 * work does not wait for long.
 *
 * Not thread-safe: one thread at a time.
 */
struct allowance {
	uint64_t most;				     /* upper limit of the balance, ns */
	uint64_t part;				     /* 1/part of a CPU's time is added */
	uint64_t round;				     /* ns for files of other users in one round */
	int64_t left, left_to_others, left_of_round; /* ns */
	uint64_t filled;			     /* clock_ns() when time was last added */
};

/* A quarter of the balance and of the added time is reserved for root's files. */
#define ALLOWANCE_KEPT_PART 4

/* Starts with a full balance. now is clock_ns(), here and below. */
void allowance_begin(struct allowance *allowance, uint64_t most, uint64_t part, uint64_t round,
		     uint64_t now);

/* Begins another round. is_last: files of other users may use all that is left to them. */
void allowance_next_round(struct allowance *allowance, bool is_last);

/* Whether a file may be read now. is_of_root: only root can have written the file. */
bool allowance_ask(struct allowance *allowance, bool is_of_root, uint64_t now);

/* Subtracts the CPU time that reading a file took, in ns. */
void allowance_spend(struct allowance *allowance, bool is_of_root, uint64_t ns);

/*
 * Call both around a read by this thread. allowance_start() returns whether the read may begin now.
 * allowance_end() subtracts the CPU time that this thread and the child processes that ended
 * meanwhile used; pass it the *begin that allowance_start() has set.
 */
bool allowance_start(struct allowance *allowance, bool is_of_root, uint64_t *begin);
void allowance_end(struct allowance *allowance, bool is_of_root, uint64_t begin);

#endif
