// SPDX-License-Identifier: Apache-2.0
/*
 * rss and mem-beside: what the memory of processes is, read from outside about each second (of the
 * whole machine: each 10 s), without a probe. What a reading says is a state of the process: a
 * level, not a sum.
 *
 * To read takes about as long as to count the pages of the process, and its heap to be read; while
 * the kernel counts, the process cannot map anything. So all readings together take at most a 200th
 * of one CPU, and one process is read again after 200 times what it took. In between, and until its
 * first turn comes, a process has what the kernel counts all the time (rss_turns.h has the order).
 */
#include "sources/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "attach/filter.h"
#include "sources/loss_counts.h"
#include "sources/memory/rss_parts.h"
#include "sources/memory/rss_turns.h"
#include "film/events.h"
#include "process/page_cache.h"
#include "process/smaps.h"

#define SHARE	   200u	       /* of a CPU's time, one part in this many */
#define AHEAD_NS   50000000ull /* that may be taken before it was saved */
#define PAUSE_MAX  (60 * SECOND_NS)
#define GROUPS_MAX 4096u

/*
 * To count is fast, and takes at most half of that share. When the recording begins, all processes
 * are new, and are counted soon: some thousands in this time, so much in one round.
 */
#define COUNT_AHEAD_NS 500000000ull
#define COUNT_ROUND_NS 50000000ull

/* Its events, in the order in which source_rss names them. */
enum of_event {
	OF_RSS,
	OF_BESIDE,
	EVENTS
};

/* A process that has ended: the thread of its rows, and when that was seen. */
struct ended {
	pid_t pid;
	uint32_t thread; /* 0: in a film of before */
	uint64_t time;
};

struct rss {
	uint64_t since;		    /* when the recording began, ns */
	uint64_t reading, counting; /* what they took of a CPU, ns */
	struct rss_turns turns;
	vec(struct ended) ended; /* in the last round */
	struct page_cache cache;
	struct map told; /* of a control group: the process that its page cache stands with */
	uint64_t cut, uses_cut, too_large, not_looked_at, refused, no_memory, unread, left_out;
};

static unsigned int needs(const struct source *source)
{
	(void)source;
	return SOURCE_PROCESSES;
}

static uint32_t ring_bytes(const struct source *source, unsigned int cpus)
{
	(void)source;
	(void)cpus;
	return 0;
}

static int attach(struct source *source, struct fail *why)
{
	source->state = calloc(1, sizeof(struct rss));
	return source->state
		       ? 0
		       : fail_errno(why, -ENOMEM, NULL, "cannot read the memory of processes");
}

static int start(struct source *source, struct fail *why)
{
	struct rss *rss = source->state;

	(void)why;
	/* a machine without control groups has none */
	page_cache_open(&rss->cache);
	rss->since = clock_ns();
	source_follow_selected(source);
	return 0;
}

/* -- what is written --------------------------------------------------------------------------- */

static void write_row(struct source *source, enum of_event event, uint64_t now, uint32_t thread,
		      uint32_t stack, uint64_t bytes)
{
	const struct film_held row = {
		.time = now, .value = bytes, .thread = thread, .stack = stack};

	if (!bytes || !stack)
		return;
	film_held(source->host->film, source->events[event], &row);
	samples_count_row(source->host->samples);
}

/* Its state: it has nothing. */
static void write_nothing(struct source *source, enum of_event event, uint64_t now, uint32_t thread)
{
	const struct film_held row = {.time = now, .thread = thread};

	if (source->events[event] && thread)
		film_held(source->host->film, source->events[event], &row);
}

static uint32_t stack_of(struct source *source, enum rss_kind kind, const char *name)
{
	struct samples *samples = source->host->samples;
	uint32_t stack = samples_words(samples, 0, rss_group(kind));

	return stack ? samples_words(samples, stack, name ? name : rss_words(kind)) : 0;
}

static uint32_t last_thread_of(struct source *source, pid_t pid)
{
	struct samples *samples = source->host->samples;
	const struct process *process = samples_process(samples, pid);

	return process ? samples_other_thread(samples, pid, pid, process->start, process->comm) : 0;
}

/*
 * The thread that the rows of a process stand with; 0: it is gone. Where it executes another
 * program, it is another process in the film, and the one of before has nothing any more.
 */
