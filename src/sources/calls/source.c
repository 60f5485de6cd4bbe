// SPDX-License-Identifier: Apache-2.0
/* calls: the function tracer (sources/calls/calls.h) as a source of events. */
#include "sources/calls/calls.h"
#include "sources/source.h"
#include "film/events.h"
#include "bpf/probes.skel.h"

/* Null where programs are only tried (sources_make_possible()). */
static struct calls *calls_of(const struct source *source)
{
	return source->settings->given;
}

enum of_event {
	OF_CALLS,
	OF_STACKS,
};

static bool has_event(const struct source *source, unsigned int event)
{
	return event == OF_CALLS || calls_want_stacks(calls_of(source));
}

static unsigned int needs(const struct source *source)
{
	const struct calls *calls = calls_of(source);

	return SOURCE_IMAGES |
	       (!calls || calls_want_stacks(calls) ? SOURCE_STACKS | SOURCE_RUNTIMES : 0);
}

static uint32_t ring_bytes(const struct source *source, unsigned int cpus)
{
	(void)source;
	return rings_bytes_for_calls(cpus);
}

static void prepare(struct source *source)
{
	if (calls_of(source))
		calls_prepare(calls_of(source), source->host->probes);
	else
		calls_prepare_all(source->host->probes);
}

static int start(struct source *source, struct fail *why)
{
	const struct source_host *host = source->host;
	struct calls_camera parts = {
		.probes = host->probes,
		.rings = host->rings,
		.samples = host->samples,
		.film = host->film,
		.event = source->events[OF_CALLS],
		.stack_event = source->events[OF_STACKS],
	};

	return calls_attach(calls_of(source), &parts, why);
}

static void handle_call(struct source *source, const void *record)
{
	calls_handle(calls_of(source), record);
}

static void handle_stack(struct source *source, const struct capture_record *record,
			 const struct capture_handover *handover)
{
	if (source_is_meant(source, &record->identity))
		calls_handle_stack(calls_of(source), record, handover);
}

static void tick(struct source *source, uint64_t now)
{
	calls_tick(calls_of(source), now);
}

static void detach(struct source *source)
{
	calls_detach(calls_of(source));
}

static void finish(struct source *source, uint64_t now)
{
	calls_finish(calls_of(source), now);
}

static void program_new(struct source *source, pid_t pid, const char *path)
{
	calls_program(calls_of(source), pid, path);
}

static void executed(struct source *source, pid_t pid)
{
	calls_executed(calls_of(source), pid);
}

static void process_ended(struct source *source, pid_t pid)
{
	calls_process_ended(calls_of(source), pid);
}

static unsigned int image_new(struct source *source, pid_t pid, const struct image *image)
{
	bool each, probed = calls_image(calls_of(source), pid, image, &each);

	return (probed ? SOURCE_IMAGE_PROBED : 0) | (each ? SOURCE_IMAGE_EACH : 0);
}

static void image_missed(struct source *source, const char *path, uint64_t ran_ns)
{
	calls_missed(calls_of(source), path, ran_ns);
}

static bool has_image(const struct source *source, dev_t device, ino_t inode)
{
	return calls_has_file(calls_of(source), device, inode);
}

static void image_unseen(struct source *source, const char *comm)
{
	calls_unseen(calls_of(source), comm);
}

static const struct source_record records[] = {
	SOURCE_RECORD(CAPTURE_CALLS, capture_head, handle_call),
	SOURCE_RECORD(CAPTURE_CALL, calls_record, handle_call),
	SOURCE_RECORD(CAPTURE_CALL_ENTRY, calls_record, handle_call),
	SOURCE_RECORD(CAPTURE_TRACK, calls_track, handle_call),
	SOURCE_RECORD_WITH_STACK(CAPTURE_CALL_STACK, handle_stack),
	{0},
};

static const struct source_event events[] = {
	[OF_CALLS] = {EVENT_CALLS, "uprobes"},
	[OF_STACKS] = {EVENT_CALL_STACKS, "uprobes"},
	{0},
};

const struct source_type source_calls = {
	.events = events,
	.has_event = has_event,
	.needs = needs,
	.ring_bytes = ring_bytes,
	.prepare = prepare,
	.start = start,
	.records = records,
	.tick = tick,
	.detach = detach,
	.finish = finish,
	.processes.program = program_new,
	.processes.executed = executed,
	.processes.ended = process_ended,
	.images.arrived = image_new,
	.images.missed = image_missed,
	.images.has_probes = has_image,
	.images.unprobed = image_unseen,
};
