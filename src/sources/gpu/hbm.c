// SPDX-License-Identifier: Apache-2.0
/*
 * hbm-alloc and hbm-inuse: what programs allocate and hold of the memory of devices. Probes in the
 * driver library (driver.h) tell of each call: the totals are exact, and only where there are many
 * calls in a second, some have no stack. What is in use is kept as that of the CPU's memory is
 * (sources/memory/live.h).
 */
#include "sources/source.h"

#include <errno.h>
#include <stdlib.h>

#include "bpf/gpu/hbm_abi.h"
#include "film/events.h"
#include "bpf/probes.skel.h"
#include "sources/gpu/array.h"
#include "sources/gpu/driver.h"
#include "sources/gpu/handles.h"
#include "sources/loss_counts.h"
#include "sources/memory/live.h"

/* Its events, in the order in which source_hbm names them. */
enum {
	OF_ALLOC,
	OF_INUSE,
};

/* As many samples as a CPU can have in a second, about. */
#define RATE 4000

/* The most calls that have begun and not ended: a thread has one. */
#define CALLS_MAX (1u << 16)

/* Keys of memory that a handle stands for: no address is one of them. */
#define HANDLE_KEY (1ull << 63)

struct hbm {
	struct probed_images *drivers;
	struct waiting *calls; /* that have begun */
	struct mem_live *live;
	struct gpu_handles *handles;
	uint64_t begun; /* when the film did */
	uint64_t unread, unsized, refused, stackless;
	uint64_t before;  /* processes that ran before the recording */
	uint64_t foreign; /* what was given back and is not known */
	uint64_t contexts;
	uint64_t late; /* processes that had run a moment without probes */
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
	probed_files_prepare(source->host->probes->progs.hbm_site);
}

static int attach(struct source *source, struct fail *why)
{
	struct hbm *hbm = source->state = calloc(1, sizeof(*hbm));
	int err = -ENOMEM;

	if (hbm)
		hbm->handles = gpu_handles_new();
	if (hbm && hbm->handles && !mem_live_new(&hbm->live) &&
	    !waiting_new(CALLS_MAX, &hbm->calls))
		err = probed_images_new(&gpu_driver_kind, source->host->probes->progs.hbm_site, -1,
					!source->host->selection->whole_machine, &hbm->drivers);
	return err ? fail_errno(why, err, NULL, "cannot record the memory of devices") : 0;
}

static int start(struct source *source, struct fail *why)
{
	struct hbm *hbm = source->state;

	(void)why;
	hbm->begun = clock_ns();
	source_follow_selected(source);
	return 0;
}

/* -- records ----------------------------------------------------------------------------------- */

static void handle_begin(struct source *source, const struct capture_record *record,
			 const struct capture_handover *handover)
{
	const struct capture_identity *identity = &record->identity;
	struct hbm *hbm = source->state;
	struct waiting_half half = {.key = identity->key, .pid = identity->pid};

	if (!source_is_meant(source, identity))
		return;
	half.time = record->head.time;
	half.place = samples_resolve(source->host->samples, record, handover);
	if (!record->has_user && !source->host->kernel_only) {
		hbm->stackless++;
		half.place.stack = samples_words(source->host->samples, 0,
						 "[stack not taken: too many calls]");
	}
	waiting_put(hbm->calls, &half);
}

/* Where a call began is lost: what it did is not. False: it is not known whether it is meant. */
static bool find_begin(struct source *source, const struct hbm_end *end, struct waiting_half *half)
{
	struct hbm *hbm = source->state;

	if (waiting_pop(hbm->calls, end->pid, end->key, half))
		return true;
	*half = (struct waiting_half){.pid = end->pid};
	half->place.thread = source_first_thread(source, end->pid);
	half->place.stack = samples_words(source->host->samples, 0, "[stack not known]");
	return !end->undecided && half->place.thread;
}

