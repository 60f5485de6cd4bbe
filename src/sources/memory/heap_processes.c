// SPDX-License-Identifier: Apache-2.0
/* The processes of mem-alloc and mem-inuse: by which way each is seen, from when and until when. */
#include "sources/memory/heap_state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/*
 * What is in use is known only with the library. One that is there already is used in any case; but
 * every allocation would be too much for it.
 */
static bool may_inject(const struct source *source, pid_t pid)
{
	const struct mem_heap *heap = source->state;

	return heap->inject &&
	       ((source->settings->values[INJECT] && source_wants(source, OF_INUSE)) ||
		mem_inject_is_there(heap->inject, pid));
}

static bool probe(struct source *source, pid_t pid, const struct image *image)
{
	struct mem_heap *heap = source->state;

	if (!mem_probes_image(heap->probes, pid, image))
		return false;
	mem_seen_otherwise(heap->seen, pid);
	heap->is_probed = true;
	return true;
}

/*
 * A program may have an allocator linked in, or all of the C library: it calls that, and not the
 * library's functions. Returns whether it has, and has probes there.
 */
static bool probe_own(struct source *source, pid_t pid, const struct image *image)
{
	struct mem_heap *heap = source->state;
	const struct process *process = samples_process(source->host->samples, pid);
	bool has = heap->probes && !heap->is_starting && image->kind == IMAGE_FILE && process &&
		   process->exe && !strcmp(process->exe, image->path) &&
		   !mem_go_has(heap->go, pid) && probe(source, pid, image);

	heap->late += has;
	return has;
}

/* A program that takes its own samples is believed, where it has no library that takes others. */
static bool use_otel(struct source *source, pid_t pid, const struct image *image)
{
	struct mem_heap *heap = source->state;

	if (mem_seen_has_library(heap->seen, source->host->samples, pid) ||
	    !mem_otel_image(heap->otel, pid, image))
		return false;
	mem_seen_otherwise(heap->seen, pid);
	return true;
}

static bool has_otel(struct source *source, const struct process *process)
{
	bool has = false;

	for (size_t i = 0; i < process->mapping_count; i++)
		has |= use_otel(source, process->pid, process->mappings[i].image);
	return has;
}

void mem_heap_start_running(struct source *source, pid_t pid)
{
	struct mem_heap *heap = source->state;
	const struct process *process = samples_process(source->host->samples, pid);
	char words[640];
	struct fail why = {0};

	if (mem_go_has(heap->go, pid) || !process || has_otel(source, process))
		return;
	if (may_inject(source, pid)) {
		int err = mem_inject_put(heap->inject, pid, &why);

		if (!err)
			mem_seen_record(heap->seen, source->host->samples, pid);
		if (!err || err == -EEXIST)
			return;
		snprintf(
			words, sizeof(words),
			"memory in use of a process not known: the library was not put into it: %s",
			why.what);
		film_loss(source->host->film, source->events[OF_INUSE], words, 1);
		if (err == -EBUSY)
			return;
	}
	for (size_t i = 0; i < process->mapping_count; i++)
		probe(source, pid, process->mappings[i].image);
}

void mem_heap_probe_spans(struct source *source)
{
	struct mem_heap *heap = source->state;
	pid_t pid;

	while ((pid = mem_go_next_unread(heap->go)) != 0) {
		const struct process *process = samples_process(source->host->samples, pid);
		bool has = false;

		if (!process || process->end || !source_wants(source, OF_ALLOC))
			continue;
		if (!heap->spans &&
		    mem_probes_new(source->host->probes, MEM_PLACES_GO,
				   (unsigned int)source->settings->values[BUDGET], &heap->spans))
			continue;
		for (size_t i = 0; i < process->mapping_count; i++)
			if (process->mappings[i].image->kind == IMAGE_FILE)
				has |= mem_probes_image(heap->spans, pid,
							process->mappings[i].image);
		heap->by_spans += has;
	}
}

/* One that runs already, and is not to tell by the library. */
static bool is_named(const struct source *source, pid_t pid)
{
	const struct selection *selection = source->host->selection;
	const struct mem_heap *heap = source->state;

	for (size_t i = 0; heap && heap->probes && i < selection->pid_count; i++)
		if (selection->pids[i] == pid)
			return !heap->is_starting &&
			       !(heap->inject && mem_inject_has(heap->inject, pid)) &&
			       !mem_seen_has_library(heap->seen, source->host->samples, pid);
	return false;
}

/* A forked child has the library from its parent; what is mapped later calls the allocator, too. */
static void hear_of_image(struct mem_heap *heap, pid_t pid, const struct image *image)
{
	if (image->device == heap->library.device && image->inode == heap->library.inode)
		mem_inject_child(heap->inject, pid);
	else if (image->kind == IMAGE_FILE)
		mem_inject_image(heap->inject, pid);
}

unsigned int mem_heap_image_new(struct source *source, pid_t pid, const struct image *image)
{
	struct mem_heap *heap = source->state;

	if (!heap || !heap->strangers || mem_strangers_has(heap->strangers, source, pid))
		return 0;
	if (heap->seen && source->host->samples && !probe_own(source, pid, image))
		mem_seen_image(heap->seen, source->host->samples, pid, image);
	if (heap->java && source_wants(source, OF_ALLOC))
		mem_java_image(heap->java, pid, image);
	if (heap->jvmti)
		mem_jvmti_image(heap->jvmti, pid, image);
	if (heap->go && source->host->samples &&
	    mem_go_image(heap->go, source->host->samples, pid, image))
		mem_seen_otherwise(heap->seen, pid);
	else if (heap->otel && source->host->samples && use_otel(source, pid, image))
		return 0;
	else if (is_named(source, pid))
		probe(source, pid, image);
	else if (heap->inject && !heap->is_starting)
		hear_of_image(heap, pid, image);
	return 0;
}

/* It runs another program from now on, or none. */
void mem_heap_process_gone(struct source *source, pid_t pid)
{
	struct mem_heap *heap = source->state;

	if (heap && heap->strangers)
		mem_strangers_gone(heap->strangers, pid);
	if (heap && heap->go)
		mem_go_gone(heap->go, pid);
	if (heap && heap->java)
		mem_java_gone(heap->java, pid);
	if (heap && heap->jvmti)
		mem_jvmti_gone(heap->jvmti, pid);
	if (heap && heap->otel)
		mem_otel_gone(heap->otel, pid);
	if (heap && heap->probes)
		mem_probes_gone(heap->probes, pid);
	if (heap && heap->spans)
		mem_probes_gone(heap->spans, pid);
	if (heap && heap->inject)
		mem_inject_gone(heap->inject, pid);
	if (heap && source->events[OF_INUSE] && source->last)
		mem_live_ended(heap->live, source->host->film, source->events[OF_INUSE],
			       (uint32_t)pid, source->last);
}

void mem_heap_process_ended(struct source *source, pid_t pid)
{
	struct mem_heap *heap = source->state;

	/* of a stranger, nothing was to be seen */
	if (heap && heap->strangers && mem_strangers_ended(heap->strangers, pid))
		return;
	if (heap && heap->seen && source->host->samples)
		mem_seen_ended(heap->seen, source->host->samples, pid);
}
