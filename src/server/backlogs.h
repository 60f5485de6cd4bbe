/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_BACKLOGS_H
#define SERVER_BACKLOGS_H

#include <stddef.h>
#include <stdint.h>

/*
 * What agents say of films that they have not delivered, with each film that they send: the header
 * "X-Stackcam-Backlog: doubt=1, films=12, oldest=93, bytes=4096" (send/backlog.h); older agents
 * do not report bytes. Here are their sums, and the few agents that are behind most: as many
 * numbers for a hundred agents as for ten thousand, and none of them names a machine (an agent has
 * an id of its own), so that every token that reads may see them. An agent that said nothing for
 * BACKLOGS_FRESH_NS does not count any more: it may send its films to another collector. May be
 * used from any thread.
 */
struct backlogs;

enum {
	BACKLOGS_AGENTS_MAX = 16384,
	BACKLOGS_NAME_MAX = 64, /* bytes of an agent's id */
	BACKLOGS_WORST = 16,	/* agents that are shown by their id */
};
#define BACKLOGS_FRESH_NS UINT64_C(300000000000)

/* Null: no memory. */
struct backlogs *backlogs_new(void);
void backlogs_free(struct backlogs *backlogs); /* null is allowed */

/*
 * agent: tells agents apart. name: its id, of letters, digits and '-'; what is too long is cut off.
 * header: hostile; null: it reports nothing, as other clients and older agents. now: ns of a
 * monotonic clock.
 */
void backlogs_read(struct backlogs *backlogs, uint64_t agent, const char *name, const char *header,
		   uint64_t now);

struct backlogs_sum {
	uint64_t agents;       /* that said something lately */
	uint64_t behind;       /* of them: with films that wait */
	uint64_t films, doubt; /* that wait with them, and those of them that are in doubt */
	uint64_t bytes;	       /* of those that wait */
	uint64_t oldest;       /* s, of the oldest of all when its agent said so; 0: none */
	/* since the start: headers that were no such numbers, and that there was no room for */
	uint64_t malformed, crowded;
};
void backlogs_sum(struct backlogs *backlogs, uint64_t now, struct backlogs_sum *sum);

struct backlogs_agent {
	char name[BACKLOGS_NAME_MAX + 1];
	uint64_t films, bytes, oldest; /* as above */
};
/*
 * The agents with the oldest films that wait, the oldest first; each id once, also where clients
 * with several tokens use it. Returns how many.
 */
size_t backlogs_worst(struct backlogs *backlogs, uint64_t now,
		      struct backlogs_agent worst[BACKLOGS_WORST]);

#endif
