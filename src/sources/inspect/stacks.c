// SPDX-License-Identifier: Apache-2.0
/*
 * Names of the functions on the stacks of calls, at once, since calls are printed while they come.
 * One pass over an image's symbols costs about the same for one address as for many, so that what
 * was named once is kept, up to a limit.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "bpf/unwind/abi.h"
#include "sources/inspect/state.h"
#include "resolve/names.h"

/* Names that are kept; further ones are not known. */
#define NAMES_MAX  65536u
#define FRAMES_MAX 128u

struct inspect_stacks {
	struct symbols *symbols;
	struct map names; /* by image and address: place, + 1, in known */
	vec(char *) known;
};

struct wanted {
	struct inspect_stacks *stacks;
	const struct image *image;
	const uint64_t *addresses;
};

int inspect_stacks_new(struct symbols *symbols, struct inspect_stacks **stacks)
{
	*stacks = calloc(1, sizeof(**stacks));
	if (!*stacks)
		return -ENOMEM;
	(*stacks)->symbols = symbols;
	return 0;
}

void inspect_stacks_free(struct inspect_stacks *stacks)
{
	if (!stacks)
		return;
	vec_foreach (&stacks->known, name)
		free(*name);
	vec_free(&stacks->known);
	map_free(&stacks->names);
	free(stacks);
}

static uint64_t key_of(const struct image *image, uint64_t address)
{
	struct {
		uint64_t device, inode, path, address;
	} key = {image->device, image->inode, hash_bytes(image->path, strlen(image->path)),
		 address};

	return hash_bytes(&key, sizeof(key));
}

static void keep(struct inspect_stacks *stacks, uint64_t key, const char *name)
{
	char *copy;

	if (stacks->known.count >= NAMES_MAX || map_get(&stacks->names, key))
		return;
	copy = strdup(name);
	if (!copy || !vec_push(&stacks->known, copy))
		free(copy);
	else
		(void)!map_put(&stacks->names, key, stacks->known.count);
}

static void found(void *context, size_t index, const struct symbol_name *names, size_t count)
{
	const struct wanted *wanted = context;

	if (count && names[count - 1].function)
		keep(wanted->stacks, key_of(wanted->image, wanted->addresses[index]),
		     names[count - 1].function);
}

/* Asks for the names of all addresses of one image at once. */
static void name_image(struct inspect_stacks *stacks, const struct image *image,
		       const uint64_t *addresses, size_t count)
{
	const struct symbol_image file = names_image(image);
	struct wanted wanted = {stacks, image, addresses};
	struct fail ignored = {0};
	char *unnamed;

	if (image->fd >= 0 || image->memory)
		(void)symbols_of_image(stacks->symbols, &file, addresses, count, found, &wanted,
				       &ignored);
	for (size_t i = 0; i < count; i++) {
		const char *base = strrchr(image->path, '/');

		if (map_get(&stacks->names, key_of(image, addresses[i])) ||
		    asprintf(&unnamed, "%s+0x%llx", base ? base + 1 : image->path,
			     (unsigned long long)addresses[i]) < 0)
			continue;
		keep(stacks, key_of(image, addresses[i]), unnamed);
		free(unnamed);
	}
}

struct frame {
	const struct image *image; /* null: of a runtime, or nowhere */
	uint64_t address;
};

static size_t find_frames(const struct process *process, const uint64_t *words, uint32_t count,
			  struct frame frames[FRAMES_MAX])
{
	size_t found_frames = 0;

	for (uint32_t i = 0; i < count && found_frames < FRAMES_MAX; i++) {
		uint64_t pc = words[i] & ~UNWIND_GUESS;
		struct frame frame = {0};
		const struct mapping *mapping;

		if (words[i] & UNWIND_IS_RUNTIME) {
			i++; /* of two words */
		} else {
			mapping = process_mapping(process, pc);
			if (mapping) {
				frame.image = mapping->image;
				frame.address = pc - mapping->bias;
			}
		}
		frames[found_frames++] = frame;
	}
	return found_frames;
}

static void name_frames(struct inspect_stacks *stacks, const struct frame *frames, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t addresses[FRAMES_MAX];
		size_t wanted = 0;

		if (!frames[i].image ||
		    map_get(&stacks->names, key_of(frames[i].image, frames[i].address)))
			continue;
		for (size_t k = i; k < count; k++)
			if (frames[k].image == frames[i].image &&
			    !map_get(&stacks->names, key_of(frames[k].image, frames[k].address)))
				addresses[wanted++] = frames[k].address;
		name_image(stacks, frames[i].image, addresses, wanted);
	}
}

struct inspect_stack *inspect_stack_of(struct inspect_stacks *stacks, const struct process *process,
				       const uint64_t *words, uint32_t count)
{
	struct frame frames[FRAMES_MAX];
	size_t frame_count = process ? find_frames(process, words, count, frames) : 0;
	struct inspect_stack *stack =
		calloc(1, sizeof(*stack) + frame_count * sizeof(stack->names[0]));

	if (!stack)
		return NULL;
	name_frames(stacks, frames, frame_count);
	stack->count = frame_count;
	for (size_t i = 0; i < frame_count; i++) {
		const uint64_t *place =
			frames[i].image ? map_get(&stacks->names,
						  key_of(frames[i].image, frames[i].address))
					: NULL;

		stack->names[i] = place ? stacks->known.at[*place - 1] : "?";
	}
	return stack;
}
