// SPDX-License-Identifier: Apache-2.0
/*
 * off-cpu and run-queue: why threads do not run. bpf/sched/off_cpu.bpf.c tells of each wait that
 * was long enough, and of a stack for each period of shorter ones; here they become samples, and it
 * is decided what a wait was for.
 */
#include "sources/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/vec.h"
#include "bpf/sched/off_cpu_abi.h"
#include "sources/sched/as_before.h"
#include "sources/sched/descriptors.h"
#include "sources/sched/lock.h"
#include "sources/loss_counts.h"
#include "sources/sched/off_cpu_count.h"
#include "sources/sched/off_cpu_open.h"
#include "sources/sched/objects.h"
#include "sources/sched/off_cpu_row.h"
#include "sources/sched/scheduler.h"
#include "resolve/task_list.h"
#include "sources/sched/wait_parts.h"
#include "sources/sched/wait_rows.h"
#include "sources/waiting.h"
#include "film/events.h"
#include "film/wait_rules.h"
#include "bpf/probes.skel.h"
#include "process/procfs.h"

#define SECOND_NS 1000000000ull

/* A stack in a film for so much waiting that is too short to be told of one by one, ns. */
#define PERIOD_NS 10000000ull

/* The rings are made for as many records as this many samples a second. */
#define RATE 1000

/* The most wakers that are kept until those whom they woke run. */
#define WAKERS_MAX 65536

/*
 * The list of waits that go on may take this part of one CPU; more, where it would come more rarely
 * than that (ns), as for the first time, when all stacks are walked.
 */
#define LIST_PART      400
#define LIST_PART_MAX  10
#define LIST_PAUSE_MAX 10000000000ull

enum {
	OF_WAITS,
	OF_READY,
	OF_IDLE,
	OF_LOCKS, /* of waits, those for locks */
	OF_ALL
};

struct off_cpu {
	vec(struct bpf_link *) links;
	uint32_t events[OF_ALL]; /* of the film */
	struct lock_book *locks; /* null: they are not asked for */
	struct objects *files;	 /* that locks are of */
	struct scheduler scheduler;
	struct task_list *list;
	struct wait_decider decider;
	struct utsname machine;
	/* The wakers: by the thread that is woken (in the place of a process), and when. */
	struct waiting *wakers;
	struct as_before *as_before;
	uint64_t wakers_missed, lists_failed, damaged, unknown;
	struct open_waits open;
	uint64_t list_at; /* when waits that go on are reported the next time, of a live film */
};

static uint64_t min_wait_of(const struct source *source)
{
	return source->settings->values[0];
}

/* Three events that add up report waits: a user who wants one gets all of them. */
static bool wants_waits(const struct source *source)
{
	return source_wants(source, OF_WAITS) || source_wants(source, OF_READY) ||
	       source_wants(source, OF_IDLE);
}

/* A second, on each CPU; 0: any number. */
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

	return stacks && stacks < RATE ? (unsigned int)stacks : RATE;
}

static uint32_t ring_bytes(const struct source *source, unsigned int cpus)
{
	return rings_bytes_for_samples(rate(source), cpus);
}

static void prepare(struct source *source)
{
	struct probes *probes = source->host->probes;
	uint64_t stacks = stacks_of(source);

	probes->rodata->off_cpu_min_wait = min_wait_of(source);
	probes->rodata->off_cpu_stack_interval = stacks ? SECOND_NS / stacks : 0;
	probes->rodata->off_cpu_period = PERIOD_NS;
	probes->rodata->off_cpu_locks = source_wants(source, OF_LOCKS);
	/* for tests: what is as before is walked as well, and compared */
	probes->rodata->off_cpu_check = getenv("STACKCAM_CHECK_STACKS") != NULL;
	descriptors_prepare(probes);
	probes->rodata->off_cpu_at_return = !off_cpu_has_switch_end(source->host->types);
	bpf_program__set_autoload(probes->rodata->off_cpu_at_return ? probes->progs.off_cpu_back
								    : probes->progs.off_cpu_return,
				  false);
	off_cpu_count_prepare(probes, source->host->types);
	bpf_program__set_autoload(probes->progs.off_cpu_exec,
				  !source->host->selection->whole_machine);
	/* nothing else wants them */
	bpf_program__set_autoload(probes->progs.off_cpu_flock, source_wants(source, OF_LOCKS));
	bpf_program__set_autoload(probes->progs.off_cpu_record_lock,
				  source_wants(source, OF_LOCKS));
}

