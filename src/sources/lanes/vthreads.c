// SPDX-License-Identifier: Apache-2.0
/*
 * vthread-lanes: what every virtual thread of Java did, every moment (bpf/lanes/vthreads.bpf.c).
 * The stacks with which they wait come in records of their own, and some places are breakpoints of
 * the CPU. Only of monitors it is seen when one could run again: any other wait
 * lasts until it runs, and is marked as such.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "attach/breakpoints.h"
#include "base/clock.h"
#include "base/vec.h"
#include "bpf/lanes/vthreads_abi.h"
#include "resolve/samples.h"
#include "sources/lanes/lane_source.h"
#include "sources/lanes/vthreads_name.h"
#include "sources/loss_counts.h"
#include "sources/source.h"
#include "sources/probed_files.h"
#include "sources/waiting.h"
#include "bpf/probes.skel.h"
#include "runtime/hotspot/vthreads.h"

/*
 * The code that JVMs make to run virtual threads, in the processes that run them: there are
 * breakpoints of the CPU in it. Zero is empty, as long as it is not asked to look.
 */
struct vthreads_code {
	struct bpf_program *program; /* of the breakpoints, loaded */
	int processes;		     /* the map of struct vthreads_process */
	struct probed_refused *refused;
	struct breakpoints breakpoints;
	vec(struct vthreads_running {
		pid_t pid;
		uint32_t object; /* of its file */
		bool is_over; /* its probes are all set, or it was refused; else it is looked at */
	}) running;
};

/* Stacks of waits a second, on each CPU. */
#define RATE 1000

/* The most stacks that are kept until what waits with them runs. */
#define STACKS_MAX 65536

struct vthreads {
	struct lane_source lanes;
	struct vthreads_code code;
	struct waiting *stacks; /* by process and vthreads_stack_key() */
};

/* -- files ------------------------------------------------------------------------------------- */

static int look_at(struct probed_look *look, struct fail *why)
{
	struct hotspot_vthreads *facts = look->facts;
	int err = hotspot_vthreads_of(facts, look->image, why);

	for (size_t i = 0; !err && i < facts->site_count; i++) {
		enum vthreads_place place = facts->sites[i].place;
		bool is_end = place == VTHREADS_FROZEN || place == VTHREADS_RESUMED ||
			      place == VTHREADS_MADE;

		if (!probed_look_add(look, facts->sites[i].offset, look->number, place, is_end))
			err = fail(why, -ENOMEM, NULL, "out of memory");
	}
	return err;
}

static const struct probed_kind files = {
	.size = sizeof(struct hotspot_vthreads),
	.most = VTHREADS_PROCESSES_MAX,
	.too_many = "too many JVMs",
	.keep = true,
	.look = look_at,
};

/* refused: where processes are counted that cannot be followed. */
static void vthreads_code_begin(struct vthreads_code *code, struct bpf_program *program,
				int processes, struct probed_refused *refused)
{
	code->program = program;
	code->processes = processes;
	code->refused = refused;
}

/* Takes the breakpoints away. */
static void vthreads_code_detach(struct vthreads_code *code)
{
	breakpoints_remove(&code->breakpoints, 0);
}

static void vthreads_code_free(struct vthreads_code *code)
{
	breakpoints_free(&code->breakpoints);
	vec_free(&code->running);
}

static bool is_running(const struct vthreads_code *code, pid_t pid)
{
	vec_foreach (&code->running, running)
		if (running->pid == pid)
			return true;
	return false;
}

/* A process runs a JVM. object: as of struct hotspot_vthreads. */
static void vthreads_code_runs(struct vthreads_code *code, pid_t pid, uint32_t object)
{
	struct fail why = {0};

	if (is_running(code, pid) ||
	    vec_push(&code->running, (struct vthreads_running){pid, object, false}))
		return;
	fail_errno(&why, -ENOMEM, NULL, "cannot follow it");
	probed_refused_add(code->refused, &why);
}

