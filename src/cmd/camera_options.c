// SPDX-License-Identifier: Apache-2.0
#include "cmd/camera_options.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "host/flight.h"
#include "host/say.h"

#define TIME_USUAL  (120 * SECOND_NS)
#define TIME_MIN    (4 * SECOND_NS)
#define TIME_MAX    (3600 * SECOND_NS)
#define BYTES_USUAL 64000000u
#define BYTES_MIN   1000000u
#define BYTES_MAX   4000000000ull
#define AFTER_USUAL (5 * SECOND_NS)
#define AFTER_MAX   (60 * SECOND_NS)
#define HANG_USUAL  (10 * SECOND_NS)
#define QUEUE_USUAL (3 * SECOND_NS)
#define CPU_MAX	    1000000
#define HOUR_USUAL  6
#define HOUR_MAX    1000

struct camera_flight camera_flight_usual(void)
{
	return (struct camera_flight){
		.time = TIME_USUAL,
		.bytes = BYTES_USUAL,
		.after = AFTER_USUAL,
		.limits = {.hang = HANG_USUAL},
		.queue = QUEUE_USUAL,
		.hour = HOUR_USUAL,
	};
}

void camera_flight_free(struct camera_flight *flight)
{
	selection_free(&flight->programs);
	*flight = (struct camera_flight){0};
}

bool camera_flight_is_same(const struct camera_flight *a, const struct camera_flight *b)
{
	const struct selection *x = &a->programs, *y = &b->programs;
	bool same = x->name_count == y->name_count && a->time == b->time && a->bytes == b->bytes &&
		    a->after == b->after && a->limits.hang == b->limits.hang &&
		    a->limits.slow == b->limits.slow &&
		    a->limits.slower_than_usual == b->limits.slower_than_usual &&
		    a->limits.failed == b->limits.failed && a->queue == b->queue &&
		    a->cpu == b->cpu && a->pressure == b->pressure && a->hour == b->hour;

	for (size_t i = 0; same && i < x->name_count; i++)
		same = !strcmp(x->names[i], y->names[i]);
	return same &&
	       (!a->events.count || !b->events.count || event_list_is_same(&a->events, &b->events));
}

static int parse_time(const char *option, const char *value, uint64_t least, uint64_t most,
		      uint64_t *to, struct fail *why)
{
	uint64_t ns;

	if (text_parse_time(value, SECOND_NS, &ns) || ns < least || ns > most)
		return fail(why, -EINVAL, NULL, "%s takes a time from %llus to %llus, not '%s'",
			    option, (unsigned long long)(least / SECOND_NS),
			    (unsigned long long)(most / SECOND_NS), value);
	*to = ns;
	return 0;
}

static int parse_slow(const char *value, struct happening_limits *limits, struct fail *why)
{
	uint64_t ns;

	if (!strcmp(value, "p99")) {
		limits->slower_than_usual = true;
		return 0;
	}
	if (text_parse_time(value, SECOND_NS, &ns) || ns > TIME_MAX)
		return fail(why, -EINVAL, NULL,
			    "--camera-slow takes a time up to %llus, or p99, not '%s'",
			    TIME_MAX / SECOND_NS, value);
	limits->slow = ns;
	return 0;
}

int camera_parse_option(struct camera_flight *flight, int option, const char *value,
			struct fail *why)
{
	uint64_t number;

	switch (option) {
	case OPTION_CAMERA:
		return selection_add_name(&flight->programs, value, why);
	case OPTION_CAMERA_EVENTS:
		return event_list_parse_more(value, &flight->events, why);
	case OPTION_CAMERA_TIME:
		return parse_time("--camera-time", value, TIME_MIN, TIME_MAX, &flight->time, why);
	case OPTION_CAMERA_AFTER:
		return parse_time("--camera-after", value, 0, AFTER_MAX, &flight->after, why);
	case OPTION_CAMERA_HANG:
		return parse_time("--camera-hang", value, 0, TIME_MAX, &flight->limits.hang, why);
	case OPTION_CAMERA_QUEUE:
		return parse_time("--camera-queue", value, 0, TIME_MAX, &flight->queue, why);
	case OPTION_CAMERA_MEMORY:
		if (text_parse_bytes(value, &number) || number < BYTES_MIN || number > BYTES_MAX)
			return fail(why, -EINVAL, NULL,
				    "--camera-memory takes a size from 1MB to 4GB, not '%s'",
				    value);
		flight->bytes = number;
		return 0;
	case OPTION_CAMERA_CPU:
		if (text_parse_u64(value, 0, CPU_MAX, &number))
			return fail(why, -EINVAL, NULL,
				    "--camera-cpu takes percent of a CPU, up to %d, not '%s'",
				    CPU_MAX, value);
		flight->cpu = (uint32_t)number;
		return 0;
	case OPTION_CAMERA_PRESSURE:
		if (text_parse_u64(value, 0, 100, &number))
			return fail(why, -EINVAL, NULL,
				    "--camera-pressure takes percent, up to 100, not '%s'", value);
		flight->pressure = (uint32_t)number;
		return 0;
	case OPTION_CAMERA_SLOW:
		return parse_slow(value, &flight->limits, why);
	case OPTION_CAMERA_FAILED:
		flight->limits.failed = true;
		return 0;
	case OPTION_CAMERA_HOURLY:
		if (text_parse_u64(value, 0, HOUR_MAX, &number))
			return fail(why, -EINVAL, NULL,
				    "--camera-hourly takes a number up to %d, not '%s'", HOUR_MAX,
				    value);
		flight->hour = (unsigned int)number;
		return 0;
	default:
		return 1;
	}
}

void camera_file_read(struct camera_flight *flight)
{
	flight->events.yields = true;
}

int camera_load_flight(struct camera_flight *camera, const struct recorder_requests *requests,
		       const struct event_list *recorded, const struct camera_names *names,
		       struct flight **flight, struct fail *why)
{
	const struct happening_limits *limits = &camera->limits;
	bool judges_requests = limits->slow || limits->slower_than_usual || limits->failed;
	struct flight_options options = {
		.selection = &camera->programs,
		.events = &camera->events,
		.recorded = recorded,
		.requests = *requests,
		.host = names->host,
		.labels = names->labels,
		.command = names->command,
		.time = camera->time,
		.bytes = camera->bytes,
		.after = camera->after,
		.limits = camera->limits,
		.queue = camera->queue,
		.cpu = camera->cpu,
		.pressure = camera->pressure,
		.hour = camera->hour,
	};
	int err = camera->programs.name_count ? selection_check(&camera->programs, why) : 0;

	*flight = NULL;
	if (!camera->events.count)
		event_list_parse(judges_requests ? "threads,deaths,requests" : "threads,deaths",
				 &camera->events, why);
	if (judges_requests && !event_list_has(&camera->events, EVENT_REQUESTS))
		return fail(why, -EINVAL, "add requests to --camera-events",
			    "slow and failed requests are seen only where requests are filmed");
	return err || !camera->programs.name_count ? err : flight_new(&options, flight, why);
}

void camera_say_flight_ended(struct flight *flight)
{
	struct fail why = {0};

	flight_stop(flight);
	if (flight_join(flight, &why))
		host_say_fail(&why, "; the flight recorder has ended, and keeps nothing any more");
	else
		host_say("the flight recorder has ended, and keeps nothing any more");
}
