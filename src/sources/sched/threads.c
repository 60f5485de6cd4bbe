// SPDX-License-Identifier: Apache-2.0
/*
 * threads: the lives of threads. bpf/sched/slices.h logs every switch; the logs of all CPUs,
 * merged, become turns (lives.c). Threads that sleep all the time are found in the list of tasks:
 * before switches are logged, so that it is known what the first waits are for, and after that, so
 * that nothing falls in between. Where a log had no room, a list shows who has run unseen.
 */
#include "sources/sched/threads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "sources/sched/hangs.h"
#include "sources/sched/lives.h"
#include "sources/sched/lives_listing.h"
#include "sources/loss_counts.h"
#include "sources/sched/off_cpu_row.h"
#include "sources/sched/sched.h"
#include "sources/sched/threads_locks.h"
#include "sources/sched/threads_logs.h"
#include "sources/waiting.h"
#include "film/events.h"
#include "bpf/probes.skel.h"

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
	struct threads_logs *logs;
	struct lives *lives;
	struct waiting *stacks; /* by the thread's number, and when it came in */
	struct lives_listing listing;
	struct pipe_ends pipes;
	bool finds_pipes; /* for the list that is being read */
	uint64_t until;	  /* all is reported up to there */
	uint64_t lost;	  /* records of logs, when last looked at */
	uint64_t lists_failed;
	char arch[65]; /* uname -m */
};

static struct threads *threads_of(const struct source *source)
{
	return sched_of(source)->threads;
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
	struct threads *threads = threads_of(source);
	struct lives_lock kept;
	struct waiting_half half;

	if (!waiting_pop(threads->stacks, number, in, &half))
		return 0;
	kept = threads_lock_kept(&half);
	if (kept.address)
		*lock = kept;
	return half.place.stack;
}

static uint32_t object_of_wait(void *context, uint32_t number)
{
	const struct source *source = context;

	return objects_row(sched_of(source)->objects, number);
}

static void write_turn(void *context, const struct film_turn *turn)
{
	const struct source *source = context;

	film_turn(source->host->film, source->events[SCHED_THREADS], turn);
}