static uint32_t thread_of(struct source *source, struct rss_turn *turn, uint64_t now)
{
	uint32_t thread = last_thread_of(source, turn->pid);

	if (!thread || thread == turn->thread)
		return thread;
	for (enum of_event event = 0; event < EVENTS; event++)
		write_nothing(source, event, now, turn->thread);
	turn->thread = thread;
	turn->is_of_before = false;
	turn->rows.count = 0;
	turn->rows_bytes = turn->told = 0;
	turn->was_read = false;
	return thread;
}

/* -- to read ----------------------------------------------------------------------------------- */

/* A process whose runtimes are asked. */
struct asked {
	struct samples *samples;
	pid_t pid;
};

static void ask_runtimes(void *context, const struct runtime_memory *memory,
			 struct runtime_spans *spans)
{
	const struct asked *asked = context;

	samples_spans(asked->samples, asked->pid, memory, spans);
}

static int write_parts(struct source *source, struct rss_turn *turn, const struct rss_parts *parts,
		       uint64_t now)
{
	turn->rows.count = 0;
	turn->rows_bytes = turn->told = turn->bytes = parts->total;
	vec_foreach (&parts->all, part) {
		const struct rss_row row = {stack_of(source, part->kind, part->name), part->bytes};

		if (!vec_push(&turn->rows, row))
			return -ENOMEM;
		write_row(source, OF_RSS, now, turn->thread, row.stack, row.bytes);
	}
	return 0;
}

static int explain(struct source *source, struct rss_turn *turn, uint64_t now)
{
	struct rss *rss = source->state;
	struct rss_parts parts;
	struct asked asked = {source->host->samples, turn->pid};
	int err = rss_explain(turn->pid, &(struct rss_uses){ask_runtimes, &asked}, &parts);

	if (err)
		return err;
	rss->cut += parts.is_cut;
	rss->too_large += parts.too_large;
	rss->not_looked_at += parts.unread;
	rss->uses_cut += parts.is_uses_cut;
	err = write_parts(source, turn, &parts, now);
	rss_parts_free(&parts);
	return err;
}

static bool is_alive(pid_t pid)
{
	struct procfs_stat stat;

	return procfs_read_stat(pid, "stat", &stat) && stat.state != 'Z' && stat.state != 'X';
}

static void count_error(struct rss *rss, const struct rss_turn *turn, int err)
{
	rss->no_memory += err == -ENOMEM;
	/* while it ends, the kernel says that it is not allowed */
	rss->refused += err && err != -ENOMEM && err != -ESRCH && is_alive(turn->pid);
}

/* The least time between two readings of one process; a tick comes a little early at times. */
static uint64_t least_pause(const struct source *source)
{
	return (source->host->selection->whole_machine ? 10 * SECOND_NS : SECOND_NS) / 10 * 9;
}

static void read_one(struct source *source, struct rss_turn *turn)
{
	struct rss *rss = source->state;
	uint64_t begin = clock_ns(), used = clock_thread_ns(), took, pause;
	uint64_t least = least_pause(source);
	int err = thread_of(source, turn, begin) ? explain(source, turn, begin) : -ESRCH;

	if (!err) {
		turn->was_read = true;
		turn->is_fresh = false;
		turn->count_due = begin + least;
	}
	count_error(rss, turn, err);
	took = clock_ns() - begin;
	/* of a CPU: on a busy machine most of that is not ours */
	rss->reading += clock_thread_ns() - used;
	pause = took * SHARE < PAUSE_MAX ? took * SHARE : PAUSE_MAX;
	turn->read_due = begin + (pause > least ? pause : least);
}

/* -- to count ---------------------------------------------------------------------------------- */

/* It is the group's, and stands with one of its processes, as long as that lives. */
static void write_page_cache(struct source *source, pid_t pid, uint64_t now, uint32_t thread)
{
	struct rss *rss = source->state;
	char group[512];
	uint64_t bytes, key, *with;
	uint32_t stack;

	if (!page_cache_of(&rss->cache, pid, group, sizeof(group), &bytes))
		return;
	key = hash_bytes(group, strlen(group));
	with = map_get(&rss->told, key);
	if (with && *with != (uint64_t)pid && is_alive((pid_t)*with))
		return;
	if (rss->told.count >= GROUPS_MAX || !map_put(&rss->told, key, (uint64_t)pid))
		return;
	stack = samples_words(source->host->samples, 0, "[page cache of the control group]");
	write_row(source, OF_BESIDE, now, thread,
		  stack ? samples_words(source->host->samples, stack, group) : 0, bytes);
}