static int attach(struct source *source, struct fail *why)
{
	struct off_cpu *off_cpu = source->state = calloc(1, sizeof(*off_cpu));
	struct probes *probes = source->host->probes;

	if (!off_cpu || waiting_new(WAKERS_MAX, &off_cpu->wakers) ||
	    as_before_new(AS_BEFORE_BYTES_MAX, &probes->bss->off_cpu_stacks_kept,
			  &off_cpu->as_before))
		return fail_errno(why, -ENOMEM, NULL, "cannot record waits");
	uname(&off_cpu->machine);
	off_cpu->decider.arch = off_cpu->machine.machine;
	if (source_wants(source, OF_LOCKS) &&
	    (!(off_cpu->files = objects_new(&(struct objects_to){source_mark_at, source})) ||
	     lock_book_new(source->host, probes->maps.off_cpu_lock_runtimes, &off_cpu->locks)))
		return fail_errno(why, -ENOMEM, NULL, "cannot record waits for locks");
	return task_list_new(probes->progs.off_cpu_tasks, &off_cpu->list, why);
}

/* Stacks of waits that go on are to be told again. */
static void forget_open(struct source *source)
{
	struct off_cpu *off_cpu = source->state;

	open_waits_forget(&off_cpu->open);
	source->host->probes->bss->off_cpu_film++;
}

static void add_events(struct source *source)
{
	static const enum event_id ids[OF_ALL] = {EVENT_OFF_CPU, EVENT_RUN_QUEUE, EVENT_IDLE,
						  EVENT_LOCK};
	struct off_cpu *off_cpu = source->state;

	source->event = 0;
	for (int i = 0; i < OF_ALL; i++) {
		struct film_event event = event_from(ids[i], "sched");

		off_cpu->events[i] = 0;
		if (i == OF_LOCKS ? !off_cpu->locks : !wants_waits(source))
			continue;
		off_cpu->events[i] = film_add_event(source->host->film, &event);
		if (!source->event)
			source->event = off_cpu->events[i];
	}
	if (off_cpu->locks) {
		lock_book_turn(off_cpu->locks);
		objects_turn(off_cpu->files);
	}
	/* their places are the film's */
	waiting_empty(off_cpu->wakers, NULL, NULL);
	forget_open(source);
}

static int start(struct source *source, struct fail *why)
{
	struct off_cpu *off_cpu = source->state;
	struct probes *probes = source->host->probes;
	int err;
	struct bpf_program *const programs[] = {
		probes->rodata->off_cpu_at_return ? probes->progs.off_cpu_return
						  : probes->progs.off_cpu_back,
		probes->progs.off_cpu_waking,
		probes->progs.off_cpu_exit,
		probes->progs.off_cpu_switch,
		probes->progs.off_cpu_exec,
		probes->progs.off_cpu_flock,
		probes->progs.off_cpu_record_lock,
	};

	add_events(source);
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		struct bpf_link *link;

		if (!bpf_program__autoload(programs[i]))
			continue;
		link = bpf_program__attach(programs[i]);
		if (!link)
			return fail_errno(why, -errno, "see 'stackcam doctor'",
					  "cannot record waits");
		if (!vec_push(&off_cpu->links, link)) {
			bpf_link__destroy(link);
			return fail_errno(why, -ENOMEM, NULL, "cannot record waits");
		}
	}
	probes->bss->off_cpu_listing = OFF_CPU_LIST_BEGIN;
	err = task_list_read(off_cpu->list, NULL, NULL);
	return err ? fail_errno(why, err, NULL, "cannot list threads that wait") : 0;
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
	struct off_cpu *off_cpu = source->state;
	struct as_before_stack stack;

	*record = scheduler_cut(&off_cpu->scheduler, source->host->probes, *record);
	if ((*record)->head.kind == OFF_CPU_WAIT && !source->host->probes->bss->off_cpu_scheduler)
		source->host->probes->bss->off_cpu_scheduler = off_cpu->scheduler.innermost;
	as_before_take(off_cpu->as_before, *record, &stack);
	*record = stack.record;
	return stack.known && !off_cpu->locks
		       ? samples_resolve_known(source->host->samples, *record, handover,
					       stack.known)
		       : samples_resolve(source->host->samples, *record, handover);
}

