// SPDX-License-Identifier: Apache-2.0
/*
 * requests: what programs are asked for, and ask others for. bpf/requests/requests.bpf.c hands over
 * the beginnings of what their sockets move; src/protocol/ finds requests and answers there, and
 * track.c which belong together.
 */
#include "sources/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "attach/feature.h"
#include "attach/links.h"
#include "sources/loss_counts.h"
#include "sources/probed_images.h"
#include "sources/requests/context.h"
#include "sources/requests/coroutines.h"
#include "sources/requests/goroutines.h"
#include "sources/requests/marker.h"
#include "sources/requests/marker_probes.h"
#include "sources/requests/names.h"
#include "sources/requests/tls.h"
#include "sources/requests/track.h"
#include "sources/requests/uvloop.h"
#include "sources/requests/slow.h"
#include "film/events.h"
#include "bpf/probes.skel.h"

/* What a ring must hold while others are drained: some thousand heads. */
#define RING_BYTES (8u << 20)

/* The most endpoints of a film; what comes then has one for all of its role and protocol. */
#define ENDPOINTS_MAX 4096

enum {
	MARKERS,
	KEEP_QUERY,
};

static const struct source_option options[] = {
	[MARKERS] =
		{
			.name = "markers",
			.argument = "0|1|2",
			.help = "of requests: those that programs mark by lines to /dev/null; "
				"0: none; 1 (default): where the kernel shows such writes alone; "
				"2: also where each system call of the machine is looked at for it",
			.least = MARKERS_NEVER,
			.most = MARKERS_ALWAYS,
			.usual = MARKERS_FREE,
		},
	[KEEP_QUERY] =
		{
			.name = "keep-query",
			.help = "of requests: keep the values of query strings, which may be "
				"secrets",
			.most = 1,
		},
	{0},
};

struct requests {
	struct links links;
	struct requests_track *track;
	struct probed_images *tls, *uvloop;
	struct requests_contexts *contexts;
	struct requests_goroutines *goroutines;
	struct requests_coroutines *coroutines;
	struct requests_marker *marker;
	struct requests_names names;
	bool has_started;
	uint64_t late; /* programs that ran for a moment before what they encrypt was seen */
	struct slow_requests slow;
	struct map endpoints; /* hash of a text: the film's frame */
	struct map stacks;    /* by role, protocol and frame of the endpoint: the film's stack */
	uint64_t endpoints_refused;
	uint64_t unnoted;   /* processes that make too many goroutines */
	uint64_t unwritten; /* that go on, and are not in the film that ended */
};

static uint32_t ring_bytes(const struct source *source, unsigned int cpus)
{
	(void)source;
	(void)cpus;
	return RING_BYTES;
}

static unsigned int needs(const struct source *source)
{
	(void)source;
	return SOURCE_IMAGES | SOURCE_RESTING;
}

/* -- rows -------------------------------------------------------------------------------------- */

static uint32_t thread_row(void *context, const struct capture_identity *identity)
{
	const struct source *source = context;

	return samples_thread(source->host->samples, identity);
}

static uint32_t endpoint_frame(struct source *source, const char *endpoint)
{
	struct requests *requests = source->state;
	uint64_t key = hash_bytes(endpoint, strlen(endpoint));
	const uint64_t *known = map_get(&requests->endpoints, key);
	uint32_t frame;

	if (known)
		return (uint32_t)*known;
	if (requests->endpoints.count >= ENDPOINTS_MAX) {
		requests->endpoints_refused++;
		return film_mark(source->host->film, "<other endpoints>");
	}
	frame = film_mark(source->host->film, endpoint);
	if (frame)
		map_put(&requests->endpoints, key, frame);
	return frame;
}

static uint32_t new_stack(struct film_writer *film, const struct film_request *row, bool goes_on)
{
	static const char *const roles[][2] = {
		{"served", "served" FILM_REQUEST_NOT_OVER},
		{"made", "made" FILM_REQUEST_NOT_OVER},
	};
	uint32_t frames[] = {film_mark(film, roles[row->role == FILM_REQUEST_MADE][goes_on]),
			     film_mark(film, film_protocol_name(row->protocol)), row->endpoint};
	uint32_t stack = 0;

	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		uint32_t next = frames[i] ? film_stack(film, stack, frames[i], FILM_HOW_EXACT) : 0;

		if (!next)
			break;
		stack = next;
	}
	return stack;
}