int sched_threads_new(struct source *source, struct fail *why)
{
	struct threads *threads = sched_of(source)->threads = calloc(1, sizeof(*threads));
	const struct lives_to to = {thread_row, stack_of_wait, object_of_wait, write_turn, source};
	struct utsname machine;

	if (!threads || !(threads->lives = lives_new(&to)) ||
	    waiting_new(STACKS_MAX, &threads->stacks))
		return fail_errno(why, -ENOMEM, NULL, "cannot record threads");
	uname(&machine);
	memcpy(threads->arch, machine.machine, sizeof(threads->arch));
	return threads_logs_new(source->host->probes, &threads->logs, why);
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

static void handle_listed(void *context, const struct capture_head *head,
			  const struct capture_handover *from)
{
	const struct capture_record *record = (const struct capture_record *)head;
	const struct threads_listed *listed =
		head->size >= sizeof(*record) ? listed_of(record) : NULL;
	struct source *source = context;
	struct sched *sched = sched_of(source);
	struct threads *threads = sched->threads;
	struct samples_place place = {0};
	struct lives_lock lock = {0};
	struct lives_listed row;

	source->damaged += !listed;
	if (!listed || !source_is_meant(source, &record->identity))
		return;
	lives_meet(threads->lives, listed->thread, &record->identity, true, 0);
	if (!listed->runs && !listed->moved &&
	    source->host->probes->bss->sched_listing == SCHED_LIST_THREADS_STACKS) {
		place = samples_resolve(
			source->host->samples,
			scheduler_cut(&sched->scheduler, source->host->probes, record), from);
		lock = threads_lock_of_list(sched->locks,
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
	struct threads *threads = threads_of(source);
	int err;

	if (!threads->listing.begun)
		threads->listing.begun = clock_ns();
	err = sched_list(source, with_stacks ? SCHED_LIST_THREADS_STACKS : SCHED_LIST_THREADS,
			 handle_listed);
	threads->lists_failed += err != 0;
	return err;
}

/*
 * -- switches -----------------------------------------------------------------------------------
 */

static void handle_logs(struct source *source, uint64_t until)
{
	struct threads *threads = threads_of(source);
	struct threads_event event;

	while (threads_logs_next(threads->logs, until, &event)) {
		if (threads->listing.begun)
			lives_listing_emit(&threads->listing, threads->lives, event.time);
		lives_handle(threads->lives, &event);
	}
	lives_listing_emit(&threads->listing, threads->lives, until);
	threads->until = until;
}

void sched_threads_drained(struct source *source, uint64_t now)
{
	struct threads *threads = threads_of(source);
	uint64_t lost;

	if (!threads->logs)
		return;
	handle_logs(source, now - LATE_NS);
	lifetimes_cut_known(threads->lives, threads->until, CUT_NS);
	lost = threads_logs_lost(threads->logs);
	if (lost != threads->lost && !threads->listing.begun)
		read_list(source, false);
	threads->lost = lost;
}

void sched_threads_handle_new(struct source *source, const void *of)
{
	const struct capture_record *record = of;
	struct threads *threads = threads_of(source);
	uint64_t executed = record->identity.value;
	bool meant = executed && source_is_meant(source, &record->identity);

	/* a process that user space decides on may have become meant by that, and so has ours */
	lives_meet(threads->lives, (uint32_t)record->identity.key, &record->identity, meant,
		   record->identity.undecided ||
				   (pid_t)record->identity.pid == source->host->command
			   ? executed
			   : 0);
}

void sched_threads_add_stack(struct source *source, uint32_t number, uint64_t in,
			     const struct samples_place *place, const struct film_lock *lock,
			     bool released)
{
	struct waiting_half half = {.pid = number, .key = in, .place = *place};
	const struct lives_lock kept = threads_lock_from(lock, released);

	threads_lock_keep(&half, &kept);
	waiting_put(threads_of(source)->stacks, &half);
}

void sched_threads_handle_stack(struct source *source, const struct capture_record *record,
				const struct capture_handover *handover)
{
	struct sched *sched = sched_of(source);
	struct samples_place place;
	struct film_lock lock = {0};
	bool released = false, is_lock;

	if (!source_is_meant(source, &record->identity))
		return;
	place = samples_resolve(source->host->samples,
				scheduler_cut(&sched->scheduler, source->host->probes, record),
				handover);
	is_lock = threads_lock_of_stack(sched->locks, record, &lock, &released);
	sched_threads_add_stack(source, (uint32_t)record->identity.key, record->identity.value,
				&place, is_lock ? &lock : NULL, released);
}

/*
 * -- the verbs of a source ----------------------------------------------------------------------
 */

int sched_threads_list_before(struct source *source)
{
	lives_begin(threads_of(source)->lives, UINT64_MAX);
	return read_list(source, true);
}

int sched_threads_list_since(struct source *source, uint64_t began)
{
	struct threads *threads = threads_of(source);

	lives_begin(threads->lives, began);
	/* what was listed until then is how it was before; and what is listed now, still is */
	threads->listing.begun = 0;
	lives_listing_emit(&threads->listing, threads->lives, UINT64_MAX);
	threads->listing.all.count = threads->listing.next = 0;
	return read_list(source, false);
}

/* What user space has lost; the kernel's side is counted with that of other sources. */
static void report_losses(struct source *source)
{
	const struct sched *sched = sched_of(source);
	const struct threads *threads = sched->threads;
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
		 objects_lost(sched->objects)},
		{"holder of locks of a language's own not known: too many such processes",
		 lock_unmet(sched->locks)},
		{"threads: the list of them could not be read", threads->lists_failed},
	};

	loss_counts_emit_all(source->host->film, source->events[SCHED_THREADS], losses);
}

/* A wait that has gone on for long: is it one that should be short? */
static void notify_hang(void *context, const struct capture_identity *identity, uint64_t since,
			const struct film_wait *evidence)
{
	const struct source *source = context;
	const struct source_host *host = source->host;
	const struct threads *threads = threads_of(source);
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

void sched_threads_tick(struct source *source)
{
	const struct source_host *host = source->host;
	struct threads *threads = threads_of(source);

	report_losses(source);
	if (host->listener.happened && host->limits.hang)
		lives_each_long(threads->lives, threads->until, host->limits.hang, notify_hang,
				source);
}

/* What is known is reported up to what was drained; what waits then has its stack, too. */
void sched_threads_closing(struct source *source)
{
	struct threads *threads = threads_of(source);

	lifetimes_cut_known(threads->lives, threads->until, 0);
	report_losses(source);
	if (threads->listing.begun || source->settings->values[0] >= SECOND_NS)
		return;
	/* while the processes are there still */
	threads->finds_pipes = true;
	read_list(source, true);
	threads->finds_pipes = false;
	pipe_ends_free(&threads->pipes);
}

/* All that happened before now is in the logs. */
void sched_threads_leave(struct source *source, uint64_t now)
{
	struct threads *threads = threads_of(source);

	handle_logs(source, now);
	lives_cut(threads->lives, now, 0);
	report_losses(source);
}

void sched_threads_begin_film(struct source *source)
{
	struct threads *threads = threads_of(source);

	/* stacks are of the film before, and are listed again */
	vec_foreach (&threads->listing.all, row) {
		row->evidence.stack = 0;
		row->lock = (struct lives_lock){0};
	}
	lives_turn(threads->lives);
	waiting_empty(threads->stacks, NULL, NULL);
	read_list(source, true);
}

void sched_threads_finish(struct source *source, uint64_t now)
{
	struct threads *threads = threads_of(source);

	handle_logs(source, now);
	lives_listing_emit_late(&threads->listing, threads->lives);
	lives_cut(threads->lives, now, 0);
	threads->lost = threads_logs_lost(threads->logs);
	report_losses(source);
}

void sched_threads_free(struct source *source)
{
	struct threads *threads = threads_of(source);

	if (threads) {
		threads_logs_free(threads->logs);
		lives_free(threads->lives);
		waiting_free(threads->stacks);
		vec_free(&threads->listing.all);
	}
	free(threads);
	sched_of(source)->threads = NULL;
}