/* Keeps the place of one who ended a wait until the one who had waited reports the wait. */
static void take_waker(struct source *source, const struct capture_record *record,
		       const struct capture_handover *handover)
{
	struct off_cpu *off_cpu = source->state;
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
	struct off_cpu *off_cpu = source->state;
	struct waiting_half half;

	if (!wait->has_waker_stack) {
		if (wait->waker_context == OFF_CPU_BY_THREAD && wait->waker_tid)
			row->waker =
				samples_other_thread(source->host->samples, (pid_t)wait->waker_pid,
						     (pid_t)wait->waker_tid, 0, wait->waker_comm);
		return;
	}
	if (waiting_take(off_cpu->wakers, tid, wait->woken, &half)) {
		row->waker = half.place.thread;
		row->waker_stack = half.place.stack;
	} else {
		off_cpu->wakers_missed++;
	}
}

/* What user space has lost; the kernel's side is counted with that of other sources. */
static void tell_losses(struct source *source)
{
	const struct off_cpu *off_cpu = source->state;
	const struct as_before_counts stacks = as_before_counts(off_cpu->as_before);
	const struct loss_count losses[] = {
		{"stack of a wait lost: the one that it refers to was not kept", stacks.unknown},
		{"STACKCAM_CHECK_STACKS: stacks in all", stacks.checked ? stacks.taken : 0},
		{"STACKCAM_CHECK_STACKS: stacks as before that were walked, too", stacks.checked},
		{"STACKCAM_CHECK_STACKS: those that differ from their walk", stacks.differ},
		{"waker of a wait not known: its record was lost, or is of the film before",
		 off_cpu->wakers_missed},
		{"waits that go on: the list of threads could not be read", off_cpu->lists_failed},
		{"wait lost: its record is damaged", off_cpu->damaged},
		{"part of a wait that goes on lost: no memory for its stack", off_cpu->unknown},
	};

	loss_counts_emit(source->host->film, source->event, losses,
			 sizeof(losses) / sizeof(losses[0]));
	if (off_cpu->locks)
		lock_losses(off_cpu->locks, off_cpu->events[OF_LOCKS]);
}

static void process_gone(struct source *source, pid_t pid)
{
	struct off_cpu *off_cpu = source->state;

	if (off_cpu && off_cpu->locks)
		lock_book_process_gone(off_cpu->locks, pid);
}

/*
 * -- waits --------------------------------------------------------------------------------------
 */

static void add(struct source *source, int event, const struct film_wait *like, uint64_t end,
		uint64_t time)
{
	const struct off_cpu *off_cpu = source->state;

	wait_rows_add(source, off_cpu->events[event], like, end, time);
}

static void add_short(struct source *source, int event, const struct film_wait *like, uint64_t end,
		      uint64_t time, uint32_t count)
{
	const struct off_cpu *off_cpu = source->state;

	wait_rows_add_short(source, off_cpu->events[event], like, end, time, count);
}

/* A wait that was for a lock is reported beside itself, in the same parts. */
static void add_lock(struct source *source, const struct film_lock *like, uint64_t end,
		     uint64_t time)
{
	const struct off_cpu *off_cpu = source->state;
	struct film_lock row = *like;
	struct wait_part part;

	while (wait_part_take(end, &time, &part)) {
		row.end = part.end;
		row.duration = part.duration;
		row.flags = like->flags | part.flags;
		film_lock(source->host->film, off_cpu->events[OF_LOCKS], &row);
	}
}

/* The mark with the path of a lock's file; 0: not known. */
static uint32_t file_of(struct source *source, pid_t pid, const struct off_cpu_wait *wait,
			const struct lock_evidence *evidence, bool goes_on)
{
	const struct off_cpu *off_cpu = source->state;
	uint32_t row = objects_row(off_cpu->files, evidence->file_object);
	char name[32], path[512];

	if (row || !goes_on)
		return row;
	/* the thread stands still, and its call names it */
	snprintf(name, sizeof(name), "fd/%u", (uint32_t)wait->arguments[0]);
	return procfs_link(pid, name, path, sizeof(path)) ? source_mark(source, path) : 0;
}