static uint32_t stack_of(struct requests *requests, struct film_writer *film,
			 const struct film_request *row)
{
	bool goes_on = row->flags & FILM_REQUEST_GOES_ON;
	uint64_t key = (uint64_t)row->endpoint << 32 | (uint32_t)row->protocol << 16 |
		       row->role << 1 | goes_on;
	const uint64_t *known = map_get(&requests->stacks, key);
	uint32_t stack;

	if (known)
		return (uint32_t)*known;
	stack = new_stack(film, row, goes_on);
	if (row->endpoint && stack)
		/* without memory it is made again */
		(void)!map_put(&requests->stacks, key, stack);
	return stack;
}

static const char *program_of(const struct source *source, const struct capture_identity *identity)
{
	const struct process *process =
		samples_process(source->host->samples, (pid_t)identity->pid);

	return process ? process->comm : "";
}

static void happened(const struct source *source, struct happening *happening,
		     const struct film_request *row, const char *endpoint,
		     const struct capture_identity *identity)
{
	const struct happening_listener *listener = &source->host->listener;

	snprintf(happening->thread, sizeof(happening->thread), "%.15s", identity->comm);
	snprintf(happening->process, sizeof(happening->process), "%s",
		 program_of(source, identity));
	snprintf(happening->endpoint, sizeof(happening->endpoint), "%s", endpoint);
	snprintf(happening->id, sizeof(happening->id), "%.*s", FILM_REQUEST_ID, row->id);
	listener->happened(listener->context, happening);
}

/*
 * A request that was served is worth to be known at once if it was slow, or failed. was_told: that
 * it is slow was known before its end.
 */
static void judge(struct source *source, const struct film_request *row, const char *endpoint,
		  const struct capture_identity *identity, bool was_told)
{
	struct requests *requests = source->state;
	const struct happening_limits *limits = &source->host->limits;
	struct happening happening = {
		.kind = HAPPENING_REQUEST,
		.time = row->end,
		.pid = (pid_t)identity->pid,
		.tid = (pid_t)identity->tid,
		.waited = row->duration,
		.has_failed = limits->failed && row->flags & FILM_REQUEST_FAILED,
		.status = row->status,
	};
	bool is_slow = limits->slow && row->duration > limits->slow;

	if (limits->slower_than_usual) {
		uint64_t p99 = slow_requests_add(&requests->slow, program_of(source, identity),
						 endpoint, row->duration);

		if (p99 && row->duration / 2 > p99) {
			is_slow = true;
			happening.usual_ns = p99;
		}
	}
	if ((is_slow && !was_told) || happening.has_failed)
		happened(source, &happening, row, endpoint, identity);
}

/* One that is not over is slow already. */
static bool lasts(void *context, const struct film_request *row, const char *endpoint,
		  const struct capture_identity *identity)
{
	struct source *source = context;
	struct requests *requests = source->state;
	const struct happening_limits *limits = &source->host->limits;
	struct happening happening = {
		.kind = HAPPENING_REQUEST,
		.time = row->end,
		.pid = (pid_t)identity->pid,
		.tid = (pid_t)identity->tid,
		.waited = row->duration,
		.is_open = true,
	};

	if (!source->host->listener.happened)
		return false;
	if (limits->slower_than_usual)
		happening.usual_ns = slow_requests_usual(&requests->slow,
							 program_of(source, identity), endpoint);
	if (row->duration / 2 <= happening.usual_ns)
		happening.usual_ns = 0;
	if (!happening.usual_ns && (!limits->slow || row->duration <= limits->slow))
		return false;
	happened(source, &happening, row, endpoint, identity);
	return true;
}

static void write_row(void *context, struct film_request *row, const char *endpoint,
		      const struct capture_identity *identity, bool is_slow)
{
	struct source *source = context;

	/* what has no end yet, as the film ends, is judged when it has one */
	if (source->host->listener.happened && row->role == FILM_REQUEST_SERVED &&
	    !(row->flags & FILM_REQUEST_OPEN))
		judge(source, row, endpoint, identity, is_slow);

	row->endpoint = endpoint_frame(source, endpoint);
	row->place = requests_names_mark(&((struct requests *)source->state)->names,
					 source->host->film, row);
	row->stack = stack_of(source->state, source->host->film, row);
	film_request(source->host->film, source->event, row);
	samples_count_row(source->host->samples);
}

/* -- the verbs of a source --------------------------------------------------------------------- */