static void handle_end(struct source *source, const void *of)
{
	const struct hbm_end *end = of;
	const uint64_t bytes = end->array.width ? gpu_array_bytes(&end->array) : end->bytes;
	struct hbm *hbm = source->state;
	struct waiting_half half;

	if (!find_begin(source, end, &half))
		return;
	if (end->result || !end->address || !bytes) {
		hbm->refused += end->result != 0;
		hbm->unread += !end->result && !end->address;
		hbm->unsized += !end->result && end->address && !bytes;
		return;
	}
	half.time = end->head.time;
	half.value = bytes;
	half.key = end->address;
	if (source->events[OF_ALLOC])
		samples_add(source->host->samples, source->events[OF_ALLOC], half.time, &half.place,
			    half.value);
	if (!source->events[OF_INUSE])
		return;
	if (end->call == HBM_CALL_CREATE) {
		gpu_handles_made(hbm->handles, end->pid, end->address);
		half.key |= HANDLE_KEY;
	}
	mem_live_allocated(hbm->live, source->host->samples, source->host->film,
			   source->events[OF_INUSE], hbm->begun, &half);
}

static void handle_gone(void *context, uint32_t pid, uint64_t handle)
{
	struct hbm *hbm = context;

	mem_live_remove(hbm->live, pid, handle | HANDLE_KEY);
}

/* An address of 0 stands for nothing. */
static void handle_change(struct source *source, const void *of)
{
	const struct hbm_change *change = of;
	struct hbm *hbm = source->state;
	bool is_known = true;
	enum gpu_handle_is is;

	if (!source->events[OF_INUSE])
		return;
	switch (change->call) {
	case HBM_CALL_FREE:
		is_known = !change->address ||
			   mem_live_remove(hbm->live, change->pid, change->address);
		break;
	case HBM_CALL_RELEASE:
		is = gpu_handles_released(hbm->handles, change->pid, change->handle);
		if (is == GPU_HANDLE_GONE)
			handle_gone(hbm, change->pid, change->handle);
		is_known = is != GPU_HANDLE_UNKNOWN;
		break;
	case HBM_CALL_RETAIN:
		gpu_handles_retained(hbm->handles, change->pid, change->handle);
		break;
	case HBM_CALL_MAP:
		gpu_handles_mapped(hbm->handles, change->pid, change->handle, change->address,
				   change->bytes);
		break;
	case HBM_CALL_UNMAP:
		gpu_handles_unmapped(hbm->handles, change->pid, change->address, change->bytes,
				     handle_gone, hbm);
		break;
	case HBM_CALL_LEAVE:
		hbm->contexts += !change->undecided;
		break;
	default:
		source->damaged++;
	}
	hbm->foreign += !is_known && !change->undecided;
}

/* -- processes --------------------------------------------------------------------------------- */

static unsigned int image_new(struct source *source, pid_t pid, const struct image *image)
{
	struct hbm *hbm = source->state;
	const struct process *process;
	unsigned int state = 0;
	bool was_known;

	if (!hbm || !hbm->drivers)
		return 0;
	was_known = probed_images_has(hbm->drivers, pid);
	if (probed_images_meet(hbm->drivers, pid, image, &state) < 0 || was_known ||
	    !source->host->samples)
		return state;
	process = samples_process(source->host->samples, pid);
	hbm->before += process && !process->executed;
	return state;
}

/* It runs another program from now on, or none. */
static void process_gone(struct source *source, pid_t pid)
{
	struct hbm *hbm = source->state;

	if (!hbm || !hbm->handles)
		return;
	gpu_handles_forget(hbm->handles, (uint32_t)pid);
	waiting_forget(hbm->calls, (uint32_t)pid);
	if (source->events[OF_INUSE] && source->last)
		mem_live_ended(hbm->live, source->host->film, source->events[OF_INUSE],
			       (uint32_t)pid, source->last);
}

static void process_ended(struct source *source, pid_t pid)
{
	struct hbm *hbm = source->state;

	if (hbm && hbm->drivers)
		probed_images_ended(hbm->drivers, pid);
}

static void image_missed(struct source *source, const char *path, uint64_t ran_ns)
{
	struct hbm *hbm = source->state;

	(void)path;
	(void)ran_ns;
	hbm->late++;
}

/* -- ticks and ends ---------------------------------------------------------------------------- */

