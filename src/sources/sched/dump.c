// SPDX-License-Identifier: Apache-2.0
/*
 * dump: all threads as they are at the end of a film, with their stacks, and none of them is
 * stopped. The list of tasks (bpf/sched/dump.bpf.c) has the registers and the kernel's frames of a
 * thread that does not run; its stack is walked here, in its own memory; afterwards the list says
 * whether the thread has run since. If it has, the next round asks for it again. A thread that runs
 * all the time has its stack in samples of CPUs (on_cpu.c), which are to be taken beside.
 */
#include "sources/source.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "bpf/sched/dump_abi.h"
#include "sources/sched/descriptors.h"
#include "sources/loss_counts.h"
#include "sources/sched/off_cpu_row.h"
#include "sources/sched/scheduler.h"
#include "resolve/task_list.h"
#include "film/events.h"
#include "bpf/probes.skel.h"

/*
 * Between two rounds: what kept a thread running is over soon, or it is in a sample of its CPU
 * after some of them.
 */
#define PAUSE_NS 1000000

/* A thread that ran in this many rounds, one behind the other, is not waited for. */
#define RUNS_MAX 6

/* After the first round, which also reads what programs and libraries say about their stacks. */
#define ROUNDS_NS 200000000ull

/* A thread that was listed, and is not known to be still. */
struct listed {
	uint32_t tid; /* 0: it is done */
	uint64_t start;
	struct film_wait row;
	unsigned int runs; /* rounds in which it ran, one behind the other */
	uint32_t round;	   /* in which it was listed last */
};

struct threads {
	struct task_list *list;
	struct scheduler scheduler;
	vec(struct listed) listed;
	struct map places; /* tid: place in listed */
	uint32_t round;
	uint64_t lists_failed, no_memory, gone;
};

static unsigned int needs(const struct source *source)
{
	(void)source;
	return SOURCE_STACKS | SOURCE_RUNTIMES | SOURCE_BEFORE_EXEC;
}

/* Nothing but what is lost comes by the rings. */
static unsigned int rate(const struct source *source)
{
	(void)source;
	return 1;
}

static uint32_t ring_bytes(const struct source *source, unsigned int cpus)
{
	(void)source;
	return rings_bytes_for_samples(1, cpus);
}

static void prepare(struct source *source)
{
	descriptors_prepare(source->host->probes);
}

static int attach(struct source *source, struct fail *why)
{
	struct threads *threads = source->state = calloc(1, sizeof(*threads));

	if (!threads)
		return fail_errno(why, -ENOMEM, NULL, "cannot list threads");
	return task_list_new(source->host->probes->progs.dump_tasks, &threads->list, why);
}

/* The place of a thread among those that are not done, new or not; null: no memory. */
static struct listed *listed_of(struct threads *threads, const struct capture_identity *identity)
{
	const uint64_t *known = map_get(&threads->places, identity->tid);
	struct listed listed = {.tid = identity->tid, .start = identity->thread_start};

	if (known && threads->listed.at[*known].start == identity->thread_start)
		return &threads->listed.at[*known];
	/* another thread of that number has ended */
	if (known && threads->listed.at[*known].tid) {
		threads->listed.at[*known].tid = 0;
		threads->gone++;
	}
	if (vec_push(&threads->listed, listed)) {
		if (map_put(&threads->places, identity->tid, threads->listed.count - 1))
			return vec_last(&threads->listed);
		threads->listed.count--;
	}
	threads->no_memory++;
	return NULL;
}

/* The time for which a thread waits is that of the film, which has no time before its machine's. */
static uint64_t time_of(const struct dump_thread *thread, uint64_t now)
{
	return thread->since < now ? thread->since : now;
}

static void add_thread(struct source *source, const struct capture_record *record,
		       const struct dump_thread *thread, const struct capture_handover *from)
{
	struct threads *threads = source->state;
	struct samples *samples = source->host->samples;
	struct samples_place place = {0};
	struct listed *listed;

	if (!source_is_meant(source, &record->identity))
		return;
	listed = listed_of(threads, &record->identity);
	if (!listed)
		return;
	if (thread->runs)
		place.thread = samples_thread(samples, &record->identity);
	else
		place = samples_resolve(
			samples, scheduler_cut(&threads->scheduler, source->host->probes, record),
			from);
	listed->row = off_cpu_row(&thread->wait, &place);
	listed->row.end = record->head.time;
	listed->row.flags |= FILM_WAIT_OPEN;
	listed->round = threads->round;
	listed->runs = thread->runs ? listed->runs + 1 : 0;
	if (thread->runs)
		listed->row.state = FILM_WAIT_RUNS;
	else if (listed->row.state != FILM_WAIT_READY)
		/* one that is ready has also waited for something else since it ran */
		listed->row.duration = time_of(thread, record->head.time);
}

