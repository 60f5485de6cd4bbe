// SPDX-License-Identifier: Apache-2.0
/*
 * rdma, rdma-latency and rdma-memory: what programs transfer by the verbs of libibverbs, how long
 * that takes from the post to the completion that the program polls, and what memory they have
 * registered. Probes in the library show where programs have the functions of their provider; those
 * get probes of their own (providers.h). Where poll_cq() has found a completion is learned
 * (learner.h), since it is called all the time and seldom finds one.
 */
#include "sources/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "bpf/probes.skel.h"
#include "bpf/rdma/abi.h"
#include "film/events.h"
#include "sources/loss_counts.h"
#include "sources/memory/live.h"
#include "sources/probed_images.h"
#include "sources/rdma/learner.h"
#include "sources/rdma/library.h"
#include "sources/rdma/providers.h"
#include "sources/rdma/queues.h"
#include "sources/rdma/scan.h"

/* Its events, in the order in which source_rdma names them. */
enum {
	OF_BYTES,
	OF_LATENCY,
	OF_MEMORY,
};

/* As many samples as a CPU can have in a second, about. */
#define RATE 20000

/* The most registrations that have begun and not ended: a thread has one. */
#define CALLS_MAX (1u << 16)

/* No request moves more: a program that says so says anything. */
#define BYTES_MAX (1ull << 40)

struct rdma {
	struct probed_images *libraries;
	struct rdma_providers providers;
	struct rdma_learner learner;
	struct rdma_queues *queues;
	struct waiting *calls; /* registrations that have begun */
	struct mem_live *live;
	vec(pid_t) unscanned; /* processes whose memory is to be searched */
	uint64_t begun;	      /* when the film did */
	uint64_t attached;    /* when the recording did */
	uint64_t unread, stackless, failed, early, unsure, unscannable;
	uint64_t before, foreign; /* of memory: processes and regions from before */
	uint64_t late;		  /* processes that had run a moment without probes */
};

static unsigned int needs(const struct source *source)
{
	(void)source;
	return SOURCE_STACKS | SOURCE_RUNTIMES | SOURCE_IMAGES | SOURCE_PROCESSES;
}

static unsigned int rate(const struct source *source)
{
	(void)source;
	return RATE;
}

static void prepare(struct source *source)
{
	probed_files_prepare(source->host->probes->progs.rdma_site);
	probed_files_prepare(source->host->probes->progs.rdma_learn);
}

static void completions_unseen(void *context, pid_t pid)
{
	struct rdma *rdma = context;

	rdma_queues_doubt(rdma->queues, (uint32_t)pid);
}

static int begin_learner(struct rdma *rdma, struct probes *probes)
{
	const struct rdma_learner_maps maps = {
		.learnings = bpf_map__fd(probes->maps.rdma_learnings),
		.polls = bpf_map__fd(probes->maps.rdma_polls),
		.polling = bpf_map__fd(probes->maps.rdma_polling),
	};

	rdma->learner.unseen = completions_unseen;
	rdma->learner.context = rdma;
	return rdma_learner_begin(&rdma->learner, probes->progs.rdma_learn, &maps);
}

static int attach(struct source *source, struct fail *why)
{
	struct rdma *rdma = source->state = calloc(1, sizeof(*rdma));
	struct probes *probes = source->host->probes;
	int err = rdma ? rdma_queues_new(&rdma->queues) : -ENOMEM;

	if (rdma)
		rdma->attached = clock_ns();
	if (!err && (mem_live_new(&rdma->live) || waiting_new(CALLS_MAX, &rdma->calls)))
		err = -ENOMEM;
	if (!err)
		err = rdma_providers_begin(&rdma->providers, probes->progs.rdma_site);
	if (!err)
		err = begin_learner(rdma, probes);
	if (!err)
		err = probed_images_new(&rdma_library_kind, probes->progs.rdma_site, -1,
					!source->host->selection->whole_machine, &rdma->libraries);
	return err ? fail_errno(why, err, NULL, "cannot record RDMA") : 0;
}

static int start(struct source *source, struct fail *why)
{
	struct rdma *rdma = source->state;

	(void)why;
	rdma->begun = clock_ns();
	source_follow_selected(source);
	return 0;
}

static struct samples_place mark_place(struct source *source, struct samples_place place,
				       const char *words)
{
	place.stack = samples_words(source->host->samples, place.stack, words);
	return place;
}