/* Returns whether there is nothing left to be done. */
static bool follow(struct vthreads_code *code, const struct vthreads_running *running,
		   struct samples *samples)
{
	struct vthreads_process process;
	struct fail why = {0};
	uint32_t pid = (uint32_t)running->pid;
	int err;

	samples_follow_begin(samples, running->pid);
	err = samples_vthreads(samples, running->pid, running->object, &process, &why);

	if (err == -EAGAIN)
		return false;
	if (!err) {
		const uint64_t addresses[] = {process.first, process.end};

		err = breakpoints_add(&code->breakpoints, running->pid,
				      bpf_program__fd(code->program), addresses, 2, &why);
		process.since = clock_ns();
		if (!err && bpf_map_update_elem(code->processes, &pid, &process, BPF_ANY))
			err = fail(&why, -ENOSPC, NULL, "too many JVMs");
	}
	if (err && err != -ESRCH)
		probed_refused_add(code->refused, &why);
	return true;
}

/* Sets what is missing for processes that have run a virtual thread meanwhile. */
static void vthreads_code_look(struct vthreads_code *code, struct samples *samples)
{
	vec_foreach (&code->running, running)
		if (!running->is_over)
			running->is_over = follow(code, running, samples);
}

/* It has ended, or runs another program. */
static void vthreads_code_gone(struct vthreads_code *code, pid_t pid)
{
	uint32_t key = (uint32_t)pid;
	size_t kept = 0;

	if (!is_running(code, pid))
		return;
	vec_foreach (&code->running, running)
		if (running->pid != pid)
			code->running.at[kept++] = *running;
	code->running.count = kept;
	breakpoints_remove(&code->breakpoints, pid);
	bpf_map_delete_elem(code->processes, &key);
}

static void runs(struct source *source, pid_t pid, const void *facts)
{
	struct vthreads *vthreads = source->state;
	const struct hotspot_vthreads *jvm = facts;

	vthreads_code_runs(&vthreads->code, pid, jvm->object);
}

/* -- virtual threads --------------------------------------------------------------------------- */

static void name_of(const struct source *source, uint64_t number, const char *told,
		    char to[LANE_NAME_MAX])
{
	(void)source;
	vthreads_name(told, number, to);
}

static uint32_t stack(struct source *source, uint32_t pid, const struct lane_turn *turn,
		      bool goes_on)
{
	struct vthreads *vthreads = source->state;
	uint64_t key = vthreads_stack_key(turn->number, turn->out);
	struct waiting_half half;

	if (!turn->out || !waiting_pop(vthreads->stacks, pid, key, &half))
		return 0;
	if (goes_on)
		waiting_put(vthreads->stacks, &half);
	return half.place.stack;
}

static void handle_stack(struct source *source, const struct capture_record *record,
			 const struct capture_handover *handover)
{
	struct vthreads *vthreads = source->state;
	struct waiting_half half = {
		.pid = record->identity.pid,
		.key = record->identity.key,
		.time = record->head.time,
	};

	if (!source_is_meant(source, &record->identity))
		return;
	half.place = samples_resolve(source->host->samples, record, handover);
	waiting_put(vthreads->stacks, &half);
}

static void handle_ready(struct source *source, const void *of)
{
	struct vthreads *vthreads = source->state;

	(void)of;
	vthreads_code_look(&vthreads->code, source->host->samples);
}

static void look(struct source *source, uint64_t now, bool is_last)
{
	struct vthreads *vthreads = source->state;

	(void)now;
	if (!is_last)
		vthreads_code_look(&vthreads->code, source->host->samples);
}

/* The places of stacks are the film's. */
static void turned(struct source *source)
{
	const struct vthreads *vthreads = source->state;

	waiting_empty(vthreads->stacks, NULL, NULL);
}

static void process_gone(struct source *source, pid_t pid)
{
	struct vthreads *vthreads = source->state;

	if (vthreads)
		vthreads_code_gone(&vthreads->code, pid);
}

static void ended(struct source *source, pid_t pid)
{
	struct vthreads *vthreads = source->state;

	process_gone(source, pid);
	waiting_forget(vthreads->stacks, (uint32_t)pid);
}

/* -- the source -------------------------------------------------------------------------------- */