/* Nothing names the owner: a thread that wakes by a call that does so has released the lock. */
static void take_releaser(const struct off_cpu_wait *wait, struct film_lock *lock)
{
	uint8_t released =
		film_lock_is_of_file(lock->kind) ? LOCK_RELEASED_FILE : LOCK_RELEASED_FUTEX;

	if (wait->waker_context != OFF_CPU_BY_THREAD || wait->waker_released != released)
		return;
	lock->holder = lock->waker;
	lock->sure = lock->holder ? FILM_HOLDER_RELEASER : FILM_HOLDER_NONE;
}

static void take_lock(struct source *source, const struct capture_record *record,
		      const struct off_cpu_wait *wait, const struct film_wait *row)
{
	const struct off_cpu *off_cpu = source->state;
	bool goes_on = record->head.kind == OFF_CPU_STILL;
	uint64_t waited = wait->woken - wait->out;
	struct lock_evidence evidence;
	struct film_lock lock = {
		.thread = row->thread,
		.stack = row->stack,
		.waker = row->waker,
		.waker_stack = row->waker_stack,
		.context = row->context,
		.flags = row->flags,
	};

	if (!off_cpu->locks)
		return;
	lock_meet(off_cpu->locks, (pid_t)record->identity.pid);
	if (!(wait->tells & OFF_CPU_TELLS_WAIT))
		return;
	if (wait->has_lock)
		evidence = *(const struct lock_evidence *)(wait + 1);
	else if (!lock_look((pid_t)record->identity.pid, wait, goes_on, &evidence))
		return;
	if (!lock_read(off_cpu->locks, record, &evidence, wait->out, &lock))
		return;
	if (film_lock_is_of_file(lock.kind))
		lock.place = file_of(source, (pid_t)record->identity.pid, wait, &evidence, goes_on);
	if (!lock.holder && !goes_on)
		take_releaser(wait, &lock);
	add_lock(source, &lock, wait->woken, waited);
}

/* The frames of the kernel are not named yet: they decide nothing here. */
static bool is_idle(struct off_cpu *off_cpu, const struct film_wait *row)
{
	return wait_class_is_idle(wait_decide(&off_cpu->decider, row, 0));
}

static void take_wait(struct source *source, const struct capture_record *record,
		      const struct capture_handover *handover)
{
	const struct off_cpu_wait *wait = off_cpu_wait_of(record);
	struct off_cpu *off_cpu = source->state;
	uint64_t waited, ready;
	struct film_wait row, of_cpu;
	struct samples_place place;
	int event;

	off_cpu->damaged += !wait;
	if (!wait || !source_is_meant(source, &record->identity))
		return;
	waited = wait->woken - wait->out;
	ready = wait->in - wait->woken;
	place = find_place(source, &record, handover);
	row = of_cpu = off_cpu_row(wait, &place);
	of_cpu.state = FILM_WAIT_READY;
	event = is_idle(off_cpu, &row) ? OF_IDLE : OF_WAITS;
	row.context = of_cpu.context = off_cpu_context(wait->waker_context);
	find_waker(source, record->identity.tid, wait, &row);
	if (record->head.kind == OFF_CPU_STILL) {
		row.flags = of_cpu.flags |= FILM_WAIT_OPEN;
		open_waits_put(
			&off_cpu->open, record->identity.tid,
			&(struct open_wait){record->identity.thread_start, row, of_cpu, event});
	}
	take_lock(source, record, wait, &row);
	if (!wants_waits(source))
		return;
	add(source, event, &row, wait->woken, wait->tells & OFF_CPU_TELLS_WAIT ? waited : 0);
	add(source, OF_READY, &of_cpu, wait->in, wait->tells & OFF_CPU_TELLS_READY ? ready : 0);
	add_short(source, event, &row, record->head.time, wait->short_waited, wait->short_waits);
	add_short(source, OF_READY, &of_cpu, record->head.time, wait->short_ready,
		  wait->short_readies);
}

