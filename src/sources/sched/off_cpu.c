// SPDX-License-Identifier: Apache-2.0
/*
 * off-cpu and run-queue: why threads do not run. bpf/sched/waits.h reports each wait that was long
 * enough, and a stack for each period of shorter ones; here they become samples, and it is decided
 * what a wait was for.
 */
#include "sources/sched/off_cpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "sources/sched/as_before.h"
#include "sources/loss_counts.h"
#include "sources/sched/off_cpu_open.h"
#include "sources/sched/off_cpu_row.h"
#include "sources/sched/sched.h"
#include "sources/sched/threads.h"
#include "sources/sched/wait_parts.h"
#include "sources/sched/wait_rows.h"
#include "sources/waiting.h"
#include "film/events.h"
#include "film/wait_rules.h"
#include "bpf/probes.skel.h"
#include "process/procfs.h"

/* The most wakers that are kept until those whom they woke run. */
#define WAKERS_MAX 65536

/*
 * The list of waits that go on may take this part of one CPU; more, where it would come more rarely
 * than that (ns), as for the first time, when all stacks are walked.
 */
#define LIST_PART      400
#define LIST_PART_MAX  10
#define LIST_PAUSE_MAX 10000000000ull

struct off_cpu {
	struct wait_decider decider;
	struct utsname machine;
	/* The wakers: by the thread that is woken (in the place of a process), and when. */
	struct waiting *wakers;
	struct as_before *as_before;
	uint64_t wakers_missed, lists_failed, unknown;
	struct open_waits open;
	uint64_t list_at; /* when waits that go on are reported the next time, of a live film */
};

static struct off_cpu *off_cpu_of(const struct source *source)
{
	return sched_of(source)->off_cpu;
}

int off_cpu_new(struct source *source)
{
	struct off_cpu *off_cpu = sched_of(source)->off_cpu = calloc(1, sizeof(*off_cpu));

	if (!off_cpu || waiting_new(WAKERS_MAX, &off_cpu->wakers) ||
	    as_before_new(AS_BEFORE_BYTES_MAX, &source->host->probes->bss->sched_stacks_kept,
			  &off_cpu->as_before))
		return -ENOMEM;
	uname(&off_cpu->machine);
	off_cpu->decider.arch = off_cpu->machine.machine;
	return 0;
}

/* Stacks of waits that go on are to be told again. */
static void forget_open(struct source *source)
{
	struct off_cpu *off_cpu = off_cpu_of(source);

	open_waits_forget(&off_cpu->open);
	source->host->probes->bss->sched_film++;
}

void off_cpu_begin_film(struct source *source)
{
	struct off_cpu *off_cpu = off_cpu_of(source);

	/* their places are the film's */
	waiting_empty(off_cpu->wakers, NULL, NULL);
	forget_open(source);
}

/*
 * -- who has woken ------------------------------------------------------------------------------
 */

/*
 * The place of a record, which then has its frames, without those of the scheduler. It is kept,
 * unless more is wanted of the frames than that.
 */
static struct samples_place find_place(struct source *source, const struct capture_record **record,
				       const struct capture_handover *handover)
{
	struct sched *sched = sched_of(source);
	struct probes *probes = source->host->probes;
	struct as_before_stack stack;

	*record = scheduler_cut(&sched->scheduler, probes, *record);
	if ((*record)->head.kind == OFF_CPU_WAIT && !probes->bss->sched_scheduler)
		probes->bss->sched_scheduler = sched->scheduler.innermost;
	as_before_resolve(sched->off_cpu->as_before, *record, &stack);
	*record = stack.record;
	return stack.known && !sched->locks
		       ? samples_resolve_known(source->host->samples, *record, handover,
					       stack.known)
		       : samples_resolve(source->host->samples, *record, handover);
}

/* Keeps the place of one who ended a wait until the one who had waited reports the wait. */
void off_cpu_handle_waker(struct source *source, const struct capture_record *record,
			  const struct capture_handover *handover)
{
	struct off_cpu *off_cpu = off_cpu_of(source);
	struct waiting_half half = {
		.pid = (uint32_t)record->identity.key,
		.key = record->head.time,
	};

	half.place = find_place(source, &record, handover);
	waiting_put(off_cpu->wakers, &half);
}

static void find_waker(struct source *source, uint32_t tid, const struct off_cpu_wait *wait,
		       struct film_wait *row)
{
	struct off_cpu *off_cpu = off_cpu_of(source);
	struct waiting_half half;

	if (!wait->has_waker_stack) {
		if (wait->waker_context == OFF_CPU_BY_THREAD && wait->waker_tid)
			row->waker =
				samples_other_thread(source->host->samples, (pid_t)wait->waker_pid,
						     (pid_t)wait->waker_tid, 0, wait->waker_comm);
		return;
	}
	if (waiting_pop(off_cpu->wakers, tid, wait->woken, &half)) {
		row->waker = half.place.thread;
		row->waker_stack = half.place.stack;
	} else {
		off_cpu->wakers_missed++;
	}
}