/* It is done: its row is as it will be. */
static void finish_thread(struct source *source, struct listed *listed)
{
	film_wait(source->host->film, source->event, &listed->row);
	map_remove(&((struct threads *)source->state)->places, listed->tid);
	listed->tid = 0;
}

static void handle_check(struct source *source, const struct dump_check *check)
{
	struct threads *threads = source->state;
	const uint64_t *known = map_get(&threads->places, check->tid);

	if (known && check->is_still && threads->listed.at[*known].start == check->thread_start)
		finish_thread(source, &threads->listed.at[*known]);
}

static void handle_listed(void *context, const struct capture_head *head,
			  const struct capture_handover *from)
{
	const struct capture_record *record = (const struct capture_record *)head;
	struct source *source = context;
	size_t frames = 0;

	if (head->kind == DUMP_CHECK && head->size == sizeof(struct dump_check)) {
		handle_check(source, (const struct dump_check *)head);
		return;
	}
	if (head->size >= sizeof(*record))
		frames = (size_t)record->user_frames + record->kernel_frames;
	if (head->kind == DUMP_THREAD &&
	    head->size == sizeof(*record) + frames * sizeof(uint64_t) + sizeof(struct dump_thread))
		add_thread(source, record,
			   (const struct dump_thread *)((const uint64_t *)(record + 1) + frames),
			   from);
	else
		source->damaged++;
}

static int read_list(struct source *source, enum dump_listing purpose)
{
	struct threads *threads = source->state;
	struct probes *probes = source->host->probes;
	int err;

	if (purpose != DUMP_LIST_CHECK)
		threads->round++;
	probes->bss->dump_listing = purpose;
	probes->bss->dump_round = threads->round;
	err = task_list_read(threads->list, handle_listed, source);
	threads->lists_failed += err != 0;
	return err;
}

/* Whether there is a thread that may be still in the next round. */
static bool is_wanting(const struct threads *threads)
{
	vec_foreach (&threads->listed, listed)
		if (listed->tid && listed->round == threads->round && listed->runs < RUNS_MAX)
			return true;
	return false;
}

/* What runs, or ran whenever it was read, is reported as it was seen last; the rest has ended. */
static void finish_all(struct source *source)
{
	struct threads *threads = source->state;

	vec_foreach (&threads->listed, listed) {
		if (listed->tid && listed->round == threads->round)
			finish_thread(source, listed);
		else
			threads->gone += listed->tid != 0;
	}
}

static void report_losses(struct source *source)
{
	const struct threads *threads = source->state;
	const struct loss_count losses[] = {
		{"threads: the list of them could not be read", threads->lists_failed},
		{"thread not listed: no memory for its state", threads->no_memory},
		{"thread not listed: it ended meanwhile", threads->gone},
	};

	loss_counts_emit_all(source->host->film, source->event, losses);
}

static void read_all(struct source *source)
{
	static const struct timespec pause = {.tv_nsec = PAUSE_NS};
	struct threads *threads = source->state;
	uint64_t until = 0;
	int err;

	do {
		err = read_list(source, DUMP_LIST_ALL);
		if (!err)
			err = read_list(source, DUMP_LIST_CHECK);
		if (!until)
			until = clock_ns() + ROUNDS_NS;
		if (err || !is_wanting(threads))
			break;
		/* a thread may do anything: there is no event that says that it stopped doing it */
		nanosleep(&pause, NULL);
	} while (clock_ns() < until);
	if (!err && is_wanting(threads))
		read_list(source, DUMP_LIST_LAST);
	finish_all(source);
	report_losses(source);
}

static void free_state(struct source *source)
{
	struct threads *threads = source->state;

	if (threads) {
		task_list_free(threads->list);
		scheduler_free(&threads->scheduler);
		vec_free(&threads->listed);
		map_free(&threads->places);
	}
	free(threads);
}

static const struct source_event events[] = {{EVENT_DUMP, "tasks"}, {0}};

const struct source_type source_dump = {
	.events = events,
	.needs = needs,
	.rate = rate,
	.ring_bytes = ring_bytes,
	.prepare = prepare,
	.attach = attach,
	.closing = read_all,
	.free = free_state,
};
