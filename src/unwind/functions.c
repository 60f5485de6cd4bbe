// SPDX-License-Identifier: Apache-2.0
#include "unwind/functions.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/search.h"
#include "unwind/cfi.h"
#include "elf/image.h"

/*
 * The addresses are sorted, then each FDE finds those that it covers. The first FDE wins: in a
 * sound image no other covers the same address, save one of .debug_frame, which counts less. What
 * was found is skipped from then on, so that many FDEs over the same addresses cost no more than
 * any others.
 */

struct asked {
	uint64_t address;
	size_t index; /* in the caller's order */
	size_t next;  /* itself, or if it was found, one behind it towards what was not */
};

struct search {
	struct elf_image image;
	struct cfi_cies cies; /* of the section at hand */
	struct asked *asked;  /* sorted, and one more as the end */
	size_t count, left;
	unwind_function_found *found;
	void (*emit)(void *context, uint64_t start,
		     uint64_t size); /* all that there are; else null */
	void *context;
};

static int by_address(const void *a, const void *b)
{
	const struct asked *l = a, *r = b;

	return l->address < r->address ? -1 : l->address > r->address;
}

static int list_asked(struct search *s, const uint64_t *addresses, size_t count)
{
	size_t i;

	s->asked = calloc(count + 1, sizeof(*s->asked));
	if (!s->asked)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		s->asked[i] = (struct asked){.address = addresses[i], .index = i};
	qsort(s->asked, count, sizeof(*s->asked), by_address);
	for (i = 0; i <= count; i++)
		s->asked[i].next = i;
	s->count = s->left = count;
	return 0;
}

/* The first from i on that was not found yet; count: there is none. Shortens the way for others. */
static size_t not_found(struct asked *asked, size_t i)
{
	while (asked[i].next != i) {
		asked[i].next = asked[asked[i].next].next;
		i = asked[i].next;
	}
	return i;
}

/* The first one at address or behind it. */
static size_t first_from(const struct search *s, uint64_t address)
{
	return search_first(s->count, i, s->asked[i].address < address);
}

/* The linker dropped a function at 0, and could not drop its description. */
static bool is_function(const struct search *s, const struct cfi_fde *fde)
{
	return fde->start && elf_image_is_code(&s->image, fde->start, fde->size);
}

static void find_in(struct search *s, const struct cfi_fde *fde)
{
	size_t i = not_found(s->asked, first_from(s, fde->start));

	if (i == s->count || s->asked[i].address - fde->start >= fde->size || !is_function(s, fde))
		return;
	while (i < s->count && s->asked[i].address - fde->start < fde->size) {
		s->found(s->context, s->asked[i].index, fde->start, fde->size);
		s->left--;
		s->asked[i].next = i + 1;
		i = not_found(s->asked, i);
	}
}

/* What is damaged tells of no function. */
static void search_section(struct search *s, const struct elf_part *part, bool debug_frame)
{
	struct cfi_section section = {
		.at = part->at,
		.size = part->size,
		.address = part->address,
		.debug_frame = debug_frame,
		.to_the_end = part->to_the_end,
	};
	uint64_t offset = 0, at;
	struct cfi_fde fde;

	if (!part->at)
		return;
	s->cies = (struct cfi_cies){0};
	while ((s->left || s->emit) && budget_step(&s->image.budget, 1) &&
	       cfi_next(&section, &offset, &at) > 0) {
		if (cfi_read_fde(&section, &s->cies, at, &fde))
			continue;
		if (!s->emit)
			find_in(s, &fde);
		else if (is_function(s, &fde))
			s->emit(s->context, fde.start, fde.size);
	}
}

static void search_sections(struct search *s)
{
	search_section(s, &s->image.eh_frame, false);
	search_section(s, &s->image.debug_frame, true);
}

static int search_image(struct search *s, const uint64_t *addresses, size_t count, struct fail *why)
{
	int err = list_asked(s, addresses, count);

	if (err)
		return fail_errno(why, err, NULL, "cannot look up functions");
	search_sections(s);
	free(s->asked);
	return 0;
}

int unwind_functions_of_file(int fd, const uint64_t *addresses, size_t count,
			     unwind_function_found *found, void *context, struct fail *why)
{
	struct search s = {.found = found, .context = context};
	int err = elf_image_open_file(&s.image, fd, why);

	if (!err)
		err = search_image(&s, addresses, count, why);
	elf_image_close(&s.image);
	return err;
}

int unwind_functions_of_memory(const void *image, size_t size, const uint64_t *addresses,
			       size_t count, unwind_function_found *found, void *context,
			       struct fail *why)
{
	struct search s = {.found = found, .context = context};
	int err = elf_image_open_memory(&s.image, image, size, why);

	if (!err)
		err = search_image(&s, addresses, count, why);
	elf_image_close(&s.image);
	return err;
}

int unwind_each_function_of_file(int fd, void (*emit)(void *context, uint64_t start, uint64_t size),
				 void *context, struct fail *why)
{
	struct search s = {.emit = emit, .context = context};
	int err = elf_image_open_file(&s.image, fd, why);

	if (!err)
		search_sections(&s);
	elf_image_close(&s.image);
	return err;
}

int unwind_each_function_of_memory(const void *image, size_t size,
				   void (*emit)(void *context, uint64_t start, uint64_t size),
				   void *context, struct fail *why)
{
	struct search s = {.emit = emit, .context = context};
	int err = elf_image_open_memory(&s.image, image, size, why);

	if (!err)
		search_sections(&s);
	elf_image_close(&s.image);
	return err;
}
