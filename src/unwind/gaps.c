// SPDX-License-Identifier: Apache-2.0
#include "unwind/gaps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

static int by_range(const void *a, const void *b)
{
	const struct elf_range *l = a, *r = b;

	return l->start < r->start ? -1 : l->start > r->start;
}

static bool add_gap(const struct elf_image *image, struct gaps *gaps, uint64_t start, uint64_t end)
{
	if (end <= start || end - start <= PADDING_MAX || end > ADDRESS_END ||
	    !elf_image_is_code(image, start, end - start) || gaps->count == CODE_GAPS_MAX)
		return true;
	return vec_push(gaps, (struct code_gap){start, end - start});
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

struct search {
	const struct elf_image *image;
	const struct functions *functions;
	struct gaps *gaps;
	size_t next; /* the first function that was not passed yet */
	uint64_t at; /* up to here all is known */
};

/* The code of a range, from s->at on, that functions leave. */
static bool find_in(struct search *s, const struct elf_range *range)
{
	uint64_t from = later(range->start, s->at);

	for (; s->next < s->functions->count; s->next++) {
		const struct function *f = &s->functions->at[s->next];

		if (f->start < s->at) /* it will be refused */
			continue;
		if (f->start >= range->end)
			break;
		if (!add_gap(s->image, s->gaps, from, f->start))
			return false;
		s->at = function_end(f);
		from = later(range->start, s->at);
	}
	if (!add_gap(s->image, s->gaps, from, range->end))
		return false;
	s->at = later(range->end, s->at);
	return true;
}

/* Where sections say what is code, that counts; segments can have data in them. */
int gaps_find(const struct elf_image *image, const struct functions *functions, struct gaps *gaps)
{
	struct search s = {.image = image, .functions = functions, .gaps = gaps};
	unsigned int count = image->texts ? image->texts : image->codes;
	struct elf_range ranges[ELF_IMAGE_CODE_MAX];

	memcpy(ranges, image->texts ? image->text : image->code, count * sizeof(*ranges));
	qsort(ranges, count, sizeof(*ranges), by_range);
	for (unsigned int i = 0; i < count; i++) {
		if (!find_in(&s, &ranges[i]))
			return -ENOMEM;
	}
	return 0;
}
