/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_CAMERA_OPTIONS_H
#define CMD_CAMERA_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "sources/happening.h"
#include "film/event_list.h"
#include "process/select.h"
#include "host/recorder.h"

/* What a verb's options say of its flight recorder (host/flight.h). */
struct camera_flight {
	struct selection programs; /* names of processes; none: there is no flight recorder */
	struct event_list events;
	uint64_t time, bytes, after, queue;
	struct happening_limits limits;
	uint32_t cpu, pressure; /* percent */
	unsigned int hour;
};

enum {
	OPTION_CAMERA = 768,
	OPTION_CAMERA_EVENTS,
	OPTION_CAMERA_TIME,
	OPTION_CAMERA_MEMORY,
	OPTION_CAMERA_AFTER,
	OPTION_CAMERA_HANG,
	OPTION_CAMERA_QUEUE,
	OPTION_CAMERA_CPU,
	OPTION_CAMERA_PRESSURE,
	OPTION_CAMERA_SLOW,
	OPTION_CAMERA_FAILED,
	OPTION_CAMERA_HOURLY,
};

/* For the table of options of a verb. */
#define CAMERA_LONG_OPTIONS                                                           \
	{"camera", required_argument, NULL, OPTION_CAMERA},                           \
		{"camera-events", required_argument, NULL, OPTION_CAMERA_EVENTS},     \
		{"camera-time", required_argument, NULL, OPTION_CAMERA_TIME},         \
		{"camera-memory", required_argument, NULL, OPTION_CAMERA_MEMORY},     \
		{"camera-after", required_argument, NULL, OPTION_CAMERA_AFTER},       \
		{"camera-hang", required_argument, NULL, OPTION_CAMERA_HANG},         \
		{"camera-queue", required_argument, NULL, OPTION_CAMERA_QUEUE},       \
		{"camera-cpu", required_argument, NULL, OPTION_CAMERA_CPU},           \
		{"camera-pressure", required_argument, NULL, OPTION_CAMERA_PRESSURE}, \
		{"camera-slow", required_argument, NULL, OPTION_CAMERA_SLOW},         \
		{"camera-failed", no_argument, NULL, OPTION_CAMERA_FAILED},           \
	{                                                                             \
		"camera-hourly", required_argument, NULL, OPTION_CAMERA_HOURLY        \
	}

/* For its help. */
#define CAMERA_HELP                                                                                \
	"The flight recorder:\n"                                                                   \
	"      --camera GLOB         films every thread of processes of this name all the time, "  \
	"in\n"                                                                                     \
	"                            memory, and keeps the last minutes when something happens, "  \
	"or at\n"                                                                                  \
	"                            'stackcam keep'; may be repeated\n"                           \
	"      --camera-events LIST  what is filmed of them (default threads,deaths)\n"            \
	"      --camera-time TIME    how much is kept (default 2m)\n"                              \
	"      --camera-memory SIZE  what films may take in memory (default 64MB); the oldest "    \
	"go first\n"                                                                               \
	"      --camera-after TIME   how long is filmed on when something happened (default "      \
	"5s)\n"                                                                                    \
	"      --camera-hang TIME    keeps what there is when a thread waits that long for a "     \
	"lock "                                                                                    \
	"or a\n"                                                                                   \
	"                            disk (default 10s; 0: never)\n"                               \
	"      --camera-queue TIME   keeps what there is when an accept queue stays full for "     \
	"that "                                                                                    \
	"long\n"                                                                                   \
	"                            (default 3s; 0: never)\n"                                     \
	"      --camera-cpu PERCENT  keeps what there is when a process takes twice the usual "    \
	"CPU, and "                                                                                \
	"that\n"                                                                                   \
	"                            many percent of a CPU more (default 0: never)\n"              \
	"      --camera-pressure PERCENT\n"                                                        \
	"                            the same when threads of the machine wait for memory or "     \
	"disks "                                                                                   \
	"that\n"                                                                                   \
	"                            many percent of the time more (default 0: never)\n"           \
	"      --camera-slow TIME    the same when a request is served in more than that (p99: "   \
	"in "                                                                                      \
	"twice\n"                                                                                  \
	"                            the p99 of its endpoint), also while it is not over; "        \
	"films\n"                                                                                  \
	"                            requests, too\n"                                              \
	"      --camera-failed       the same when a request fails\n"                              \
	"      --camera-hourly N     films in an hour that are kept by themselves (default 6; 0: " \
	"any)\n"

struct camera_flight camera_flight_usual(void);
void camera_flight_free(struct camera_flight *flight);

/* Whether they film the same, in the same way. */
bool camera_flight_is_same(const struct camera_flight *a, const struct camera_flight *b);

/* 0, a negative errno with *why filled, or 1: it is none of these options. Strings are copied. */
int camera_parse_option(struct camera_flight *flight, int option, const char *value,
			struct fail *why);

/* What was taken so far stood in the file of settings: the command line counts more. */
void camera_file_read(struct camera_flight *flight);

struct flight;

/* What a flight recorder's films say of where they are from; strings must live as long as it. */
struct camera_names {
	const char *host, *labels, *command;
};

/*
 * Loads the flight recorder that the options want, if any: else *flight is null. They, requests (as
 * in struct recorder_options) and the list of what is recorded beside must live as long as it.
 * Returns 0 or a negative errno with *why filled.
 */
int camera_load_flight(struct camera_flight *camera, const struct recorder_requests *requests,
		       const struct event_list *recorded, const struct camera_names *names,
		       struct flight **flight, struct fail *why);

/* What is recorded by itself goes on without it: says that it has ended. */
void camera_say_flight_ended(struct flight *flight);

#endif