static void add_sample(struct source *source, unsigned int of, uint64_t time,
		       const struct samples_place *place, uint64_t value)
{
	if (source->events[of] && place->thread)
		samples_add(source->host->samples, source->events[of], time, place, value);
}

/* -- requests ---------------------------------------------------------------------------------- */

static const char *opcode_words(uint32_t opcode)
{
	switch (opcode) {
	case VERBS_WRITE:
	case VERBS_WRITE_IMMEDIATE:
		return "[RDMA write]";
	case VERBS_READ:
		return "[RDMA read]";
	case VERBS_COMPARE_SWAP:
	case VERBS_FETCH_ADD:
		return "[RDMA atomic]";
	case RDMA_RECEIVE:
		return "[RDMA receive]";
	case RDMA_UNKNOWN:
		return "[RDMA operation]";
	default:
		return "[RDMA send]";
	}
}

/* Of a receive it is not known yet how much will come. */
static void post(struct source *source, const struct rdma_posted *posted,
		 const struct rdma_request *request, const struct capture_record *record,
		 const struct samples_place *place)
{
	struct rdma *rdma = source->state;
	struct rdma_queue_name name = {record->identity.pid, posted->pair, RDMA_QUEUE_SEND};
	const struct rdma_waiting waiting = {
		.id = request->id,
		.time = record->head.time,
		.bytes = request->bytes,
		.opcode = request->opcode,
		.is_signaled = (request->flags & VERBS_SIGNALED) != 0,
		.place = mark_place(source, *place, opcode_words(request->opcode)),
	};

	if (request->bytes > BYTES_MAX) {
		source->damaged++;
		return;
	}
	if (request->opcode == RDMA_RECEIVE)
		name.kind = posted->is_shared ? RDMA_QUEUE_SHARED : RDMA_QUEUE_RECEIVE;
	else
		add_sample(source, OF_BYTES, waiting.time, &waiting.place, waiting.bytes);
	rdma_queues_post(rdma->queues, name, &waiting);
}

static struct samples_place resolve(struct source *source, const struct capture_record *record,
				    const struct capture_handover *handover)
{
	struct samples_place place = samples_resolve(source->host->samples, record, handover);
	struct rdma *rdma = source->state;

	if (!record->has_user && !source->host->kernel_only) {
		rdma->stackless++;
		place.stack = samples_words(source->host->samples, 0,
					    "[stack not taken: too many operations]");
	}
	return place;
}

/* The words behind the frames. Null: they are damaged. */
static const struct rdma_posted *posted_of(const struct capture_record *record)
{
	size_t frames = (size_t)record->user_frames + record->kernel_frames;
	size_t at = sizeof(*record) + frames * sizeof(uint64_t);
	const struct rdma_posted *posted = (const void *)((const char *)record + at);

	return record->head.size >= at + sizeof(*posted) && posted->count <= RDMA_REQUESTS_MAX &&
			       record->head.size ==
				       at + RDMA_POST_WORDS(posted->count) * sizeof(uint64_t)
		       ? posted
		       : NULL;
}

static void handle_post(struct source *source, const struct capture_record *record,
			const struct capture_handover *handover)
{
	const struct rdma_posted *posted = posted_of(record);
	struct rdma *rdma = source->state;
	struct samples_place place;

	if (!posted) {
		source->damaged++;
		return;
	}
	if (!source_is_meant(source, &record->identity))
		return;
	rdma->unread += posted->unread;
	place = resolve(source, record, handover);
	for (uint32_t i = 0; i < posted->count; i++)
		post(source, posted, (const struct rdma_request *)(posted + 1) + i, record, &place);
}

/* -- completions ------------------------------------------------------------------------------- */

static void receive(struct source *source, const struct rdma_done *done, bool is_known,
		    struct rdma_waiting *request)
{
	struct rdma *rdma = source->state;

	if (!is_known) {
		rdma->early++;
		request->place.thread = source_first_thread(source, done->pid);
		request->place.stack =
			samples_words(source->host->samples, 0, "[posted before it was recorded]");
		request->place = mark_place(source, request->place, opcode_words(RDMA_RECEIVE));
	}
	add_sample(source, OF_BYTES, done->head.time, &request->place, done->completion.bytes);
}

