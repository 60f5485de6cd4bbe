// SPDX-License-Identifier: Apache-2.0
/*
 * threads: the lives of threads. bpf/sched/threads.bpf.c logs every switch; the logs of all CPUs,
 * merged, become turns (lives.c). Threads that sleep all the time are found in the list of tasks:
 * before switches are logged, so that it is known what the first waits are for, and after that, so
 * that nothing falls in between. Where a log had no room, a list shows who has run unseen.
 */
#include "sources/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/vec.h"
#include "bpf/sched/threads_abi.h"
#include "sources/sched/descriptors.h"
#include "sources/sched/hangs.h"
#include "sources/sched/lives.h"
#include "sources/sched/lives_listing.h"
#include "sources/loss_counts.h"
#include "sources/sched/objects.h"
#include "sources/sched/off_cpu_count.h"
#include "sources/sched/off_cpu_row.h"
#include "sources/sched/scheduler.h"
#include "resolve/task_list.h"
#include "sources/sched/threads_locks.h"
#include "sources/sched/threads_logs.h"
#include "sources/waiting.h"
#include "film/events.h"
#include "bpf/probes.skel.h"

#define SECOND_NS 1000000000ull

/*
 * A record may be written that much later than its time says, where the CPU is a virtual one that
 * does not run just then; and the stack of a wait comes later than the switch that ended it.
 */
#define LATE_NS 50000000ull

/*
 * After this long without a report, a life is reported up to now: with the time between two
 * drains, that is less than what a row of the film may have.
 */
#define CUT_NS 700000000ull

/* The most stacks that wait for their switches. */
#define STACKS_MAX 65536

struct threads {
	vec(struct bpf_link *) links;
	struct threads_logs *logs;
	struct lives *lives;
	struct scheduler scheduler;
	struct task_list *list;
	struct objects *objects;
	struct lock_book *locks;
	struct waiting *stacks; /* by the thread's number, and when it came in */
	struct lives_listing listing;
	struct pipe_ends pipes;
	bool finds_pipes; /* for the list that is being read */
	uint64_t until;	  /* all is reported up to there */
	uint64_t lost;	  /* records of logs, when last looked at */
	uint64_t lists_failed, damaged;
	char arch[65]; /* uname -m */
};

static uint64_t stacks_of(const struct source *source)
{
	return source->settings->values[1];
}

static unsigned int needs(const struct source *source)
{
	(void)source;
	return SOURCE_STACKS | SOURCE_RUNTIMES | SOURCE_BEFORE_EXEC | SOURCE_RESTING;
}

static unsigned int rate(const struct source *source)
{
	uint64_t stacks = stacks_of(source);

	return stacks && stacks < OFF_CPU_STACKS_USUAL ? (unsigned int)stacks
						       : OFF_CPU_STACKS_USUAL;
}

static uint32_t ring_bytes(const struct source *source, unsigned int cpus)
{
	return rings_bytes_for_samples(rate(source), cpus);
}

static void prepare(struct source *source)
{
	struct probes *probes = source->host->probes;
	uint64_t stacks = stacks_of(source);
	int cpus = libbpf_num_possible_cpus();

	probes->rodata->threads_min_wait = source->settings->values[0];
	probes->rodata->threads_stack_interval = stacks ? SECOND_NS / stacks : 0;
	probes->rodata->threads_at_return = !off_cpu_has_switch_end(source->host->types);
	bpf_program__set_autoload(probes->rodata->threads_at_return ? probes->progs.threads_back
								    : probes->progs.threads_return,
				  false);
	descriptors_prepare(probes);
	off_cpu_count_prepare(probes, source->host->types);
	threads_logs_prepare(probes, cpus > 0 ? (unsigned int)cpus : 1, source->host->ring_limit);
}

/*
 * -- what lives ask for -------------------------------------------------------------------------
 */

static uint32_t thread_row(void *context, const struct capture_identity *identity)
{
	const struct source *source = context;

	return samples_thread(source->host->samples, identity);
}

static uint32_t stack_of_wait(void *context, uint32_t number, uint64_t in, struct lives_lock *lock)
{
	const struct source *source = context;
	struct threads *threads = source->state;
	struct lives_lock kept;
	struct waiting_half half;

	if (!waiting_take(threads->stacks, number, in, &half))
		return 0;
	kept = threads_lock_kept(&half);
	if (kept.address)
		*lock = kept;
	return half.place.stack;
}

static uint32_t object_of_wait(void *context, uint32_t number)
{
	const struct source *source = context;
	struct threads *threads = source->state;

	return objects_row(threads->objects, number);
}