/* What was reported holds still: only its time is added. */
static void take_open(struct source *source, const struct capture_record *record)
{
	const struct off_cpu_wait *wait = off_cpu_wait_of(record);
	struct off_cpu *off_cpu = source->state;
	const struct open_wait *open =
		open_waits_get(&off_cpu->open, record->identity.tid, record->identity.thread_start);

	off_cpu->damaged += !wait;
	if (!wait || !source_is_meant(source, &record->identity) || !wants_waits(source))
		return;
	if (!open) {
		off_cpu->unknown++;
		return;
	}
	add(source, open->event, &open->row, wait->woken, wait->woken - wait->out);
	add(source, OF_READY, &open->ready, wait->in, wait->in - wait->woken);
}

static void take_file(struct source *source, const struct capture_head *head)
{
	const struct off_cpu *off_cpu = source->state;
	size_t before = sizeof(struct capture_record);

	if (off_cpu->files && head->size > before)
		objects_take(off_cpu->files,
			     (const void *)((const struct capture_record *)head + 1),
			     head->size - before);
}

static void take(struct source *source, const struct capture_head *head,
		 const struct capture_handover *handover)
{
	if (head->kind == OFF_CPU_WAIT || head->kind == OFF_CPU_REST)
		take_wait(source, (const struct capture_record *)head, handover);
	else if (head->kind == OFF_CPU_OBJECT)
		take_file(source, head);
	else if (head->kind == OFF_CPU_WAKER)
		take_waker(source, (const struct capture_record *)head, handover);
}

static void take_still(void *context, const struct capture_head *head,
		       const struct capture_handover *from)
{
	if (head->kind == OFF_CPU_STILL)
		take_wait(context, (const struct capture_record *)head, from);
	else if (head->kind == OFF_CPU_GOES_ON)
		take_open(context, (const struct capture_record *)head);
}

/*
 * Takes the part that is over of waits that go on. What cannot be listed now is reported when it
 * ends.
 */
static void take_waiting(struct source *source)
{
	struct off_cpu *off_cpu = source->state;

	source->host->probes->bss->off_cpu_listing = OFF_CPU_LIST_WAITING;
	off_cpu->lists_failed += task_list_read(off_cpu->list, take_still, source) != 0;
	tell_losses(source);
}

/* Waits that go on are reported as they do, as often as that takes little of a CPU. */
static void tick(struct source *source, uint64_t now)
{
	struct off_cpu *off_cpu = source->state;
	uint64_t begin;

	if (source->host->live && now >= off_cpu->list_at) {
		begin = clock_thread_ns();
		if (off_cpu->open.all.count > OPEN_WAITS_MAX)
			forget_open(source);
		take_waiting(source);
		off_cpu->list_at = now + clock_pause(clock_thread_ns() - begin, LIST_PART,
						     LIST_PAUSE_MAX, LIST_PART_MAX);
	}
	tell_losses(source);
}

static void detach(struct source *source)
{
	struct off_cpu *off_cpu = source->state;

	if (!off_cpu)
		return;
	vec_foreach (&off_cpu->links, link)
		bpf_link__destroy(*link);
	vec_free(&off_cpu->links);
}

static void free_state(struct source *source)
{
	struct off_cpu *off_cpu = source->state;

	detach(source);
	if (off_cpu) {
		task_list_free(off_cpu->list);
		scheduler_free(&off_cpu->scheduler);
		waiting_free(off_cpu->wakers);
		as_before_free(off_cpu->as_before);
		lock_book_free(off_cpu->locks);
		objects_free(off_cpu->files);
		wait_decider_free(&off_cpu->decider);
		open_waits_forget(&off_cpu->open);
	}
	free(off_cpu);
}

static const char *const events[] = {"off-cpu", "run-queue", "idle", "lock", NULL};

static const struct source_option options[] = {
	OFF_CPU_MIN_WAIT,
	OFF_CPU_WAIT_STACKS,
	{0},
};

const struct source_type source_off_cpu = {
	.events = events,
	.options = options,
	.needs = needs,
	.rate = rate,
	.ring_bytes = ring_bytes,
	.prepare = prepare,
	.attach = attach,
	.start = start,
	.take = take,
	.tick = tick,
	.finish = tick,
	.turn = add_events,
	.detach = detach,
	.closing = take_waiting,
	.process_gone = process_gone,
	.free = free_state,
};