static bool find_received(struct rdma *rdma, const struct rdma_done *done,
			  struct rdma_waiting *request)
{
	struct rdma_queue_name name = {done->pid, done->completion.pair, RDMA_QUEUE_RECEIVE};

	if (rdma_queues_complete(rdma->queues, name, done->completion.id, request))
		return true;
	name = (struct rdma_queue_name){done->pid, 0, RDMA_QUEUE_SHARED};
	return rdma_queues_complete(rdma->queues, name, done->completion.id, request);
}

static void handle_done(struct source *source, const void *of)
{
	const struct rdma_done *done = of;
	const struct verbs_completion *completion = &done->completion;
	struct rdma_queue_name name = {done->pid, completion->pair, RDMA_QUEUE_SEND};
	struct rdma *rdma = source->state;
	struct rdma_waiting request = {0};
	bool is_sent;

	/* those that the filter has not decided on are those whose posts are known to be meant */
	if (completion->status) {
		is_sent = rdma_queues_complete(rdma->queues, name, completion->id, &request);
		rdma->failed += is_sent || find_received(rdma, done, &request);
		return;
	}
	if (completion->opcode & VERBS_RECEIVED) {
		bool is_known = find_received(rdma, done, &request);

		if (is_known || !done->undecided)
			receive(source, done, is_known, &request);
		return;
	}
	if (!rdma_queues_complete(rdma->queues, name, completion->id, &request)) {
		rdma->early += !done->undecided;
		return;
	}
	rdma->unsure += !request.is_certain;
	if (request.is_certain && done->head.time > request.time)
		add_sample(source, OF_LATENCY, done->head.time, &request.place,
			   done->head.time - request.time);
}

/* -- registered memory ------------------------------------------------------------------------- */

static void handle_register(struct source *source, const struct capture_record *record,
			    const struct capture_handover *handover)
{
	const struct capture_identity *identity = &record->identity;
	struct rdma *rdma = source->state;
	struct waiting_half half = {.key = identity->key, .pid = identity->pid};

	if (!source->events[OF_MEMORY] || !source_is_meant(source, identity))
		return;
	half.time = record->head.time;
	half.place = resolve(source, record, handover);
	waiting_put(rdma->calls, &half);
}

static void handle_memory(struct source *source, const void *of)
{
	const struct rdma_memory *memory = of;
	struct rdma *rdma = source->state;
	struct waiting_half half = {.pid = memory->pid};

	if (!source->events[OF_MEMORY])
		return;
	if (!memory->key) {
		bool is_known = mem_live_remove(rdma->live, memory->pid, memory->region);

		rdma->foreign += !is_known && !memory->undecided;
		return;
	}
	if (!waiting_pop(rdma->calls, memory->pid, memory->key, &half)) {
		half.place.thread = source_first_thread(source, memory->pid);
		half.place.stack = samples_words(source->host->samples, 0, "[stack not known]");
		if (memory->undecided)
			return;
	}
	if (!memory->region || !memory->bytes || !half.place.thread)
		return;
	half.time = memory->head.time;
	half.value = memory->bytes;
	half.key = memory->region;
	mem_live_allocated(rdma->live, source->host->samples, source->host->film,
			   source->events[OF_MEMORY], rdma->begun, &half);
}

/* -- tables ------------------------------------------------------------------------------------ */

/* What a process has is looked up in its mappings. */
struct looking {
	struct source *source;
	const struct process *process;
	uint64_t found;
};

static bool found_table(void *context, const struct rdma_table *table)
{
	struct looking *looking = context;
	struct rdma *rdma = looking->source->state;
	bool is_one = rdma_providers_table(&rdma->providers, looking->process, table);

	looking->found += is_one;
	return is_one;
}

static void handle_table(struct source *source, const void *of)
{
	const struct rdma_table *table = of;
	struct capture_identity identity = {.pid = table->pid, .undecided = table->undecided != 0};
	struct looking looking = {.source = source};
	struct rdma *rdma = source->state;

	memcpy(identity.comm, table->comm, sizeof(identity.comm));
	if (!source_is_meant(source, &identity))
		return;
	looking.process = samples_process(source->host->samples, (pid_t)table->pid);
	if (!looking.process || !found_table(&looking, table))
		return;
	rdma_learner_step(&rdma->learner, &rdma->providers, clock_ns());
	if (table->begins && rdma_learner_sees(&rdma->learner, &rdma->providers, (pid_t)table->pid))
		rdma_queues_open(rdma->queues, table->pid, table->begins);
}