static void report_inuse_losses(const struct source *source)
{
	const struct hbm *hbm = source->state;
	const struct waiting_counts counts = mem_live_counts(hbm->live);
	const struct loss_count losses[] = {
		{"device memory of a process that ran before: what it had allocated by then is not "
		 "known",
		 hbm->before},
		{"device memory given back that was allocated before, or in a way that is not seen",
		 hbm->foreign},
		{"device memory shown as in use that may be gone: its context was destroyed",
		 hbm->contexts},
		{"device memory in use left out: the recorder held too many allocations",
		 counts.evicted},
		{"device memory in use left out: no memory",
		 counts.refused + gpu_handles_refused(hbm->handles)},
	};

	loss_counts_emit_all(source->host->film, source->events[OF_INUSE], losses);
}

static void report_losses(struct source *source)
{
	const struct hbm *hbm = source->state;
	const struct waiting_counts counts = waiting_counts(hbm->calls);
	const struct loss_count losses[] = {
		{"allocation of device memory lost: where it is could not be read", hbm->unread},
		{"allocation of device memory lost: its format is not known", hbm->unsized},
		{"stack of an allocation of device memory not taken: too many a second",
		 hbm->stackless},
		{"stack of an allocation of device memory lost: too many calls at once",
		 counts.evicted + counts.refused},
		{"device memory of a process not seen for a moment, before it had probes",
		 hbm->late},
	};

	loss_counts_emit_all(source->host->film, source->event, losses);
	if (source->events[OF_INUSE])
		report_inuse_losses(source);
	probed_refused_report(&hbm->drivers->refused, source->host->film, source->event,
			      "device memory of a driver library not seen");
}

static void report_inuse(struct source *source, uint64_t now)
{
	struct hbm *hbm = source->state;

	if (source->events[OF_INUSE])
		mem_live_report(hbm->live, source->host->film, source->events[OF_INUSE], now);
}

static void tick(struct source *source, uint64_t now)
{
	struct hbm *hbm = source->state;

	if (source->events[OF_INUSE])
		mem_live_tick(hbm->live, source->host->film, source->events[OF_INUSE], now);
	report_losses(source);
}

static void closing(struct source *source)
{
	if (source->last)
		report_inuse(source, source->last);
	report_losses(source);
}

static void finish(struct source *source, uint64_t now)
{
	report_inuse(source, now);
	report_losses(source);
}

/* Of a call that goes on, the place was of the film before. */
static void turn(struct source *source)
{
	struct hbm *hbm = source->state;

	hbm->begun = clock_ns();
	waiting_empty(hbm->calls, NULL, NULL);
	if (source->events[OF_INUSE])
		mem_live_turn(hbm->live, source->host->samples, source_first_thread, source);
}

static void detach(struct source *source)
{
	struct hbm *hbm = source->state;

	if (hbm)
		probed_images_detach(hbm->drivers);
}

static void free_state(struct source *source)
{
	struct hbm *hbm = source->state;

	if (hbm) {
		probed_images_free(hbm->drivers);
		waiting_free(hbm->calls);
		mem_live_free(hbm->live);
		gpu_handles_free(hbm->handles);
	}
	free(hbm);
}

static const struct source_record records[] = {
	SOURCE_RECORD_WITH_STACK(HBM_BEGIN, handle_begin),
	SOURCE_RECORD(HBM_END, hbm_end, handle_end),
	SOURCE_RECORD(HBM_CHANGE, hbm_change, handle_change),
	{0},
};

static const struct source_event events[] = {
	[OF_ALLOC] = {EVENT_HBM_ALLOC, "uprobes"},
	[OF_INUSE] = {EVENT_HBM_INUSE, "uprobes"},
	{0},
};

const struct source_type source_hbm = {
	.events = events,
	.images.libraries = gpu_driver_names,
	.needs = needs,
	.rate = rate,
	.prepare = prepare,
	.attach = attach,
	.start = start,
	.records = records,
	.tick = tick,
	.closing = closing,
	.turn = turn,
	.detach = detach,
	.finish = finish,
	.free = free_state,
	.images.arrived = image_new,
	.images.missed = image_missed,
	.processes.gone = process_gone,
	.processes.ended = process_ended,
};
