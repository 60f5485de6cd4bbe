/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEND_TO_COLLECTORS_H
#define SEND_TO_COLLECTORS_H

#include "send/http.h"
#include "send/sender.h"
#include "send/spool.h"

/*
 * Films go to one of several collectors, "stackcam serve" each: to the first that keeps them, in an
 * order that differs from agent to agent. One that is away, full or refuses is tried again after a
 * pause that doubles.
 *
 * Each film is kept once: before a film is sent, its number and the collector are written down in
 * DIR/doubt of the spool. Where the connection breaks off, that collector may have the film or not.
 * It is asked again when it is back, and then either keeps the film or answers that it has it;
 * meanwhile no other collector gets this film, and that one gets no other. Films behind it go to
 * the others.
 */
struct to_collectors_options {
	const char *urls;    /* as collectors_each() allows */
	const char *host;    /* the name of this machine */
	struct spool *spool; /* which must outlive the destination */
	/*
	 * A line for the log: one does not work, or works again; how much waits; of the thread that
	 * sends.
	 */
	void (*log)(void *context, const char *text);
	void *context;
};

enum {
	COLLECTORS_MAX = 16
};

/*
 * Calls one() with each URL of "URL[,URL...]"; 0, what it returned, or -EINVAL with *why filled: a
 * URL is empty or there twice, or there are too many.
 */
int collectors_each(const char *urls, int (*one)(void *context, const char *url, struct fail *why),
		    void *context, struct fail *why);

/* http stays the caller's, and must live as long as the destination. 0 or a negative errno. */
int to_collectors(const struct to_collectors_options *options, struct http *http,
		  struct destination *destination, struct fail *why);

#endif
