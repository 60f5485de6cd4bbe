/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_SESSION_H
#define RECORD_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "record/camera.h"
#include "process/command.h"

/*
 * One recording from start to end: drains the camera until the time is over, the command has ended,
 * all named processes have ended, or a signal asks to stop (SIGINT, SIGTERM, SIGHUP).
 */
struct session {
	struct camera *camera;
	struct film_writer *film;
	double seconds;		 /* 0: no limit */
	struct command *command; /* null: none */
	char *const *argv;	 /* the command's arguments */
	const struct selection *selection;
	/* Called when recording has begun, before the command runs; may be null. */
	void (*begun)(void *context);
	/*
	 * Called about once a second, with the time up to which all records were read; may be null.
	 */
	void (*progress)(void *context, uint64_t elapsed_ns);
	void *context;
	/* Returns true to end the recording. May be null. */
	bool (*is_done)(void *context);
	uint64_t elapsed_ns; /* out: length of the recording */
	uint64_t ended;	     /* out: its end, by clock_ns() */
	int stopped_by;	     /* out: the signal that ended it, or 0 */
};

/*
 * Returns 0 or a negative errno with *why filled. SIGINT, SIGTERM and SIGHUP stay blocked
 * afterwards, so that they cannot interrupt closing the film.
 */
int session_run(struct session *session, struct fail *why);

#endif