static int make(struct source *source, struct fail *why)
{
	struct feature feature;

	(void)source;
	feature_probe(FEATURE_SOCKET_CALLS, &feature);
	if (feature.state != FEATURE_MISSING)
		return 0;
	return fail(why, -EOPNOTSUPP, feature.to_do, "cannot record requests: %s", feature.why);
}

static void prepare(struct source *source)
{
	probed_files_prepare(source->host->probes->progs.requests_tls_site);
	probed_files_prepare(source->host->probes->progs.requests_uvloop_site);
	requests_marker_prepare(source->host->probes, source->settings->values[MARKERS]);
}

/* A number that no other machine has, and this one only until it is started again. */
static uint64_t number_of_machine(void)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	char id[64];
	size_t got = file ? fread(id, 1, sizeof(id), file) : 0;

	if (file)
		fclose(file);
	return hash_bytes(id, got);
}

static bool has_goroutines(void *context, pid_t pid)
{
	const struct source *source = context;
	const struct requests *requests = source->state;

	return requests_goroutines_has(requests->goroutines, pid);
}

static int attach(struct source *source, struct fail *why)
{
	struct requests *requests = source->state = calloc(1, sizeof(*requests));
	const struct requests_to to = {
		.thread = thread_row,
		.write = write_row,
		.lasts = lasts,
		.has_goroutines = has_goroutines,
		.context = source,
		.machine = number_of_machine(),
		.keep_query = source->settings->values[KEEP_QUERY],
	};
	bool bind = !source->host->selection->whole_machine;
	int err;

	/* no two recordings of a machine have begun at the same ns, or had a request in each ns */
	if (requests)
		requests->track = requests_track_new(&to, clock_ns());
	if (requests && requests->track)
		requests->marker = requests_marker_new(requests->track);
	if (requests)
		requests->contexts = requests_contexts_new(
			bpf_map__fd(source->host->probes->maps.requests_contexts));
	if (requests)
		requests->goroutines = requests_goroutines_new(
			bpf_map__fd(source->host->probes->maps.requests_go_processes));
	if (requests)
		requests->coroutines = requests_coroutines_new(
			bpf_map__fd(source->host->probes->maps.requests_python_processes));
	if (!requests || !requests->marker || !requests->contexts || !requests->goroutines ||
	    !requests->coroutines)
		return fail_errno(why, -ENOMEM, NULL, "cannot record requests");
	err = probed_images_new(&requests_tls_kind, source->host->probes->progs.requests_tls_site,
				-1, bind, &requests->tls);
	if (!err)
		err = probed_images_new(&requests_uvloop_kind,
					source->host->probes->progs.requests_uvloop_site, -1, bind,
					&requests->uvloop);
	return err ? fail_errno(why, err, NULL, "cannot record requests") : 0;
}

static const struct process *process_of(void *context, pid_t pid)
{
	const struct source *source = context;

	return samples_process(source->host->samples, pid);
}

/* The kernel's side looks again at what it has of processes. */
static void have_said(const struct source *source)
{
	__atomic_fetch_add(&source->host->probes->bss->requests_said, 1, __ATOMIC_SEQ_CST);
}

/* Which goroutine starts which is not known from now on. */
static bool too_many_goroutines(void *context, pid_t pid)
{
	struct source *source = context;
	struct requests *requests = source->state;
	bool is_left = requests_tls_leave_starts(requests->tls, pid);

	requests->unnoted += is_left;
	return is_left;
}

/* Of processes whose files were met, what their memory says. */
static void look_at_processes(struct source *source)
{
	struct requests *requests = source->state;

	requests_contexts_tick(requests->contexts, process_of, source);
	requests_coroutines_tick(requests->coroutines, process_of, source);
	requests_goroutines_tick(requests->goroutines, too_many_goroutines, source);
	have_said(source);
}

static int start(struct source *source, struct fail *why)
{
	struct requests *requests = source->state;
	struct probes *probes = source->host->probes;
	struct bpf_program *const programs[] = {
		probes->progs.requests_state,	      probes->progs.requests_received,
		probes->progs.requests_sent,	      probes->progs.requests_marked_write,
		probes->progs.requests_marked_pieces, probes->progs.requests_marked_call,
	};

	requests_marker_say(source->host, source->settings->values[MARKERS]);
	requests->has_started = true;
	/* what runs already is known before its first call */
	look_at_processes(source);
	return links_attach(&requests->links, programs, sizeof(programs) / sizeof(programs[0]),
			    "record requests", why);
}

static void handle_name(struct source *source, const void *record)
{
	struct requests *requests = source->state;

	requests_names_add(&requests->names, record);
}

