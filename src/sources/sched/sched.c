// SPDX-License-Identifier: Apache-2.0
/* off-cpu, run-queue, idle, lock and threads: one source, whose events choose what is kept. */
#include "sources/sched/sched.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "bpf/probes.skel.h"
#include "sources/sched/descriptors.h"
#include "sources/sched/off_cpu.h"
#include "sources/sched/off_cpu_count.h"
#include "sources/sched/threads.h"
#include "sources/sched/threads_logs.h"

/* The rings are made for as many records as this many samples a second. */
#define STACKS_USUAL 1000

/* A stack in a film for so much waiting that is too short to be reported one by one, ns. */
#define PERIOD_NS 10000000ull

static bool wants_slices(const struct source *source)
{
	return source_wants(source, SCHED_THREADS);
}

static bool wants_locks(const struct source *source)
{
	return source_wants(source, SCHED_LOCK) || wants_slices(source);
}

static bool has_event(const struct source *source, unsigned int event)
{
	return event < SCHED_LOCK ? sched_wants_waits(source) : source_wants(source, event);
}

/* What off_cpu.c is for. */
static bool wants_off_cpu(const struct source *source)
{
	return sched_wants_waits(source) || source_wants(source, SCHED_LOCK);
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

	return stacks && stacks < STACKS_USUAL ? (unsigned int)stacks : STACKS_USUAL;
}

static void prepare(struct source *source)
{
	struct probes *probes = source->host->probes;
	bool at_return = !off_cpu_has_switch_end(source->host->types);
	bool waits = wants_off_cpu(source), slices = wants_slices(source);
	uint64_t stacks = stacks_of(source);
	int cpus = libbpf_num_possible_cpus();

	probes->rodata->sched_period = PERIOD_NS;
	/* for tests: what is as before is walked as well, and compared */
	probes->rodata->sched_check = getenv("STACKCAM_CHECK_STACKS") != NULL;
	probes->rodata->sched_waits = waits;
	probes->rodata->sched_slices = slices;
	probes->rodata->sched_locks = wants_locks(source);
	probes->rodata->sched_min_wait = source->settings->values[0];
	probes->rodata->sched_stack_interval = stacks ? SECOND_NS / stacks : 0;
	probes->rodata->sched_at_return = at_return;
	descriptors_prepare(probes);
	off_cpu_count_prepare(probes, source->host->types);
	bpf_program__set_autoload(at_return ? probes->progs.sched_back : probes->progs.sched_return,
				  false);
	/* nothing else needs them */
	bpf_program__set_autoload(probes->progs.sched_exit, waits);
	bpf_program__set_autoload(probes->progs.sched_rename, slices);
	bpf_program__set_autoload(probes->progs.sched_exec,
				  slices || !source->host->selection->whole_machine);
	bpf_program__set_autoload(probes->progs.sched_flock, wants_locks(source));
	bpf_program__set_autoload(probes->progs.sched_record_lock, wants_locks(source));
	/* they take up to 64 MB of the kernel's memory */
	if (slices)
		threads_logs_prepare(probes, cpus > 0 ? (unsigned int)cpus : 1,
				     source->host->ring_limit);
}

static int attach(struct source *source, struct fail *why)
{
	struct sched *sched = source->state = calloc(1, sizeof(*sched));

	if (!sched ||
	    !(sched->objects = objects_new(&(struct objects_to){source_mark_at, source})) ||
	    (wants_locks(source) && lock_book_new(source->host, &sched->locks)) ||
	    (wants_off_cpu(source) && off_cpu_new(source)))
		return fail_errno(why, -ENOMEM, NULL, "cannot record what threads wait for");
	if (wants_slices(source)) {
		int err = sched_threads_new(source, why);

		if (err)
			return err;
	}
	return task_list_new(source->host->probes->progs.sched_tasks, &sched->list, why);
}

int sched_list(struct source *source, enum sched_listing what,
	       void (*each)(void *context, const struct capture_head *head,
			    const struct capture_handover *from))
{
	source->host->probes->bss->sched_listing = what;
	return task_list_read(sched_of(source)->list, each, source);
}

/* The switch comes last: from then on all is seen. */
static int attach_all(struct source *source, struct fail *why)
{
	struct probes *probes = source->host->probes;
	struct sched *sched = sched_of(source);
	struct bpf_program *const programs[] = {
		probes->rodata->sched_at_return ? probes->progs.sched_return
						: probes->progs.sched_back,
		probes->progs.sched_rename,
		probes->progs.sched_made,
		probes->progs.sched_waking,
		probes->progs.sched_exec,
		probes->progs.sched_exit,
		probes->progs.sched_flock,
		probes->progs.sched_record_lock,
		probes->progs.sched_switch,
	};

	return links_attach(&sched->links, programs, sizeof(programs) / sizeof(programs[0]),
			    "record switches of threads", why);
}

static void begin_film(struct source *source)
{
	struct sched *sched = sched_of(source);

	if (sched->locks)
		lock_book_turn(sched->locks);
	objects_turn(sched->objects);
	if (sched->off_cpu)
		off_cpu_begin_film(source);
}

