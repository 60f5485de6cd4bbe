// SPDX-License-Identifier: Apache-2.0
/*
 * rss and mem-beside: what the memory of processes is, read from outside about each second (of the
 * whole machine: each 10 s), without a probe. What a reading says is a state of the process: a
 * level, not a sum.
 *
 * To read takes about as long as to count the pages of the process, and its heap to be read; while
 * the kernel counts, the process cannot map anything. So all readings together take at most a 200th
 * of one CPU, and one process is read again after 200 times what it took. Until its turn comes, a
 * process has what the kernel counts all the time, and those with the most are read first.
 */
#include "camera/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "camera/filter.h"
#include "camera/losses.h"
#include "camera/memory/rss_parts.h"
#include "film/events.h"
#include "process/page_cache.h"
#include "process/smaps.h"

#define SECOND_NS     1000000000ull
#define SHARE	      200u	  /* of a CPU's time, one part in this many */
#define AHEAD_NS      50000000ull /* that may be taken before it was saved */
#define PAUSE_MAX     (60 * SECOND_NS)
#define STATUS_MAX    8192u
#define PROCESSES_MAX 65536u
#define GROUPS_MAX    4096u

/* arch/x86/include/asm/page_64_types.h: THREAD_SIZE */
#define KERNEL_STACK 16384u

/* Its events, in the order in which source_rss names them. */
enum {
	OF_RSS,
	OF_BESIDE,
	EVENTS
};

struct candidate {
	pid_t pid;
	uint64_t due;		  /* when it is read again; 0: it never was */
	struct rss_parts counted; /* in this round, if it was */
};

struct rss {
	uint32_t of_film[EVENTS]; /* 0: it was not asked for */
	uint64_t since, took; /* when the recording began, and what readings took of a CPU, ns */
	uint64_t counting;    /* of that, for those that were not read */
	struct map next;      /* of a pid: when it is read again */
	vec(struct candidate) round;
	struct map counted;   /* of a pid: its bytes, if it was never read */
	uint64_t count_again; /* when all those are counted again */
	struct page_cache cache;
	struct map told; /* of a control group: the process that its page cache stands with */
	uint64_t cut, uses_cut, too_large, not_looked_at, refused, no_memory, unread;
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

static void add_events(struct source *source)
{
	static const enum event_id ids[EVENTS] = {EVENT_RSS, EVENT_MEM_BESIDE};
	struct rss *rss = source->state;

	source_add_events(source, ids, EVENTS, "read from /proc", rss->of_film);
}

static int start(struct source *source, struct fail *why)
{
	struct rss *rss = source->state;

	(void)why;
	add_events(source);
	/* a machine without control groups has none */
	page_cache_open(&rss->cache);
	rss->since = clock_ns();
	for (size_t i = 0; i < source->host->selection->pid_count; i++)
		samples_follow(source->host->samples, source->host->selection->pids[i]);
	return 0;
}

/* -- one process ------------------------------------------------------------------------------- */

static void write_row(struct source *source, uint32_t event, uint64_t now, uint32_t thread,
		      uint32_t stack, uint64_t bytes)
{
	const struct film_held row = {
		.time = now, .value = bytes, .thread = thread, .stack = stack};

	if (!bytes || !stack)
		return;
	film_held(source->host->film, event, &row);
	samples_count_row(source->host->samples);
}

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

static void write_parts(struct source *source, const struct rss_parts *parts, uint64_t now,
			uint32_t thread)
{
	struct samples *samples = source->host->samples;
	const struct rss *rss = source->state;

	vec_foreach (&parts->all, part) {
		uint32_t stack = samples_words(samples, 0, rss_group(part->kind));
		const char *words = part->name ? part->name : rss_words(part->kind);

		if (stack)
			stack = samples_words(samples, stack, words);
		write_row(source, rss->of_film[OF_RSS], now, thread, stack, part->bytes);
	}
}

static int write_rss(struct source *source, pid_t pid, uint64_t now, uint32_t thread)
{
	struct rss *rss = source->state;
	struct rss_parts parts;
	struct asked asked = {source->host->samples, pid};
	int err = rss_explain(pid, &(struct rss_uses){ask_runtimes, &asked}, &parts);

	if (err)
		return err;
	rss->cut += parts.is_cut;
	rss->too_large += parts.too_large;
	rss->not_looked_at += parts.unread;
	rss->uses_cut += parts.is_uses_cut;
	write_parts(source, &parts, now, thread);
	rss_parts_free(&parts);
	return 0;
}

static bool is_alive(pid_t pid)
{
	struct procfs_stat stat;

	return procfs_read_stat(pid, "stat", &stat) && stat.state != 'Z' && stat.state != 'X';
}

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
	write_row(source, rss->of_film[OF_BESIDE], now, thread,
		  stack ? samples_words(source->host->samples, stack, group) : 0, bytes);
}