/* What user space has lost; the kernel's side is counted with that of other sources. */
static void report_losses(struct source *source)
{
	const struct off_cpu *off_cpu = off_cpu_of(source);
	const struct as_before_counts stacks = as_before_counts(off_cpu->as_before);
	const struct loss_count losses[] = {
		{"stack of a wait lost: the one that it refers to was not kept", stacks.unknown},
		{"STACKCAM_CHECK_STACKS: stacks in all", stacks.checked ? stacks.taken : 0},
		{"STACKCAM_CHECK_STACKS: stacks as before that were walked, too", stacks.checked},
		{"STACKCAM_CHECK_STACKS: those that differ from their walk", stacks.differ},
		{"waker of a wait not known: its record was lost, or is of the film before",
		 off_cpu->wakers_missed},
		{"waits that go on: the list of threads could not be read", off_cpu->lists_failed},
		{"part of a wait that goes on lost: no memory for its stack", off_cpu->unknown},
	};

	loss_counts_emit_all(source->host->film, source->event, losses);
	if (source->events[SCHED_LOCK])
		lock_losses(sched_of(source)->locks, source->events[SCHED_LOCK]);
}

/*
 * -- waits --------------------------------------------------------------------------------------
 */

/* A wait that was for a lock is reported beside itself, in the same parts. */
static void add_lock(struct source *source, const struct film_lock *like, uint64_t end,
		     uint64_t time)
{
	struct film_lock row = *like;
	struct wait_part part;

	while (wait_part_next(end, &time, &part)) {
		row.end = part.end;
		row.duration = part.duration;
		row.flags = like->flags | part.flags;
		film_lock(source->host->film, source->events[SCHED_LOCK], &row);
	}
}

/* The mark with the path of a lock's file; 0: not known. */
static uint32_t file_of(struct source *source, pid_t pid, const struct off_cpu_wait *wait,
			const struct lock_evidence *evidence, bool goes_on)
{
	uint32_t row = objects_row(sched_of(source)->objects, evidence->file_object);
	char name[32], path[512];

	if (row || !goes_on)
		return row;
	/* the thread stands still, and its call names it */
	snprintf(name, sizeof(name), "fd/%u", (uint32_t)wait->arguments[0]);
	return procfs_link(pid, name, path, sizeof(path)) ? source_mark(source, path) : 0;
}

/* Whether the thread that ended a wait may have released that lock by the call that it was in. */
static bool is_released(const struct off_cpu_wait *wait, const struct film_lock *lock)
{
	return wait->waker_context == OFF_CPU_BY_THREAD &&
	       wait->waker_released == (film_lock_is_of_file(lock->kind) ? LOCK_RELEASED_FILE
									 : LOCK_RELEASED_FUTEX);
}

/* Whether a wait was for a lock, which is then filled. */
static bool find_lock(struct source *source, const struct capture_record *record,
		      const struct off_cpu_wait *wait, const struct film_wait *row,
		      struct film_lock *lock)
{
	struct lock_book *locks = sched_of(source)->locks;
	bool goes_on = record->head.kind == OFF_CPU_STILL;
	struct lock_evidence evidence;

	*lock = (struct film_lock){
		.thread = row->thread,
		.stack = row->stack,
		.waker = row->waker,
		.waker_stack = row->waker_stack,
		.context = row->context,
		.flags = row->flags,
	};
	if (!locks)
		return false;
	lock_meet(locks, (pid_t)record->identity.pid);
	if (!(wait->reports & OFF_CPU_REPORTS_WAIT))
		return false;
	if (wait->has_lock)
		evidence = *(const struct lock_evidence *)(wait + 1);
	else if (!lock_look((pid_t)record->identity.pid, wait, goes_on, &evidence))
		return false;
	if (!lock_read(locks, record, &evidence, wait->out, lock))
		return false;
	if (film_lock_is_of_file(lock->kind))
		lock->place =
			file_of(source, (pid_t)record->identity.pid, wait, &evidence, goes_on);
	return true;
}

/* The lock is reported beside the wait, and with the slice of its thread that has the stack. */
static void add_stack_and_lock(struct source *source, const struct capture_record *record,
			       const struct off_cpu_wait *wait, const struct film_wait *row,
			       const struct samples_place *place)
{
	struct film_lock lock;
	bool is_lock = find_lock(source, record, wait, row, &lock);

	if (record->identity.key && record->head.kind == OFF_CPU_WAIT)
		sched_threads_add_stack(source, (uint32_t)record->identity.key, wait->in, place,
					is_lock ? &lock : NULL, is_released(wait, &lock));
	if (!is_lock || !source->events[SCHED_LOCK])
		return;
	if (!lock.holder && is_released(wait, &lock)) {
		lock.holder = lock.waker;
		lock.sure = lock.holder ? FILM_HOLDER_RELEASER : FILM_HOLDER_NONE;
	}
	add_lock(source, &lock, wait->woken, wait->woken - wait->out);
}