/*
 * Threads that wait are listed twice: before the probes are attached, so that each that ends its
 * wait later is known, and then again, for those that have begun in between. All that is measured
 * counts from one moment on.
 */
static int start(struct source *source, struct fail *why)
{
	struct sched *sched = sched_of(source);
	uint64_t began;
	int err = 0;

	begin_film(source);
	if (sched->threads)
		err = sched_threads_list_before(source);
	if (!err && sched->off_cpu)
		err = sched_list(source, SCHED_LIST_BEGIN, NULL);
	if (err)
		return fail_errno(why, err, NULL, "cannot list threads");
	err = attach_all(source, why);
	if (err)
		return err;
	source->host->probes->bss->sched_began = began = clock_ns();
	if (sched->off_cpu)
		err = sched_list(source, SCHED_LIST_BEGIN, NULL);
	if (!err && sched->threads)
		err = sched_threads_list_since(source, began);
	return err ? fail_errno(why, err, NULL, "cannot list threads") : 0;
}

static void handle_words(struct source *source, const void *of)
{
	const struct capture_record *record = of;

	objects_add(sched_of(source)->objects, (const void *)(record + 1),
		    record->head.size - sizeof(*record));
}

static void drained(struct source *source, uint64_t now)
{
	if (source->state && sched_of(source)->threads)
		sched_threads_drained(source, now);
}

static void tick(struct source *source, uint64_t now)
{
	if (sched_of(source)->off_cpu)
		off_cpu_tick(source, now);
	if (sched_of(source)->threads)
		sched_threads_tick(source);
}

static void closing(struct source *source)
{
	if (sched_of(source)->off_cpu)
		off_cpu_closing(source);
	if (sched_of(source)->threads)
		sched_threads_closing(source);
}

static void leave(struct source *source, uint64_t now)
{
	if (sched_of(source)->threads)
		sched_threads_leave(source, now);
}

static void turn(struct source *source)
{
	begin_film(source);
	if (sched_of(source)->threads)
		sched_threads_begin_film(source);
}

static void finish(struct source *source, uint64_t now)
{
	if (sched_of(source)->off_cpu)
		off_cpu_tick(source, now);
	if (sched_of(source)->threads)
		sched_threads_finish(source, now);
}

static void process_gone(struct source *source, pid_t pid)
{
	const struct sched *sched = sched_of(source);

	if (sched && sched->locks)
		lock_book_process_gone(sched->locks, pid);
}

static void detach(struct source *source)
{
	struct sched *sched = sched_of(source);

	if (!sched)
		return;
	links_free(&sched->links);
}

static void free_state(struct source *source)
{
	struct sched *sched = sched_of(source);

	detach(source);
	if (sched) {
		off_cpu_free(source);
		sched_threads_free(source);
		task_list_free(sched->list);
		scheduler_free(&sched->scheduler);
		lock_book_free(sched->locks);
		objects_free(sched->objects);
	}
	free(sched);
}

static const struct source_record records[] = {
	SOURCE_RECORD_WITH_STACK(OFF_CPU_WAIT, off_cpu_handle_wait),
	SOURCE_RECORD_WITH_STACK(OFF_CPU_REST, off_cpu_handle_wait),
	SOURCE_RECORD_WITH_STACK(OFF_CPU_WAKER, off_cpu_handle_waker),
	SOURCE_RECORD(SCHED_OBJECT, capture_record, handle_words),
	SOURCE_RECORD(THREADS_NEW, capture_record, sched_threads_handle_new),
	SOURCE_RECORD_WITH_STACK(THREADS_STACK, sched_threads_handle_stack),
	{0},
};

static const struct source_event events[] = {
	[SCHED_OFF_CPU] = {EVENT_OFF_CPU, "sched"}, [SCHED_RUN_QUEUE] = {EVENT_RUN_QUEUE, "sched"},
	[SCHED_IDLE] = {EVENT_IDLE, "sched"},	    [SCHED_LOCK] = {EVENT_LOCK, "sched"},
	[SCHED_THREADS] = {EVENT_THREADS, "sched"}, {0},
};

static const struct source_option options[] = {
	{"min-wait", 0, true, "TIME",
	 "of off-cpu, lock and threads: the shortest wait that has a stack of its own (default "
	 "50us)",
	 0, 3600000000000ull, 50000},
	{"wait-stacks", 0, false, "N",
	 "of off-cpu, lock and threads: at most N stacks a second on each CPU (default 1000; 0: no "
	 "limit)",
	 0, 1000000, STACKS_USUAL},
	{0},
};

const struct source_type source_sched = {
	.events = events,
	.has_event = has_event,
	.options = options,
	.needs = needs,
	.rate = rate,
	.prepare = prepare,
	.attach = attach,
	.start = start,
	.records = records,
	.drained = drained,
	.tick = tick,
	.finish = finish,
	.closing = closing,
	.leave = leave,
	.turn = turn,
	.detach = detach,
	.processes.gone = process_gone,
	.free = free_state,
};