static void write_turn(void *context, const struct film_turn *turn)
{
	const struct source *source = context;

	film_turn(source->host->film, source->event, turn);
}

static int attach(struct source *source, struct fail *why)
{
	struct probes *probes = source->host->probes;
	struct threads *threads = source->state = calloc(1, sizeof(*threads));
	const struct lives_to to = {thread_row, stack_of_wait, object_of_wait, write_turn, source};
	const struct objects_to objects_to = {source_mark_at, source};
	int err;

	if (threads) {
		struct utsname machine;

		uname(&machine);
		memcpy(threads->arch, machine.machine, sizeof(threads->arch));
		threads->lives = lives_new(&to);
		threads->objects = objects_new(&objects_to);
	}
	if (!threads || !threads->lives || !threads->objects ||
	    waiting_new(STACKS_MAX, &threads->stacks) ||
	    lock_book_new(source->host, probes->maps.threads_lock_runtimes, &threads->locks))
		return fail_errno(why, -ENOMEM, NULL, "cannot record threads");
	err = threads_logs_new(probes, &threads->logs, why);
	return err ? err : task_list_new(probes->progs.threads_tasks, &threads->list, why);
}

/*
 * -- the list of tasks --------------------------------------------------------------------------
 */

/* What is behind a record's frames; null: the record is damaged. */
static const struct threads_listed *listed_of(const struct capture_record *record)
{
	size_t frames = (size_t)record->user_frames + record->kernel_frames;
	const struct threads_listed *listed =
		(const struct threads_listed *)((const uint64_t *)(record + 1) + frames);

	return record->head.kind == THREADS_LISTED &&
			       record->head.size ==
				       sizeof(*record) + frames * sizeof(uint64_t) + sizeof(*listed)
		       ? listed
		       : NULL;
}

static void take_listed(void *context, const struct capture_head *head,
			const struct capture_handover *from)
{
	const struct capture_record *record = (const struct capture_record *)head;
	const struct threads_listed *listed =
		head->size >= sizeof(*record) ? listed_of(record) : NULL;
	struct source *source = context;
	struct threads *threads = source->state;
	struct samples_place place = {0};
	struct lives_lock lock = {0};
	struct lives_listed row;

	threads->damaged += !listed;
	if (!listed || !source_is_meant(source, &record->identity))
		return;
	lives_meet(threads->lives, listed->thread, &record->identity, true, 0);
	if (!listed->runs && !listed->moved && source->host->probes->bss->threads_list_stacks) {
		place = samples_resolve(
			source->host->samples,
			scheduler_cut(&threads->scheduler, source->host->probes, record), from);
		lock = threads_lock_of_list(threads->locks,
					    threads->finds_pipes ? &threads->pipes : NULL, record,
					    &listed->wait);
	}
	row = (struct lives_listed){
		.time = record->head.time,
		.number = listed->thread,
		.cpu = listed->cpu,
		.count = listed->count,
		.runs = listed->runs,
		.moved = listed->moved,
		.object = listed->object,
		.ready = listed->ready,
		.evidence = off_cpu_row(&listed->wait, &place),
		.lock = lock,
	};
	if (!vec_push(&threads->listing.all, row))
		threads->lists_failed++;
}

/* Reads the list of tasks, to be taken in order with the switches of the logs. */
static int read_list(struct source *source, bool with_stacks)
{
	struct threads *threads = source->state;
	int err;

	if (!threads->listing.begun)
		threads->listing.begun = clock_ns();
	source->host->probes->bss->threads_list_stacks = with_stacks;
	err = task_list_read(threads->list, take_listed, source);
	threads->lists_failed += err != 0;
	return err;
}

/*
 * -- switches -----------------------------------------------------------------------------------
 */

static void take_logs(struct source *source, uint64_t until)
{
	struct threads *threads = source->state;
	struct threads_event event;

	while (threads_logs_next(threads->logs, until, &event)) {
		if (threads->listing.begun)
			lives_listing_give(&threads->listing, threads->lives, event.time);
		lives_take(threads->lives, &event);
	}
	lives_listing_give(&threads->listing, threads->lives, until);
	threads->until = until;
}

static void drained(struct source *source, uint64_t now)
{
	struct threads *threads = source->state;
	uint64_t lost;

	if (!threads || !threads->logs)
		return;
	take_logs(source, now - LATE_NS);
	lives_cut(threads->lives, threads->until, CUT_NS);
	lost = threads_logs_lost(threads->logs);
	if (lost != threads->lost && !threads->listing.begun)
		read_list(source, false);
	threads->lost = lost;
}