/* The frames of the kernel are not named yet: they decide nothing here. */
static bool is_idle(struct off_cpu *off_cpu, const struct film_wait *row)
{
	return wait_class_is_idle(wait_decide(&off_cpu->decider, row, 0));
}

void off_cpu_handle_wait(struct source *source, const struct capture_record *record,
			 const struct capture_handover *handover)
{
	const struct off_cpu_wait *wait = off_cpu_wait_of(record);
	struct off_cpu *off_cpu = off_cpu_of(source);
	uint64_t waited, ready;
	struct film_wait row, of_cpu;
	struct samples_place place;
	uint32_t of_film, of_ready;
	int event;

	source->damaged += !wait;
	if (!wait || !source_is_meant(source, &record->identity))
		return;
	waited = wait->woken - wait->out;
	ready = wait->in - wait->woken;
	place = find_place(source, &record, handover);
	row = of_cpu = off_cpu_row(wait, &place);
	of_cpu.state = FILM_WAIT_READY;
	event = is_idle(off_cpu, &row) ? SCHED_IDLE : SCHED_OFF_CPU;
	row.context = of_cpu.context = off_cpu_context(wait->waker_context);
	find_waker(source, record->identity.tid, wait, &row);
	if (record->head.kind == OFF_CPU_STILL) {
		row.flags = of_cpu.flags |= FILM_WAIT_OPEN;
		open_waits_put(
			&off_cpu->open, record->identity.tid,
			&(struct open_wait){record->identity.thread_start, row, of_cpu, event});
	}
	add_stack_and_lock(source, record, wait, &row, &place);
	if (!sched_wants_waits(source))
		return;
	of_film = source->events[event];
	of_ready = source->events[SCHED_RUN_QUEUE];
	wait_rows_add(source, of_film, &row, wait->woken,
		      wait->reports & OFF_CPU_REPORTS_WAIT ? waited : 0);
	wait_rows_add(source, of_ready, &of_cpu, wait->in,
		      wait->reports & OFF_CPU_REPORTS_READY ? ready : 0);
	wait_rows_add_short(source, of_film, &row, record->head.time, wait->sums.waited,
			    wait->sums.waits);
	wait_rows_add_short(source, of_ready, &of_cpu, record->head.time, wait->sums.ready,
			    wait->sums.readies);
}

/* What was reported holds still: only its time is added. */
static void handle_open(struct source *source, const struct capture_record *record)
{
	const struct off_cpu_wait *wait = off_cpu_wait_of(record);
	struct off_cpu *off_cpu = off_cpu_of(source);
	const struct open_wait *open =
		open_waits_get(&off_cpu->open, record->identity.tid, record->identity.thread_start);

	source->damaged += !wait;
	if (!wait || !source_is_meant(source, &record->identity) || !sched_wants_waits(source))
		return;
	if (!open) {
		off_cpu->unknown++;
		return;
	}
	wait_rows_add(source, source->events[open->event], &open->row, wait->woken,
		      wait->woken - wait->out);
	wait_rows_add(source, source->events[SCHED_RUN_QUEUE], &open->ready, wait->in,
		      wait->in - wait->woken);
}

static void handle_still(void *context, const struct capture_head *head,
			 const struct capture_handover *from)
{
	if (head->kind == OFF_CPU_STILL)
		off_cpu_handle_wait(context, (const struct capture_record *)head, from);
	else if (head->kind == OFF_CPU_GOES_ON)
		handle_open(context, (const struct capture_record *)head);
}

void off_cpu_closing(struct source *source)
{
	off_cpu_of(source)->lists_failed +=
		sched_list(source, SCHED_LIST_WAITING, handle_still) != 0;
	report_losses(source);
}

/* Waits that go on are reported as they do, as often as that takes little of a CPU. */
void off_cpu_tick(struct source *source, uint64_t now)
{
	struct off_cpu *off_cpu = off_cpu_of(source);
	uint64_t begin;

	if (source->host->live && now >= off_cpu->list_at) {
		begin = clock_thread_ns();
		if (off_cpu->open.all.count > OPEN_WAITS_MAX)
			forget_open(source);
		off_cpu_closing(source);
		off_cpu->list_at = now + clock_pause(clock_thread_ns() - begin, LIST_PART,
						     LIST_PAUSE_MAX, LIST_PART_MAX);
	}
	report_losses(source);
}

void off_cpu_free(struct source *source)
{
	struct off_cpu *off_cpu = off_cpu_of(source);

	if (off_cpu) {
		waiting_free(off_cpu->wakers);
		as_before_free(off_cpu->as_before);
		wait_decider_free(&off_cpu->decider);
		open_waits_forget(&off_cpu->open);
	}
	free(off_cpu);
	sched_of(source)->off_cpu = NULL;
}
