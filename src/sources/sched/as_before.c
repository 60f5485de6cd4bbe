// SPDX-License-Identifier: Apache-2.0
#include "sources/sched/as_before.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

/* More than any stack has that is referred to: each of its frames was noted. */
#define FRAMES_MAX 512

/* One stack of a thread. */
struct kept {
	struct samples_known known;
	uint64_t thread_start;
	size_t bytes;
	struct capture_record record; /* its frames follow */
};

/* Stacks by what key_of() says; the value is a pointer. */
struct shelf {
	struct map stacks;
	size_t bytes;
};

struct as_before {
	size_t limit;
	uint32_t *anew;
	struct shelf shelf, older;
	struct as_before_counts counts;
	struct {
		struct capture_record record;
		uint64_t frames[FRAMES_MAX];
	} whole;
};

int as_before_new(size_t limit, uint32_t *anew, struct as_before **result)
{
	struct as_before *as_before = calloc(1, sizeof(*as_before));

	if (!as_before)
		return -ENOMEM;
	as_before->limit = limit;
	as_before->anew = anew;
	*result = as_before;
	return 0;
}

static void empty(struct shelf *shelf)
{
	uint64_t key, value;

	for (size_t i = 0; map_next(&shelf->stacks, &i, &key, &value);)
		free((void *)(uintptr_t)value);
	map_free(&shelf->stacks);
	shelf->bytes = 0;
}

void as_before_free(struct as_before *as_before)
{
	if (!as_before)
		return;
	empty(&as_before->shelf);
	empty(&as_before->older);
	free(as_before);
}

/* A thread has few: a new one takes the place of another, of which the number's last bits tell. */
static uint64_t key_of(const struct capture_record *record)
{
	return (uint64_t)record->identity.tid << 2 | (record->stack & 3);
}

static size_t frames_of(const struct capture_record *record)
{
	return (size_t)record->user_frames + record->kernel_frames;
}

static struct kept *find_in(const struct shelf *shelf, const struct capture_record *record)
{
	const uint64_t *value = map_get(&shelf->stacks, key_of(record));
	struct kept *kept = value ? (struct kept *)(uintptr_t)*value : NULL;

	return kept && kept->record.stack == record->stack &&
			       kept->thread_start == record->identity.thread_start
		       ? kept
		       : NULL;
}

static struct kept *find(const struct as_before *as_before, const struct capture_record *record)
{
	struct kept *kept = find_in(&as_before->shelf, record);

	return kept ? kept : find_in(&as_before->older, record);
}

static void drop(struct shelf *shelf, uint64_t key)
{
	const uint64_t *value = map_get(&shelf->stacks, key);
	struct kept *kept;

	if (!value)
		return;
	kept = (struct kept *)(uintptr_t)*value;
	shelf->bytes -= kept->bytes;
	free(kept);
	map_remove(&shelf->stacks, key);
}

/* Without memory it is not kept; what refers to it is counted. */
static struct kept *keep(struct as_before *as_before, const struct capture_record *record)
{
	size_t frames = frames_of(record), bytes = sizeof(struct kept) + frames * sizeof(uint64_t);
	struct kept *kept = frames <= FRAMES_MAX ? malloc(bytes) : NULL;

	drop(&as_before->shelf, key_of(record));
	if (!kept)
		return NULL;
	if (as_before->shelf.bytes + bytes > as_before->limit) {
		empty(&as_before->older);
		as_before->older = as_before->shelf;
		as_before->shelf = (struct shelf){0};
		/* the kernel's side counts it up, too */
		__atomic_fetch_add(as_before->anew, 1, __ATOMIC_RELAXED);
	}
	kept->known = (struct samples_known){0};
	kept->thread_start = record->identity.thread_start;
	kept->bytes = bytes;
	memcpy(&kept->record, record, sizeof(*record) + frames * sizeof(uint64_t));
	if (!map_put(&as_before->shelf.stacks, key_of(record), (uintptr_t)kept)) {
		free(kept);
		return NULL;
	}
	as_before->shelf.bytes += bytes;
	return kept;
}

/* Of a record that refers to a stack, and was walked to see that it is that one. */
static void check(struct as_before *as_before, const struct kept *kept,
		  const struct capture_record *record)
{
	const struct capture_record *before = &kept->record;

	as_before->counts.checked++;
	as_before->counts.differ +=
		before->user_frames != record->user_frames ||
		before->kernel_frames != record->kernel_frames || before->end != record->end ||
		memcmp(before + 1, record + 1, frames_of(record) * sizeof(uint64_t)) != 0;
}

bool as_before_resolve(struct as_before *as_before, const struct capture_record *record,
		       struct as_before_stack *stack)
{
	struct capture_record *whole = &as_before->whole.record;
	struct kept *kept = NULL;

	*stack = (struct as_before_stack){record, NULL};
	as_before->counts.taken++;
	if (!record->stack)
		return true;
	if (!record->as_before) {
		kept = keep(as_before, record);
		stack->known = kept ? &kept->known : NULL;
		return true;
	}
	kept = find(as_before, record);
	if (kept && frames_of(record))
		check(as_before, kept, record);
	*whole = *record;
	stack->record = whole;
	if (!kept) {
		as_before->counts.unknown++;
		whole->user_frames = whole->kernel_frames = 0;
		whole->end = UNWIND_END_LATER;
		return false;
	}
	whole->user_frames = kept->record.user_frames;
	whole->kernel_frames = kept->record.kernel_frames;
	whole->end = kept->record.end;
	whole->generation = kept->record.generation;
	memcpy(as_before->whole.frames, &kept->record + 1,
	       frames_of(&kept->record) * sizeof(uint64_t));
	stack->known = &kept->known;
	return true;
}

struct as_before_counts as_before_counts(const struct as_before *as_before)
{
	return as_before->counts;
}