static void take_new(struct source *source, const struct capture_record *record)
{
	struct threads *threads = source->state;
	uint64_t executed = record->identity.value;
	bool meant = executed && source_is_meant(source, &record->identity);

	/* a process that user space decides on may have become meant by that, and so has ours */
	lives_meet(threads->lives, (uint32_t)record->identity.key, &record->identity, meant,
		   record->identity.undecided ||
				   (pid_t)record->identity.pid == source->host->command
			   ? executed
			   : 0);
}

static void take_stack(struct source *source, const struct capture_record *record,
		       const struct capture_handover *handover)
{
	struct threads *threads = source->state;
	struct waiting_half half = {
		.pid = (uint32_t)record->identity.key,
		.key = record->identity.value,
	};
	struct lives_lock lock;

	if (!source_is_meant(source, &record->identity))
		return;
	half.place = samples_resolve(
		source->host->samples,
		scheduler_cut(&threads->scheduler, source->host->probes, record), handover);
	lock = threads_lock_of_stack(threads->locks, record);
	threads_lock_keep(&half, &lock);
	waiting_put(threads->stacks, &half);
}

static void take_object(struct source *source, const struct capture_head *head)
{
	struct threads *threads = source->state;
	size_t before = sizeof(struct capture_record);

	if (head->size > before)
		objects_take(threads->objects,
			     (const void *)((const struct capture_record *)head + 1),
			     head->size - before);
}

static void take(struct source *source, const struct capture_head *head,
		 const struct capture_handover *handover)
{
	if (head->kind == THREADS_NEW)
		take_new(source, (const struct capture_record *)head);
	else if (head->kind == THREADS_STACK)
		take_stack(source, (const struct capture_record *)head, handover);
	else if (head->kind == THREADS_OBJECT)
		take_object(source, head);
}

/*
 * -- the verbs of a source ----------------------------------------------------------------------
 */

static void add_event(struct source *source)
{
	const struct threads *threads = source->state;
	struct film_event event = event_from(EVENT_THREADS, "sched");

	source->event = film_add_event(source->host->film, &event);
	lock_book_turn(threads->locks);
}

static int attach_all(struct source *source, struct fail *why)
{
	struct threads *threads = source->state;
	struct probes *probes = source->host->probes;
	struct bpf_program *const programs[] = {
		probes->rodata->threads_at_return ? probes->progs.threads_return
						  : probes->progs.threads_back,
		probes->progs.threads_rename,
		probes->progs.threads_made,
		probes->progs.threads_waking,
		probes->progs.threads_exec,
		probes->progs.threads_flock,
		probes->progs.threads_record_lock,
		probes->progs.threads_switch,
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		struct bpf_link *link;

		if (!bpf_program__autoload(programs[i]))
			continue;
		link = bpf_program__attach(programs[i]);
		if (!link)
			return fail_errno(why, -errno, "see 'stackcam doctor'",
					  "cannot record threads");
		if (!vec_push(&threads->links, link)) {
			bpf_link__destroy(link);
			return fail_errno(why, -ENOMEM, NULL, "cannot record threads");
		}
	}
	return 0;
}

static int start(struct source *source, struct fail *why)
{
	struct threads *threads = source->state;
	int err;

	add_event(source);
	lives_begin(threads->lives, UINT64_MAX);
	err = read_list(source, true);
	if (err)
		return fail_errno(why, err, NULL, "cannot list threads");
	err = attach_all(source, why);
	if (err)
		return err;
	lives_begin(threads->lives, clock_ns());
	/* what was listed until then is how it was before; and what is listed now, still is */
	threads->listing.begun = 0;
	lives_listing_give(&threads->listing, threads->lives, UINT64_MAX);
	threads->listing.all.count = threads->listing.next = 0;
	err = read_list(source, false);
	return err ? fail_errno(why, err, NULL, "cannot list threads") : 0;
}

/* What user space has lost; the kernel's side is counted with that of other sources. */
static void tell_losses(struct source *source)
{
	const struct threads *threads = source->state;
	struct lives_counts counts = lives_counts(threads->lives);
	const struct loss_count losses[] = {
		{"switch lost: the log of its CPU was full", threads->lost},
		{"time of a thread not known: switches were lost", counts.holes},
		{"thread not followed: too many of them, or no memory", counts.refused},
		{"switch of a thread that was not introduced", counts.unknown},
		{"stack of a wait not known: its record was lost, or is of the film before",
		 counts.stacks_missed},
		{"waker of a wait not known: it was not introduced, or there are too many threads",
		 counts.wakers_missed},
		{"object of a wait not known: its record was lost", counts.objects_missed},
		{"object of waits not known: its record is damaged, or there was no memory",
		 objects_lost(threads->objects)},
		{"holder of locks of a language's own not known: too many such processes",
		 lock_unmet(threads->locks)},
		{"threads: the list of them could not be read", threads->lists_failed},
		{"threads: a record of the list is damaged", threads->damaged},
	};

	loss_counts_emit(source->host->film, source->event, losses,
			 sizeof(losses) / sizeof(losses[0]));
}