static void report_losses(const struct source *source)
{
	const struct vthreads *vthreads = source->state;
	const struct waiting_counts stacks = waiting_counts(vthreads->stacks);
	const struct loss_count losses[] = {
		{"stack of a virtual thread's wait lost: too many wait", stacks.evicted},
		{"stack of a virtual thread's wait lost: no memory", stacks.refused},
	};

	loss_counts_emit_all(source->host->film, source->event, losses);
}

static void detach(struct source *source)
{
	struct vthreads *vthreads = source->state;

	vthreads_code_detach(&vthreads->code);
}

static void free_rest(struct source *source)
{
	struct vthreads *vthreads = source->state;

	vthreads_code_free(&vthreads->code);
	waiting_free(vthreads->stacks);
}

static const enum film_go_reason reasons[VTHREADS_REASONS] = {
	[VTHREADS_FOR_OTHER] = FILM_GO_OTHER,		[VTHREADS_FOR_PARK] = FILM_GO_PARK,
	[VTHREADS_FOR_TIMED_PARK] = FILM_GO_TIMED_PARK, [VTHREADS_FOR_MONITOR] = FILM_GO_MUTEX,
	[VTHREADS_FOR_NOTIFY] = FILM_GO_COND,
};

static const struct lane_kind kind = {
	.size = sizeof(struct vthreads),
	.files = &files,
	.name = name_of,
	.state_size = sizeof(struct vthreads_state),
	.most = VTHREADS_MAX,
	.has_names = true,
	.reasons = reasons,
	.reason_count = VTHREADS_REASONS,
	.words =
		{
			.cannot = "cannot record what virtual threads do",
			.holes = "time of a virtual thread not known: its records were lost",
			.too_many = "virtual thread not followed: too many of them, or no memory",
			.refused = "virtual threads of a JVM not followed",
		},
	.stack = stack,
	.look = look,
	.turned = turned,
	.runs = runs,
	.ended = ended,
	.report_losses = report_losses,
	.detach = detach,
	.free = free_rest,
};

static unsigned int needs(const struct source *source)
{
	(void)source;
	return SOURCE_STACKS | SOURCE_RUNTIMES | SOURCE_IMAGES;
}

static unsigned int rate(const struct source *source)
{
	(void)source;
	return RATE;
}

static void prepare(struct source *source)
{
	struct probes *probes = source->host->probes;

	probes->rodata->vthreads_stack_interval = SECOND_NS / RATE;
	probed_files_prepare(probes->progs.vthreads_site);
}

static int attach(struct source *source, struct fail *why)
{
	const struct probes *probes = source->host->probes;
	int err = lane_source_new(source, &kind, why);
	struct vthreads *vthreads = source->state;

	if (!err && waiting_new(STACKS_MAX, &vthreads->stacks))
		err = fail_errno(why, -ENOMEM, NULL, "%s", kind.words.cannot);
	if (!err)
		err = lane_source_open(source, probes->progs.vthreads_site,
				       bpf_map__fd(probes->maps.vthreads_states), -1, why);
	if (!err)
		vthreads_code_begin(&vthreads->code, probes->progs.vthreads_code,
				    bpf_map__fd(probes->maps.vthreads_processes),
				    &vthreads->lanes.images->refused);
	return err;
}

static const struct source_record records[] = {
	SOURCE_RECORD(VTHREADS_TURN, vthreads_turn, lane_source_handle),
	SOURCE_RECORD_WITH_STACK(VTHREADS_STACK, handle_stack),
	SOURCE_RECORD(VTHREADS_READY, capture_head, handle_ready),
	{0},
};

static const struct source_event events[] = {{EVENT_VTHREAD_LANES, "uprobes"}, {0}};

static const char *const libraries[] = {"libjvm.so", NULL};

const struct source_type source_vthreads = {
	.events = events,
	.records = records,
	.images.libraries = libraries,
	.needs = needs,
	.rate = rate,
	.prepare = prepare,
	.attach = attach,
	.processes.gone = process_gone,
	LANE_SOURCE,
};