static void write_beside(struct source *source, const struct rss_turn *turn, uint64_t now)
{
	const struct {
		const char *words;
		uint64_t bytes;
	} parts[] = {{"[page tables]", turn->counts.page_tables},
		     {"[swapped out]", turn->counts.swapped_out},
		     {"[kernel stacks of threads]", turn->counts.kernel_stacks}};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		write_row(source, OF_BESIDE, now, turn->thread,
			  samples_words(source->host->samples, 0, parts[i].words), parts[i].bytes);
	write_page_cache(source, turn->pid, now, turn->thread);
}

/* The counts of the kernel are not exact, and a little less does not make what was read wrong. */
static bool is_near(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) <= b / 32 + (256u << 10);
}

/*
 * What was read, and what came since. Where much went, it is not known of what: then the counts
 * stand alone.
 */
static void write_counts(struct source *source, struct rss_turn *turn, uint64_t now)
{
	const struct rss_counts *counts = &turn->counts;

	if (turn->was_read &&
	    (turn->bytes > turn->rows_bytes || is_near(turn->bytes, turn->rows_bytes))) {
		vec_foreach (&turn->rows, row)
			write_row(source, OF_RSS, now, turn->thread, row->stack, row->bytes);
		if (turn->bytes > turn->rows_bytes)
			write_row(source, OF_RSS, now, turn->thread,
				  stack_of(source, RSS_GROWN, NULL),
				  turn->bytes - turn->rows_bytes);
	} else {
		write_row(source, OF_RSS, now, turn->thread,
			  stack_of(source, RSS_LATER_ANONYMOUS, NULL), counts->anonymous);
		write_row(source, OF_RSS, now, turn->thread,
			  stack_of(source, RSS_LATER_FILES, NULL), counts->files);
		write_row(source, OF_RSS, now, turn->thread,
			  stack_of(source, RSS_LATER_SHARED, NULL), counts->shared);
	}
	turn->told = turn->bytes;
}

static void count_one(struct source *source, struct rss_turn *turn)
{
	struct rss *rss = source->state;
	uint64_t now = clock_ns();
	int err = rss_count(turn->pid, &turn->counts);

	turn->count_due = now + least_pause(source);
	if (err) {
		count_error(rss, turn, err);
		return;
	}
	turn->bytes = turn->counts.anonymous + turn->counts.files + turn->counts.shared;
	turn->was_counted = true;
	turn->is_fresh = thread_of(source, turn, now);
	if (!turn->is_fresh)
		return;
	if (source->events[OF_BESIDE])
		write_beside(source, turn, now);
}

/* -- all of them ------------------------------------------------------------------------------- */

static void add_pid(void *context, pid_t pid)
{
	const struct source *source = context;
	const struct selection *selection = source->host->selection;
	struct rss *rss = source->state;

	if (selection->whole_machine || filter_is_target(source->host->probes, selection, pid))
		rss->left_out += !rss_turns_see(&rss->turns, pid, clock_ns());
}

/*
 * What has ended has nothing. The next round writes that: where the recording ends before, as that
 * of a command does with the command, what it had at last is what a reader wants.
 */
static void add_ended(void *context, const struct rss_turn *turn)
{
	struct rss *rss = context;

	if (turn->thread || turn->is_of_before)
		rss->no_memory +=
			!vec_push(&rss->ended, (struct ended){turn->pid, turn->thread, clock_ns()});
}

static void write_ended(struct source *source)
{
	struct rss *rss = source->state;

	vec_foreach (&rss->ended, one) {
		uint32_t thread = one->thread ? one->thread : last_thread_of(source, one->pid);

		for (enum of_event event = 0; event < EVENTS; event++)
			write_nothing(source, event, one->time, thread);
	}
	rss->ended.count = 0;
}

static void begin_round(struct source *source)
{
	struct rss *rss = source->state;

	rss_turns_begin(&rss->turns);
	rss->left_out = 0;
	procfs_each_number("/proc", add_pid, source);
}

/* used, ns, is more than ahead, and a part of the time since the recording began, one in parts. */
static bool is_above(const struct rss *rss, uint64_t used, uint64_t ahead, uint64_t parts)
{
	return used > ahead + (clock_ns() - rss->since) / parts;
}