static void handle_started(struct source *source, const void *record)
{
	struct requests *requests = source->state;

	requests_track_started(requests->track, record);
}

/* What a call had on a connection, in one of the forms of these records. */
static void handle_call(struct source *source, const void *of)
{
	struct requests *requests = source->state;
	const struct capture_head *head = of;
	struct requests_read read;
	const struct requests_record *record = &read.record;

	if (!requests_record_read(&read, head))
		source->damaged++;
	else if (head->kind == REQUESTS_CLOSED)
		requests_track_closed(requests->track, record->connection, head->time);
	else if (!source_is_meant(source, &record->identity))
		return;
	else if (head->kind == REQUESTS_OPENED)
		requests_track_opened(requests->track, record);
	else if (head->kind == REQUESTS_MARKED)
		requests_marker_handle(requests->marker, record);
	else if (head->time < source->host->since)
		requests_track_meet(requests->track, record);
	else
		requests_track_handle(requests->track, record);
}

/* What user space has lost; the kernel's side is counted with that of other sources. */
static void report_losses(struct source *source)
{
	const struct requests *requests = source->state;
	struct requests_counts counts = requests_track_counts(requests->track);
	struct requests_marker_counts marked = requests_marker_counts(requests->marker);
	const struct loss_count losses[] = {
		{"request lost: too many connections", counts.refused},
		{"request lost: too many without an answer on one connection", counts.queued},
		{"request lost: it began within a call, behind what is copied of one",
		 counts.protocols.unseen},
		{"requests: messages that are not what their protocol has",
		 counts.protocols.strange},
		{"requests: heads too long to be copied: read in part",
		 counts.protocols.long_heads},
		{"requests: of connections from before the recording: their path is not known",
		 counts.protocols.no_path},
		{"requests: answers whose requests are not in it: from before the recording, or "
		 "not understood",
		 counts.before},
		{"requests: data of which it is not known who sent it", counts.unknown_side},
		{"requests: data that could not be read from the memory of its program",
		 counts.unread},
		{"requests: data moved by a call whose memory is not read, as of registered "
		 "buffers of io_uring and 32-bit programs",
		 counts.no_call},
		{"requests: data of a known connection whose record was lost", counts.gaps},
		{"requests: made by a thread that served several at once: for which is not known",
		 counts.ambiguous},
		{"requests: made soon after the recording began, too many to be checked: their "
		 "thread may have made them for one from before",
		 counts.unchecked},
		{"requests: processes of Go that make too many goroutines, or many before they ask "
		 "for anything: which one starts which is not known",
		 requests->unnoted},
		{"requests: files whose encryption could not be probed",
		 requests->tls->refused.count},
		{"requests: files of uvloop whose tasks could not be probed where they write",
		 requests->uvloop->refused.count},
		{"requests: processes whose contexts of threads could not be found",
		 requests_contexts_refused(requests->contexts)},
		{"requests: processes of Python whose tasks could not be found",
		 requests_coroutines_refused(requests->coroutines)},
		{"requests: libraries that encrypted for a moment before they were probed",
		 requests->late},
		{"requests: not over as their film ended, and too many to be in it",
		 requests->unwritten},
		{"requests: names of Unix sockets: too many", requests->names.refused},
		{"requests: damaged records", counts.damaged},
		{"requests: markers that are not as they should be", marked.strange},
		{"requests: markers cut: what one write had was too long", marked.cut},
		{"requests: writes to /dev/null, maybe of markers, that could not be read from the "
		 "memory of their program",
		 marked.unread},
		{"requests: markers of an end of what was not begun, or before the recording",
		 marked.unbegun},
		{"requests: marked, not ended, and too many of their process: taken for not over",
		 marked.given_up},
		{"request lost: too many that are marked, and not ended", marked.refused},
		{"requests: endpoints without a name of their own: too many in one film",
		 requests->endpoints_refused},
	};

	loss_counts_emit_all(source->host->film, source->event, losses);
}

static void tick(struct source *source, uint64_t now)
{
	struct requests *requests = source->state;

	look_at_processes(source);
	requests_track_tick(requests->track, now);
	report_losses(source);
}

static void leave(struct source *source, uint64_t now)
{
	struct requests *requests = source->state;

	requests->unwritten += requests_track_leave(requests->track, now);
	report_losses(source);
}

static void turn(struct source *source)
{
	struct requests *requests = source->state;

	map_free(&requests->endpoints);
	map_free(&requests->stacks);
	requests_track_turn(requests->track);
}

