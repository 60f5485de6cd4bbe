// SPDX-License-Identifier: Apache-2.0
#include "sources/gpu/lanes.h"

#include <string.h>

#include "../inject/gpu_places.h"
#include "bpf/gpu/on_gpu_abi.h"
#include "film/writer.h"
#include "sources/gpu/copies.h"
#include "sources/memory/record.h"

/* Clocks of devices are set to the machine's, but not exactly. */
#define AHEAD_MAX_NS 1000000000u

_Static_assert(ON_GPU_WORKS == GPU_WORKS &&
		       ON_GPU_WORK_WORDS * sizeof(uint64_t) == sizeof(struct gpu_work),
	       "the library hands over as many as the probe reads");

/* The thread that launched it, if that was sampled; else any one of the process. */
static void find_launch(const struct gpu_lanes_to *to, uint32_t pid, const struct gpu_work *of,
			struct film_work *work)
{
	struct waiting_half launch;

	if (!of->number || !waiting_pop(to->launches, pid, of->number, &launch)) {
		work->flags |= FILM_WORK_UNSAMPLED;
		work->thread = source_first_thread(to->source, pid);
		return;
	}
	/* its time comes with another record */
	waiting_put(to->launches, &launch);
	work->thread = launch.place.thread;
	work->stack = launch.place.stack;
	if (launch.time < of->begin)
		work->launched = of->begin - launch.time;
}

/* As the stacks of on-gpu: that of the launch, and behind it where the graph was captured. */
static void add_capture(const struct gpu_lanes_to *to, uint32_t pid, const struct gpu_work *of,
			struct film_work *work)
{
	struct samples *samples = to->source->host->samples;
	bool is_known;

	if (work->flags & FILM_WORK_UNSAMPLED)
		work->stack = samples_words(samples, 0, "[launch not sampled]");
	/* on-gpu counts those that are not known */
	work->stack = gpu_graphs_stack(to->graphs, samples, pid, of->site, work->stack, &is_known);
}

static void write_or_count(const struct gpu_lanes_to *to, const struct film_work *work)
{
	if (work->thread)
		film_work(to->source->host->film, to->event, work);
	else
		to->losses->without_process++;
}

static void write_work(const struct gpu_lanes_to *to, uint32_t pid, const struct gpu_work *of)
{
	const char *name = to->name_of(to->source, pid, of->work);
	struct film_work work = {
		.end = of->end,
		.duration = of->end - of->begin,
		.bytes = of->bytes,
		.name = name ? samples_mark(to->source->host->samples, name) : 0,
		.device = of->device,
		.stream = of->stream,
		.flags = gpu_is_copy(of->work) ? FILM_WORK_COPY : 0,
	};

	find_launch(to, pid, of, &work);
	if (of->site)
		add_capture(to, pid, of, &work);
	write_or_count(to, &work);
}

void gpu_lanes_write(const struct gpu_lanes_to *to, const struct capture_record *record)
{
	struct gpu_work works[GPU_WORKS];
	uint64_t words[ON_GPU_WORKS * ON_GPU_WORK_WORDS];

	if (!mem_record_words(record, words, sizeof(words) / sizeof(words[0]))) {
		to->losses->damaged++;
		return;
	}
	memcpy(works, words, sizeof(works));
	for (size_t i = 0; i < GPU_WORKS && works[i].end; i++) {
		/* a process may say anything; what ran before the film is left out */
		if (works[i].begin > works[i].end ||
		    works[i].end > record->head.time + AHEAD_MAX_NS)
			to->losses->damaged++;
		else if (works[i].end > to->begun)
			write_work(to, record->identity.pid, &works[i]);
	}
}

void gpu_lanes_write_lost(const struct gpu_lanes_to *to, const struct capture_record *record,
			  uint64_t since)
{
	uint64_t end = record->head.time;
	struct film_work work = {
		.end = end,
		.thread = source_first_thread(to->source, record->identity.pid),
		.flags = FILM_WORK_LOST | FILM_WORK_UNSAMPLED,
	};

	if (since < to->begun)
		since = to->begun;
	work.duration = end > since ? end - since : 0;
	write_or_count(to, &work);
}
