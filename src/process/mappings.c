// SPDX-License-Identifier: Apache-2.0
#include "process/mappings.h"

#include <errno.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"

/* Memory without a file has no offset: all its parts are alike. */
static bool has_offset(const struct mapping *m)
{
	return m->image->kind == IMAGE_FILE || m->image->kind == IMAGE_VDSO;
}

/* Whether two mappings agree on what stands at an address that both hold. */
static bool agree(const struct mapping *a, const struct mapping *b)
{
	return a->image == b->image && a->bias == b->bias &&
	       (!has_offset(a) || a->start - a->offset == b->start - b->offset);
}

static struct mapping part(const struct mapping *m, uint64_t start, uint64_t end)
{
	struct mapping p = *m;

	if (has_offset(m))
		p.offset += start - m->start;
	p.start = start;
	p.end = end;
	return p;
}

/* The first mapping that ends behind address. */
static size_t first_behind(const struct mappings *m, uint64_t address)
{
	return search_first(m->count, i, m->at[i].end <= address);
}

struct mapping *mappings_find(const struct mappings *m, uint64_t pc)
{
	size_t i = first_behind(m, pc);

	return i < m->count && m->at[i].start <= pc ? &m->at[i] : NULL;
}

struct mapping *process_mapping(const struct process *process, uint64_t pc)
{
	struct mappings all = {.at = process->mappings, .count = process->mapping_count};

	return mappings_find(&all, pc);
}

static void widen(uint64_t *start, uint64_t *end, uint64_t from, uint64_t to)
{
	if (from < *start)
		*start = from;
	if (to > *end)
		*end = to;
}

bool mappings_conflict(const struct mappings *m, const struct mapping *added, uint64_t *start,
		       uint64_t *end)
{
	*start = UINT64_MAX;
	*end = 0;
	for (size_t i = first_behind(m, added->start); i < m->count && m->at[i].start < added->end;
	     i++) {
		const struct mapping *old = &m->at[i];

		if (!agree(old, added))
			widen(start, end, old->start > added->start ? old->start : added->start,
			      old->end < added->end ? old->end : added->end);
	}
	return *start < *end;
}

bool mappings_lost(const struct mappings *old, const struct mappings *new, uint64_t *start,
		   uint64_t *end)
{
	*start = UINT64_MAX;
	*end = 0;
	for (size_t i = 0; i < old->count; i++) {
		const struct mapping *m = &old->at[i];
		const struct mapping *now = mappings_find(new, m->start);

		/* both are in the one form, so what goes on is not cut */
		if (!now || !agree(now, m) || now->end < m->end)
			widen(start, end, m->start, m->end);
	}
	return *start < *end;
}

bool mappings_equal(const struct mappings *a, const struct mappings *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (a->at[i].start != b->at[i].start || a->at[i].end != b->at[i].end ||
		    !agree(&a->at[i], &b->at[i]))
			return false;
	return true;
}

/* Joins the mapping at i with the next one if one goes on where the other ends. */
static bool join_next(struct mappings *m, size_t i, struct images *images, uint64_t time)
{
	struct mapping *a = &m->at[i], *b = a + 1;

	if (i + 1 >= m->count || a->end != b->start || !agree(a, b))
		return false;
	a->end = b->end;
	images_release(images, b->image, time);
	images_drop_mappings(images, 1);
	memmove(b, b + 1, (m->count - i - 2) * sizeof(*b));
	m->count--;
	return true;
}

int mappings_put(struct mappings *m, const struct mapping *added, struct images *images,
		 uint64_t time)
{
	size_t from = first_behind(m, added->start), to = from, pieces = 0, i;
	struct mapping piece[3];
	size_t count;

	if (from < m->count && m->at[from].start <= added->start && m->at[from].end >= added->end &&
	    agree(&m->at[from], added)) {
		images_release(images, added->image, time);
		return 0;
	}
	while (to < m->count && m->at[to].start < added->end)
		to++;
	if (from < to && m->at[from].start < added->start)
		piece[pieces++] = part(&m->at[from], m->at[from].start, added->start);
	piece[pieces++] = *added;
	if (from < to && m->at[to - 1].end > added->end)
		piece[pieces++] = part(&m->at[to - 1], added->end, m->at[to - 1].end);
	count = m->count + pieces - (to - from);
	if (count > MAPPINGS_MAX || !images_add_mappings(images, pieces)) {
		images_release(images, added->image, time);
		return -ENOSPC;
	}
	if (!vec_reserve(m, count)) {
		images_release(images, added->image, time);
		images_drop_mappings(images, pieces);
		return -ENOMEM;
	}
	images_drop_mappings(images, to - from);
	for (i = 0; i < pieces; i++)
		images_use(piece[i].image);
	images_release(images, added->image, time);
	for (i = from; i < to; i++)
		images_release(images, m->at[i].image, time);
	memmove(m->at + from + pieces, m->at + to, (m->count - to) * sizeof(*m->at));
	memcpy(m->at + from, piece, pieces * sizeof(*piece));
	m->count = count;
	for (i = from ? from - 1 : 0; i < from + pieces && i < m->count;)
		if (!join_next(m, i, images, time))
			i++;
	return 1;
}

bool mappings_copy(struct mappings *to, const struct mappings *from, struct images *images)
{
	if (!from->count)
		return true;
	if (!images_add_mappings(images, from->count))
		return false;
	if (!vec_reserve(to, from->count)) {
		images_drop_mappings(images, from->count);
		return false;
	}
	memcpy(to->at, from->at, from->count * sizeof(*from->at));
	to->count = from->count;
	vec_foreach (to, m)
		images_use(m->image);
	return true;
}

void mappings_clear(struct mappings *m, struct images *images, uint64_t time, bool keep_kernels)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->count; i++) {
		if (keep_kernels && m->at[i].image->kind == IMAGE_VSYSCALL)
			m->at[kept++] = m->at[i];
		else
			images_release(images, m->at[i].image, time);
	}
	images_drop_mappings(images, m->count - kept);
	m->count = kept;
}

void mappings_free(struct mappings *m, struct images *images, uint64_t time)
{
	mappings_clear(m, images, time, false);
	vec_free(m);
}