static void handle_learned(struct source *source, const void *of)
{
	struct rdma *rdma = source->state;

	(void)of;
	rdma_learner_step(&rdma->learner, &rdma->providers, clock_ns());
}

/* Contexts of processes that ran before. */
static void scan(struct source *source, pid_t pid)
{
	struct rdma *rdma = source->state;
	struct looking looking = {.source = source,
				  .process = samples_process(source->host->samples, pid)};

	if (looking.process && !rdma_scan(pid, found_table, &looking) && !looking.found)
		rdma->unscannable++;
}

static void drained(struct source *source, uint64_t now)
{
	struct rdma *rdma = source->state;

	if (!source->host->samples)
		return;
	while (rdma->unscanned.count)
		scan(source, rdma->unscanned.at[--rdma->unscanned.count]);
	rdma_learner_step(&rdma->learner, &rdma->providers, now);
}

/* -- processes --------------------------------------------------------------------------------- */

static unsigned int image_new(struct source *source, pid_t pid, const struct image *image)
{
	struct rdma *rdma = source->state;
	const struct process *process = NULL;
	unsigned int state = 0;
	bool was_known;

	if (!rdma || !rdma->libraries)
		return 0;
	was_known = probed_images_has(rdma->libraries, pid);
	if (probed_images_meet(rdma->libraries, pid, image, &state) < 0 || was_known)
		return state;
	if (source->host->samples)
		process = samples_process(source->host->samples, pid);
	/* a child that was forked since cannot use the contexts of its parent */
	if (process && (process->executed || process->start > rdma->attached))
		return state;
	rdma->before++;
	rdma->unscannable += !vec_push(&rdma->unscanned, pid);
	return state;
}

/* It runs another program from now on, or none. */
static void process_gone(struct source *source, pid_t pid)
{
	struct rdma *rdma = source->state;

	if (!rdma || !rdma->live)
		return;
	rdma_queues_forget(rdma->queues, (uint32_t)pid);
	rdma_providers_ended(&rdma->providers, pid);
	if (rdma->calls)
		waiting_forget(rdma->calls, (uint32_t)pid);
	if (source->events[OF_MEMORY] && source->last)
		mem_live_ended(rdma->live, source->host->film, source->events[OF_MEMORY],
			       (uint32_t)pid, source->last);
}

static void process_ended(struct source *source, pid_t pid)
{
	struct rdma *rdma = source->state;

	if (rdma && rdma->libraries)
		probed_images_ended(rdma->libraries, pid);
}

static void image_missed(struct source *source, const char *path, uint64_t ran_ns)
{
	struct rdma *rdma = source->state;

	(void)path;
	(void)ran_ns;
	rdma->late++;
}

/* -- ticks and ends ---------------------------------------------------------------------------- */

static void report_memory_losses(const struct source *source)
{
	const struct rdma *rdma = source->state;
	const struct waiting_counts counts = mem_live_counts(rdma->live);
	const struct loss_count losses[] = {
		{"registered memory of a process that ran before: what it had registered by then "
		 "is not known",
		 rdma->before},
		{"memory region freed that was registered before, or in a way that is not seen",
		 rdma->foreign},
		{"registered memory left out: the recorder held too many regions", counts.evicted},
		{"registered memory left out: no memory", counts.refused},
	};

	loss_counts_emit_all(source->host->film, source->events[OF_MEMORY], losses);
}

static void report_unlearned(const struct source *source)
{
	const struct rdma *rdma = source->state;
	char words[256];

	if (!rdma->learner.failed)
		return;
	snprintf(words, sizeof(words), "completions of a provider not seen: %s", rdma->learner.why);
	film_loss(source->host->film, source->event, words, rdma->learner.failed);
}

