/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_RECORD_FLIGHT_H
#define CMD_RECORD_FLIGHT_H

#include "record/sources.h"
#include "cmd/recording.h"
#include "film/events.h"

/* What "stackcam record --flight" has been asked for; must live until record_flight() returns. */
struct record_flight {
	const struct recording_options *common;
	const struct sources_settings *sources;
	const struct event_list *events;
	uint64_t time;	/* ns that are in memory */
	uint64_t bytes; /* that they take at most */
};

/*
 * Records into memory until a signal, or the time that the options have; what happens, and
 * 'stackcam keep --pid', keeps the last seconds as FILM-1.film and so on, and the end as FILM.
 * Returns an exit status.
 */
int record_flight(const struct record_flight *options, int argc, char **argv);

#endif