static int write_beside(struct source *source, pid_t pid, uint64_t now, uint32_t thread)
{
	static const struct {
		const char *field, *words;
	} of_status[] = {{"VmPTE", "[page tables]"}, {"VmSwap", "[swapped out]"}};
	struct samples *samples = source->host->samples;
	const struct rss *rss = source->state;
	struct buf text = {0};
	int err = procfs_read(pid, "status", STATUS_MAX, &text);
	uint64_t threads;

	for (size_t i = 0; !err && i < sizeof(of_status) / sizeof(of_status[0]); i++)
		write_row(source, rss->of_film[OF_BESIDE], now, thread,
			  samples_words(samples, 0, of_status[i].words),
			  procfs_kb((const char *)text.at, of_status[i].field));
	if (!err) {
		threads = procfs_kb((const char *)text.at, "Threads") / 1024;
		write_row(source, rss->of_film[OF_BESIDE], now, thread,
			  samples_words(samples, 0, "[kernel stacks of threads]"),
			  threads * KERNEL_STACK);
	}
	buf_free(&text);
	if (!err)
		write_page_cache(source, pid, now, thread);
	return err;
}

/* The least time between two readings of one process. */
static uint64_t round_ns(const struct source *source)
{
	return source->host->selection->whole_machine ? 10 * SECOND_NS : SECOND_NS;
}

/* The thread that the rows of a process stand with; 0: it is gone. */
static uint32_t thread_of(struct source *source, pid_t pid)
{
	struct samples *samples = source->host->samples;
	const struct process *process = samples_process(samples, pid);

	return process ? samples_other_thread(samples, pid, pid, process->start, process->comm) : 0;
}

static void read_one(struct source *source, pid_t pid)
{
	struct rss *rss = source->state;
	uint64_t begin = clock_ns(), used = clock_thread_ns(), took, pause;
	uint64_t least = round_ns(source);
	uint32_t thread = thread_of(source, pid);
	int err = 0;

	if (thread && rss->of_film[OF_RSS])
		err = write_rss(source, pid, begin, thread);
	if (thread && !err && rss->of_film[OF_BESIDE])
		err = write_beside(source, pid, begin, thread);
	rss->no_memory += err == -ENOMEM;
	/* while it ends, the kernel says that it is not allowed */
	rss->refused += err && err != -ENOMEM && err != -ESRCH && is_alive(pid);
	took = clock_ns() - begin;
	/* of a CPU: on a busy machine most of that is not ours */
	rss->took += clock_thread_ns() - used;
	pause = took * SHARE < PAUSE_MAX ? took * SHARE : PAUSE_MAX;
	/* a tick comes a little early at times */
	pause = pause > least ? pause : least - least / 10;
	(void)!map_put(&rss->next, (uint64_t)pid, begin + pause);
}

/* -- all of them ------------------------------------------------------------------------------- */

static void take_pid(void *context, pid_t pid)
{
	const struct source *source = context;
	const struct selection *selection = source->host->selection;
	struct rss *rss = source->state;
	const uint64_t *next = map_get(&rss->next, (uint64_t)pid);

	if (rss->round.count < PROCESSES_MAX &&
	    (selection->whole_machine || filter_is_target(source->host->probes, selection, pid)))
		(void)!vec_push(&rss->round,
				(struct candidate){.pid = pid, .due = next ? *next : 0});
}

/* What is known of those that are gone is forgotten. */
static void keep_living(struct rss *rss, struct map *of)
{
	struct map kept = {0};

	vec_foreach (&rss->round, one) {
		const uint64_t *value = map_get(of, (uint64_t)one->pid);

		if (value)
			(void)!map_put(&kept, (uint64_t)one->pid, *value);
	}
	map_free(of);
	*of = kept;
}

static void begin_round(struct source *source)
{
	struct rss *rss = source->state;

	rss->round.count = 0;
	procfs_each_number("/proc", take_pid, source);
	keep_living(rss, &rss->next);
	keep_living(rss, &rss->counted);
}

static void end_round(struct rss *rss)
{
	vec_foreach (&rss->round, one)
		rss_parts_free(&one->counted);
}

/* took, ns, is more than a part of the time since the recording began, one in parts. */
static bool is_above(const struct rss *rss, uint64_t took, uint64_t parts)
{
	return took > AHEAD_NS + (clock_ns() - rss->since) / parts;
}

/*
 * Counts what those have that were never read, anew in each round, with half of the time that there
 * is: what was read at length does not keep others from being counted.
 */
