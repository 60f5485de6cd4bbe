/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_SESSION_H
#define RECORD_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "record/camera.h"
#include "process/command.h"

/*
 * One recording from start to end: drains the camera until the time is over, the command has ended,
 * all processes that were named are gone, or someone asks to stop (SIGINT, SIGTERM, SIGHUP).
 */
struct session {
	struct camera *camera;
	struct film_writer *film;
	double seconds;		 /* 0: no limit */
	struct command *command; /* null: none */
	char *const *argv;	 /* of the command */
	const struct selection *selection;
	/* Called when it has begun, before the command runs; may be null. */
	void (*begun)(void *context);
	/* Called about once a second, with the time of which all is read; may be null. */
	void (*progress)(void *context, uint64_t elapsed_ns);
	void *context;
	/* Whether enough was seen: then it ends. May be null. */
	bool (*is_done)(void *context);
	uint64_t elapsed_ns; /* out: how long it was */
	uint64_t ended;	     /* out: when, of clock_ns() */
	int stopped_by;	     /* out: the signal that ended it, or 0 */
};

/* SIGINT, SIGTERM and SIGHUP stay blocked afterwards, for the film to be closed in peace. */
int session_run(struct session *session, struct fail *why);

#endif