static void count_due(struct source *source, bool all)
{
	struct rss *rss = source->state;
	uint64_t begin = clock_thread_ns(), before = rss->counting;

	rss_turns_to_count(&rss->turns, all ? UINT64_MAX : clock_ns());
	vec_foreach (&rss->turns.order, turn) {
		if (!all && (rss->counting - before > COUNT_ROUND_NS ||
			     is_above(rss, rss->counting, COUNT_AHEAD_NS, 2 * SHARE)))
			break;
		count_one(source, *turn);
		rss->counting = before + clock_thread_ns() - begin;
	}
}

static void read_due(struct source *source, bool all)
{
	struct rss *rss = source->state;
	/* what was taken at the beginning to count need not be saved */
	uint64_t counting = rss->counting > COUNT_AHEAD_NS ? rss->counting - COUNT_AHEAD_NS : 0;

	rss_turns_to_read(&rss->turns, clock_ns());
	vec_foreach (&rss->turns.order, turn) {
		if (!all && is_above(rss, rss->reading + counting, AHEAD_NS, SHARE))
			break;
		read_one(source, *turn);
	}
}

static void write_fresh(struct source *source)
{
	struct rss *rss = source->state;
	uint64_t begin = clock_thread_ns();

	vec_foreach (&rss->turns.all, turn) {
		if (!turn->is_fresh)
			continue;
		if (turn->bytes) {
			write_counts(source, turn, clock_ns());
		} else if (turn->told) {
			/* it has ended, and its parent has not waited for it yet */
			add_ended(rss, turn);
			turn->told = 0;
		}
	}
	rss->counting += clock_thread_ns() - begin;
}

/* As the recording ends, what has grown since it was read is read once more. */
static void make_grown_due(struct rss *rss)
{
	vec_foreach (&rss->turns.all, turn)
		if (turn->was_read && turn->bytes > turn->rows_bytes &&
		    !is_near(turn->bytes, turn->rows_bytes))
			turn->read_due = 0;
}

static void run_round(struct source *source, bool all)
{
	struct rss *rss = source->state;

	count_due(source, all);
	if (!source->events[OF_RSS])
		return;
	if (all)
		make_grown_due(rss);
	read_due(source, all);
	write_fresh(source);
}

static void report_losses(struct source *source)
{
	const struct rss *rss = source->state;
	const struct loss_count losses[] = {
		{"memory of a process in part only: it has too many mappings", rss->cut},
		{"memory of a process not read: not allowed", rss->refused},
		{"memory of a process not read: no memory", rss->no_memory},
		{"memory of a process not read: its turn had not come", rss->unread},
		{"memory of a process not read: there are too many", rss->left_out},
		{"heap not read to its end: it is large", rss->too_large},
		{"mapping not looked at to its end: it is large", rss->not_looked_at},
		{"classes of a runtime not looked at: there are too many", rss->uses_cut},
	};

	loss_counts_emit_all(source->host->film, source->event, losses);
}

static void tick(struct source *source, uint64_t now)
{
	struct rss *rss = source->state;

	(void)now;
	begin_round(source);
	write_ended(source);
	rss_turns_forget_gone(&rss->turns, add_ended, rss);
	run_round(source, false);
	report_losses(source);
}

static void closing(struct source *source)
{
	struct rss *rss = source->state;

	/* what was named; of a whole machine it would take too long */
	if (!source->host->selection->whole_machine) {
		begin_round(source);
		run_round(source, true);
	}
	vec_foreach (&rss->turns.all, turn)
		rss->unread += !turn->was_read && !turn->was_counted;
	report_losses(source);
}

/* A process is read anew for each film. */
static void turn(struct source *source)
{
	struct rss *rss = source->state;

	rss_turns_turn(&rss->turns, clock_ns());
	vec_foreach (&rss->ended, one) {
		one->thread = 0;
		one->time = clock_ns();
	}
	map_free(&rss->told);
	rss->unread = 0;
}

static void free_state(struct source *source)
{
	struct rss *rss = source->state;

	if (rss) {
		rss_turns_free(&rss->turns);
		vec_free(&rss->ended);
		map_free(&rss->told);
		page_cache_close(&rss->cache);
	}
	free(rss);
}

static const struct source_event events[] = {
	[OF_RSS] = {EVENT_RSS, "read from /proc"},
	[OF_BESIDE] = {EVENT_MEM_BESIDE, "read from /proc"},
	{0},
};

const struct source_type source_rss = {
	.events = events,
	.needs = needs,
	.ring_bytes = ring_bytes,
	.attach = attach,
	.start = start,
	.tick = tick,
	.closing = closing,
	.turn = turn,
	.free = free_state,
};
