/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_AUDIT_H
#define SERVER_AUDIT_H

#include <stdint.h>

#include "base/fail.h"

/*
 * Which questions were asked, by which clients: a file with a JSON object per line. A thread writes
 * it, so that no client waits for the disk. Lines that the disk takes too slowly, or not at all,
 * are counted. Nothing limits the file: a tool that rotates logs renames it, and has it opened
 * anew. May be used from any thread.
 */
struct audit;

/* The question that a request asks, as far as it is known. */
struct audit_asked {
	uint64_t from, to; /* ns since 1970; 0, 0: of all time, or not known */
	char service[256]; /* hostile, as the rest; "": of all */
	char host[256];
};

/* service and host may be null: of all. */
void audit_note(struct audit_asked *asked, uint64_t from, uint64_t to, const char *service,
		const char *host);

/* A request that has ended. The texts are hostile. */
struct audit_line {
	uint64_t time;		    /* ns since 1970 */
	const char *user;	    /* as the proxy names it; "": none did */
	const char *token;	    /* its name, or a number that stands for it; "": none */
	const char *address;	    /* of the client, or of the proxy */
	const char *method, *route; /* route: the path */
	unsigned int status;	    /* 0: it ended without an answer */
	const struct audit_asked *asked;
	uint64_t bytes, ns; /* of the answer, and until it was sent */
};

/* Appends to the file, which is made if it is not there. 0 or a negative errno with *why filled. */
int audit_open(const char *path, struct audit **audit, struct fail *why);

void audit_put(struct audit *audit, const struct audit_line *line);

/* The file was renamed: goes on in a new one. If that fails, the one before stays. */
int audit_reopen(struct audit *audit, struct fail *why);

uint64_t audit_lost(struct audit *audit); /* lines that are not in the file */

/* Writes what is left. Null is allowed. */
void audit_close(struct audit *audit);

#endif