static void detach(struct source *source)
{
	struct requests *requests = source->state;

	if (!requests)
		return;
	probed_images_detach(requests->tls);
	probed_images_detach(requests->uvloop);
	links_free(&requests->links);
}

static void finish(struct source *source, uint64_t now)
{
	struct requests *requests = source->state;

	requests_track_finish(requests->track, now);
	report_losses(source);
}

static void free_state(struct source *source)
{
	struct requests *requests = source->state;

	detach(source);
	if (requests) {
		requests_marker_free(requests->marker);
		requests_track_free(requests->track);
		probed_images_free(requests->tls);
		probed_images_free(requests->uvloop);
		requests_names_free(&requests->names);
		requests_contexts_free(requests->contexts);
		requests_goroutines_free(requests->goroutines);
		requests_coroutines_free(requests->coroutines);
		slow_requests_free(&requests->slow);
		map_free(&requests->endpoints);
		map_free(&requests->stacks);
	}
	free(requests);
}

static unsigned int image_new(struct source *source, pid_t pid, const struct image *image)
{
	struct requests *requests = source->state;
	unsigned int tls, uvloop;

	if (requests && requests->contexts)
		requests_contexts_meet(requests->contexts, pid, image);
	if (requests && requests->goroutines)
		requests_goroutines_meet(requests->goroutines, pid, image);
	if (requests && requests->coroutines)
		requests_coroutines_meet(requests->coroutines, pid, image);
	if (requests)
		have_said(source);
	if (!requests || !requests->tls || !requests->uvloop)
		return 0;
	probed_images_meet(requests->tls, pid, image, &tls);
	probed_images_meet(requests->uvloop, pid, image, &uvloop);
	return tls | uvloop;
}

static void image_missed(struct source *source, const char *path, uint64_t ran_ns)
{
	struct requests *requests = source->state;

	(void)path;
	(void)ran_ns;
	requests->late += requests->has_started;
}

static void process_ended(struct source *source, pid_t pid)
{
	struct requests *requests = source->state;

	if (requests && requests->tls)
		probed_images_ended(requests->tls, pid);
	if (requests && requests->uvloop)
		probed_images_ended(requests->uvloop, pid);
	if (requests && requests->marker)
		requests_marker_process_ended(requests->marker, pid, source_now(source));
}

/* It has ended, or runs another program, whose contexts lie elsewhere. */
static void process_gone(struct source *source, pid_t pid)
{
	struct requests *requests = source->state;

	if (requests && requests->contexts)
		requests_contexts_ended(requests->contexts, pid);
	if (requests && requests->goroutines)
		requests_goroutines_ended(requests->goroutines, pid);
	if (requests && requests->coroutines)
		requests_coroutines_ended(requests->coroutines, pid);
	if (requests)
		have_said(source);
}

static const struct source_record records[] = {
	SOURCE_RECORD(REQUESTS_DATA, capture_head, handle_call),
	SOURCE_RECORD(REQUESTS_WORKS, capture_head, handle_call),
	SOURCE_RECORD(REQUESTS_MORE, capture_head, handle_call),
	SOURCE_RECORD(REQUESTS_OPENED, capture_head, handle_call),
	SOURCE_RECORD(REQUESTS_CLOSED, capture_head, handle_call),
	SOURCE_RECORD(REQUESTS_MARKED, capture_head, handle_call),
	SOURCE_RECORD(REQUESTS_STARTED, requests_started, handle_started),
	SOURCE_RECORD(REQUESTS_HANDLES, requests_started, handle_started),
	SOURCE_RECORD(REQUESTS_ASKS, requests_started, handle_started),
	SOURCE_RECORD(REQUESTS_UNIX_NAME, requests_unix_record, handle_name),
	{0},
};

static const struct source_event events[] = {{EVENT_REQUESTS, "sockets"}, {0}};

static const char *const libraries[] = {"libssl", "_ssl.", "loop.", NULL};

const struct source_type source_requests = {
	.events = events,
	.images.libraries = libraries,
	.needs = needs,
	.options = options,
	.make = make,
	.ring_bytes = ring_bytes,
	.prepare = prepare,
	.attach = attach,
	.start = start,
	.records = records,
	.tick = tick,
	.closing = report_losses,
	.leave = leave,
	.turn = turn,
	.detach = detach,
	.finish = finish,
	.free = free_state,
	.images.arrived = image_new,
	.images.missed = image_missed,
	.processes.gone = process_gone,
	.processes.ended = process_ended,
};