static void count_unread(struct source *source, uint64_t now)
{
	struct rss *rss = source->state;
	uint64_t used = clock_thread_ns();

	if (now >= rss->count_again) {
		map_free(&rss->counted);
		rss->count_again = now + round_ns(source);
	}
	vec_foreach (&rss->round, one) {
		uint64_t counting = rss->counting + clock_thread_ns() - used;

		if (is_above(rss, counting, 2 * SHARE))
			break;
		if (one->due || map_get(&rss->counted, (uint64_t)one->pid) ||
		    rss_count(one->pid, &one->counted))
			continue;
		(void)!map_put(&rss->counted, (uint64_t)one->pid, one->counted.total);
	}
	rss->counting += clock_thread_ns() - used;
	rss->took += clock_thread_ns() - used;
}

static uint64_t bytes_of(const struct rss *rss, const struct candidate *one)
{
	const uint64_t *bytes = map_get(&rss->counted, (uint64_t)one->pid);

	return bytes ? *bytes : 0;
}

/* Those that wait longest first, of those that were never read the largest. */
static int compare_turns(const void *a, const void *b, void *context)
{
	const struct candidate *one = a, *other = b;
	uint64_t bytes = bytes_of(context, one), others = bytes_of(context, other);

	if (one->due != other->due)
		return one->due > other->due ? 1 : -1;
	if (bytes != others)
		return bytes < others ? 1 : -1;
	return (one->pid > other->pid) - (one->pid < other->pid);
}

static bool was_read(const struct rss *rss, pid_t pid)
{
	return map_get(&rss->next, (uint64_t)pid);
}

/* What was counted in this round of those whose turn did not come in it. */
static void write_counted(struct source *source)
{
	struct rss *rss = source->state;
	uint64_t used = clock_thread_ns();

	vec_foreach (&rss->round, one) {
		uint32_t thread = one->counted.total && !was_read(rss, one->pid)
					  ? thread_of(source, one->pid)
					  : 0;

		if (thread)
			write_parts(source, &one->counted, clock_ns(), thread);
	}
	rss->counting += clock_thread_ns() - used;
	rss->took += clock_thread_ns() - used;
}

static void read_due(struct source *source, uint64_t now, bool all)
{
	struct rss *rss = source->state;

	begin_round(source);
	if (rss->of_film[OF_RSS])
		count_unread(source, now);
	if (rss->round.count)
		qsort_r(rss->round.at, rss->round.count, sizeof(rss->round.at[0]), compare_turns,
			rss);
	vec_foreach (&rss->round, one) {
		if (one->due > now || (!all && is_above(rss, rss->took, SHARE)))
			break;
		read_one(source, one->pid);
	}
	write_counted(source);
	end_round(rss);
}

static void tell_losses(struct source *source)
{
	const struct rss *rss = source->state;
	const struct loss_count losses[] = {
		{"memory of a process in part only: it has too many mappings", rss->cut},
		{"memory of a process not read: not allowed", rss->refused},
		{"memory of a process not read: no memory", rss->no_memory},
		{"memory of a process not read: its turn had not come", rss->unread},
		{"heap not read to its end: it is large", rss->too_large},
		{"mapping not looked at to its end: it is large", rss->not_looked_at},
		{"classes of a runtime not looked at: there are too many", rss->uses_cut},
	};

	losses_tell(source->host->film, source->event, losses, sizeof(losses) / sizeof(losses[0]));
}

static void tick(struct source *source, uint64_t now)
{
	read_due(source, now, false);
	tell_losses(source);
}

/* How many of the last round were never read, nor counted. */
static uint64_t count_untold(const struct rss *rss)
{
	uint64_t count = 0;

	vec_foreach (&rss->round, one)
		count += !was_read(rss, one->pid) && !map_get(&rss->counted, (uint64_t)one->pid);
	return count;
}

static void closing(struct source *source)
{
	struct rss *rss = source->state;

	/* what was named; of a whole machine it would take too long */
	if (source->host->selection->whole_machine)
		rss->unread = count_untold(rss);
	else
		read_due(source, clock_ns(), true);
	tell_losses(source);
}

/* A process is read anew for each film. */
static void turn(struct source *source)
{
	struct rss *rss = source->state;

	add_events(source);
	map_free(&rss->next);
	map_free(&rss->counted);
	map_free(&rss->told);
	rss->count_again = 0;
}

static void take(struct source *source, const struct capture_head *head,
		 const struct capture_handover *handover)
{
	(void)source;
	(void)head;
	(void)handover;
}

static void free_state(struct source *source)
{
	struct rss *rss = source->state;

	if (rss) {
		map_free(&rss->next);
		map_free(&rss->counted);
		map_free(&rss->told);
		vec_free(&rss->round);
		page_cache_close(&rss->cache);
	}
	free(rss);
}

static const char *const events[] = {"rss", "mem-beside", NULL};

const struct source_type source_rss = {
	.events = events,
	.needs = needs,
	.ring_bytes = ring_bytes,
	.attach = attach,
	.start = start,
	.take = take,
	.tick = tick,
	.closing = closing,
	.turn = turn,
	.free = free_state,
};