/* A wait that has gone on for long: is it one that should be short? */
static void tell_hang(void *context, const struct capture_identity *identity, uint64_t since,
		      const struct film_wait *evidence)
{
	const struct source *source = context;
	const struct source_host *host = source->host;
	const struct threads *threads = source->state;
	const struct process *process = samples_process(host->samples, (pid_t)identity->pid);
	struct happening happening = {
		.kind = HAPPENING_HANG,
		.time = threads->until,
		.pid = (pid_t)identity->pid,
		.tid = (pid_t)identity->tid,
		.waited = threads->until - since,
		.what = hang_of(evidence, threads->arch),
	};

	if (!happening.what)
		return;
	snprintf(happening.thread, sizeof(happening.thread), "%.15s", identity->comm);
	snprintf(happening.process, sizeof(happening.process), "%s",
		 process ? process->comm : happening.thread);
	host->listener.happened(host->listener.context, &happening);
}

static void tick(struct source *source, uint64_t now)
{
	const struct source_host *host = source->host;
	struct threads *threads = source->state;

	(void)now;
	tell_losses(source);
	if (host->listener.happened && host->limits.hang)
		lives_each_long(threads->lives, threads->until, host->limits.hang, tell_hang,
				source);
}

/* All is reported up to what was drained; what waits then has its stack, too. */
static void closing(struct source *source)
{
	struct threads *threads = source->state;

	lives_cut(threads->lives, threads->until, 0);
	tell_losses(source);
	if (threads->listing.begun || source->settings->values[0] >= SECOND_NS)
		return;
	/* while the processes are there still */
	threads->finds_pipes = true;
	read_list(source, true);
	threads->finds_pipes = false;
	pipe_ends_free(&threads->pipes);
}

/* All that happened before now is in the logs. */
static void leave(struct source *source, uint64_t now)
{
	struct threads *threads = source->state;

	take_logs(source, now);
	lives_cut(threads->lives, now, 0);
	tell_losses(source);
}

static void turn(struct source *source)
{
	struct threads *threads = source->state;

	/* stacks are of the film before, and are listed again */
	vec_foreach (&threads->listing.all, row) {
		row->evidence.stack = 0;
		row->lock = (struct lives_lock){0};
	}
	lives_turn(threads->lives);
	objects_turn(threads->objects);
	waiting_empty(threads->stacks, NULL, NULL);
	add_event(source);
	read_list(source, true);
}

static void process_gone(struct source *source, pid_t pid)
{
	struct threads *threads = source->state;

	if (threads && threads->locks)
		lock_book_process_gone(threads->locks, pid);
}

static void detach(struct source *source)
{
	struct threads *threads = source->state;

	if (!threads)
		return;
	vec_foreach (&threads->links, link)
		bpf_link__destroy(*link);
	vec_free(&threads->links);
}

static void finish(struct source *source, uint64_t now)
{
	struct threads *threads = source->state;

	take_logs(source, now);
	lives_listing_give_late(&threads->listing, threads->lives);
	lives_cut(threads->lives, now, 0);
	threads->lost = threads_logs_lost(threads->logs);
	tell_losses(source);
}

static void free_state(struct source *source)
{
	struct threads *threads = source->state;

	detach(source);
	if (threads) {
		task_list_free(threads->list);
		threads_logs_free(threads->logs);
		lives_free(threads->lives);
		objects_free(threads->objects);
		lock_book_free(threads->locks);
		scheduler_free(&threads->scheduler);
		waiting_free(threads->stacks);
		vec_free(&threads->listing.all);
	}
	free(threads);
}

static const char *const events[] = {"threads", NULL};

static const struct source_option options[] = {
	OFF_CPU_MIN_WAIT,
	OFF_CPU_WAIT_STACKS,
	{0},
};

const struct source_type source_threads = {
	.events = events,
	.options = options,
	.needs = needs,
	.rate = rate,
	.ring_bytes = ring_bytes,
	.prepare = prepare,
	.attach = attach,
	.start = start,
	.take = take,
	.drained = drained,
	.tick = tick,
	.closing = closing,
	.leave = leave,
	.turn = turn,
	.detach = detach,
	.process_gone = process_gone,
	.finish = finish,
	.free = free_state,
};