static void report_losses(struct source *source)
{
	const struct rdma *rdma = source->state;
	const struct rdma_queues_counts queues = rdma_queues_counts(rdma->queues);
	const struct waiting_counts calls = waiting_counts(rdma->calls);
	const struct rdma_providers *providers = &rdma->providers;
	const struct loss_count losses[] = {
		{"RDMA operation lost: its request could not be read, or too many were posted at "
		 "once",
		 rdma->unread},
		{"stack of an RDMA operation not taken: too many a second", rdma->stackless},
		{"RDMA operation that failed: it has no latency", rdma->failed},
		{"completion of an RDMA operation that was posted before it was recorded",
		 rdma->early},
		{"latency of an RDMA operation not known: its queue was in use before, and has one "
		 "id for all",
		 rdma->unsure},
		{"latency of an RDMA operation not known: it has no completion of its own",
		 queues.silent},
		{"latency of an RDMA operation not known: too many waited for completions",
		 queues.refused},
		{"stack of a registration lost: too many at once", calls.evicted + calls.refused},
		{"RDMA of a process not seen: its memory is too large to be searched, or cannot be "
		 "read, or there was no memory for that",
		 rdma->unscannable},
		{"RDMA of a process not seen for a moment, before it had probes", rdma->late},
		{"RDMA of a function of a provider not seen: the kernel refuses its probe",
		 providers->uprobes ? uprobes_counts(providers->uprobes).refused : 0},
	};

	loss_counts_emit_all(source->host->film, source->event, losses);
	if (source->events[OF_MEMORY])
		report_memory_losses(source);
	report_unlearned(source);
	probed_refused_report(&rdma->libraries->refused, source->host->film, source->event,
			      "RDMA of a library of verbs not seen");
	probed_refused_report(&rdma->providers.refused, source->host->film, source->event,
			      "RDMA of a provider not seen");
}

static void tick(struct source *source, uint64_t now)
{
	struct rdma *rdma = source->state;

	if (source->events[OF_MEMORY])
		mem_live_tick(rdma->live, source->host->film, source->events[OF_MEMORY], now);
	report_losses(source);
}

static void report_memory(struct source *source, uint64_t now)
{
	struct rdma *rdma = source->state;

	if (source->events[OF_MEMORY])
		mem_live_report(rdma->live, source->host->film, source->events[OF_MEMORY], now);
	report_losses(source);
}

static void closing(struct source *source)
{
	if (source->last)
		report_memory(source, source->last);
}

/* Of what goes on, the places were of the film before. */
static void turn(struct source *source)
{
	struct rdma *rdma = source->state;

	rdma->begun = clock_ns();
	waiting_empty(rdma->calls, NULL, NULL);
	rdma_queues_empty(rdma->queues);
	if (source->events[OF_MEMORY])
		mem_live_turn(rdma->live, source->host->samples, source_first_thread, source);
}

static void detach(struct source *source)
{
	struct rdma *rdma = source->state;

	if (!rdma)
		return;
	rdma_learner_end(&rdma->learner);
	rdma_providers_detach(&rdma->providers);
	probed_images_detach(rdma->libraries);
}

static void free_state(struct source *source)
{
	struct rdma *rdma = source->state;

	detach(source);
	if (rdma) {
		rdma_providers_free(&rdma->providers);
		probed_images_free(rdma->libraries);
		rdma_queues_free(rdma->queues);
		waiting_free(rdma->calls);
		mem_live_free(rdma->live);
		vec_free(&rdma->unscanned);
	}
	free(rdma);
}

static const struct source_record records[] = {
	SOURCE_RECORD_WITH_STACK(RDMA_POST, handle_post),
	SOURCE_RECORD(RDMA_DONE, rdma_done, handle_done),
	SOURCE_RECORD_WITH_STACK(RDMA_REGISTER, handle_register),
	SOURCE_RECORD(RDMA_MEMORY, rdma_memory, handle_memory),
	SOURCE_RECORD(RDMA_TABLE, rdma_table, handle_table),
	SOURCE_RECORD(RDMA_LEARNED, capture_head, handle_learned),
	{0},
};

static const struct source_event events[] = {
	{EVENT_RDMA, "uprobes"},
	{EVENT_RDMA_LATENCY, "uprobes"},
	[OF_MEMORY] = {EVENT_RDMA_MEMORY, "uprobes"},
	{0},
};

const struct source_type source_rdma = {
	.events = events,
	.images.libraries = rdma_library_names,
	.needs = needs,
	.rate = rate,
	.prepare = prepare,
	.attach = attach,
	.start = start,
	.records = records,
	.drained = drained,
	.tick = tick,
	.closing = closing,
	.turn = turn,
	.detach = detach,
	.finish = report_memory,
	.free = free_state,
	.images.arrived = image_new,
	.images.missed = image_missed,
	.processes.gone = process_gone,
	.processes.ended = process_ended,
};
