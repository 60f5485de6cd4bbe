/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEND_SPOOL_H
#define SEND_SPOOL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

/*
 * Films that wait to be sent, in a folder that belongs to one agent:
 *
 *	DIR/agent		the agent's id, made when the folder is
 *	DIR/lost		how many films had to go since the last one that was sent
 *	DIR/last		the highest number that was given
 *	DIR/NUMBER.film		films, complete, by rising numbers of 20 digits
 *	DIR/NUMBER.new		the one that is being recorded
 *	DIR/doubt		which films which collectors may have (to_collectors.c)
 *	DIR/aside/NUMBER.film	films that the server could not use
 *
 * Numbers are milliseconds since 1970, or one more than the last: so they rise also where the last
 * writes were lost with the power, or the clock went back. All functions may be called from any
 * thread.
 */
struct spool;

enum {
	SPOOL_AGENT_SIZE = 33
};

/*
 * Opens or makes the folder, and completes what an agent that was killed was recording. limit:
 * bytes that films may take, those set aside included; the oldest go. Returns 0 or a negative errno
 * with *why filled: -EBUSY, another agent uses it.
 */
int spool_open(const char *path, uint64_t limit, struct spool **spool, struct fail *why);
void spool_free(struct spool *spool); /* null is allowed */

/* Another limit, from now on. */
void spool_set_limit(struct spool *spool, uint64_t limit);

const char *spool_agent(const struct spool *spool);

/* The folder, a descriptor that stays the spool's: for files of the sender. */
int spool_folder(const struct spool *spool);

/* The path of a new film that begins at wall_now (ns since 1970). */
int spool_next(struct spool *spool, uint64_t wall_now, char *path, size_t size, struct fail *why);

/*
 * The film at a path of spool_next() is complete. Wakes spool_wait(). Films are complete by rising
 * numbers: one that a later film has overtaken gets the next number.
 */
int spool_done(struct spool *spool, const char *path, struct fail *why);

struct spool_film {
	uint64_t number;
	uint64_t lost; /* films before it that had to go; only the oldest has them */
	char path[PATH_MAX];
};

/* The oldest film with a number above this one. False: there is none. */
bool spool_after(struct spool *spool, uint64_t number, struct spool_film *film);
static inline bool spool_first(struct spool *spool, struct spool_film *film)
{
	return spool_after(spool, 0, film);
}

/*
 * Waits until there is a film with a number above this one, spool_wake() was called, or the time
 * (ns) is over.
 */
void spool_wait(struct spool *spool, uint64_t number, uint64_t ns);
/* Waits in any case, until spool_wake() or the end of that time. */
void spool_pause(struct spool *spool, uint64_t ns);
void spool_wake(struct spool *spool);

/*
 * The film gets the next number, as if it had not been sent before. 0; or a negative errno,
 * -ENOENT: it is gone.
 */
int spool_renumber(struct spool *spool, uint64_t number);

/* The film was sent: it goes. */
void spool_sent(struct spool *spool, const struct spool_film *film);
/* It was not there to be sent. The code that removed it to make room has counted it already. */
void spool_gone(struct spool *spool, const struct spool_film *film);
/* It is of no use to the server: it is kept for who wants to look at it. */
void spool_set_aside(struct spool *spool, const struct spool_film *film);

struct spool_status {
	uint64_t films, bytes;		/* that wait */
	uint64_t sent, lost, set_aside; /* since the start */
};
void spool_status(struct spool *spool, struct spool_status *status);

#endif
