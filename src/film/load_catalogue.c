// SPDX-License-Identifier: Apache-2.0
#include "film/loading.h"

#include <stdlib.h>
#include <string.h>

#include "film/schema.h"

uint32_t load_block_rows(struct film_row *r, size_t first, uint32_t max)
{
	uint32_t count = row_number32(r, 1, FILM_BLOCK_MAX);

	row_check_id(r, first, max);
	if (!count || (!r->err && count > max + 1 - first))
		r->err = -EBADMSG;
	return r->err ? 0 : count;
}

void load_functions(struct film_row *r)
{
	struct loader *l = r->context;
	size_t first = l->functions.count, size, i;
	uint32_t count = load_block_rows(r, first, FILM_FUNCTIONS_MAX);
	const void *data = row_bytes(r, 2, &size);

	if (r->err)
		return;
	if (!vec_reserve(&l->functions, first + count)) {
		r->err = -ENOMEM;
		return;
	}
	r->err = functions_unpack(&l->columns, data, size, (uint32_t)l->images.count, l->texts,
				  l->functions.at + first, count);
	for (i = first; !r->err && i < first + count; i++) {
		size_t length = strlen(l->functions.at[i].name);

		if (length > l->names_left)
			r->err = -EBADMSG;
		else
			l->names_left -= length;
	}
	if (!r->err)
		l->functions.count += count;
}

void load_frames(struct film_row *r)
{
	struct loader *l = r->context;
	size_t first = l->frames.count, size, i;
	uint32_t count = load_block_rows(r, first, FILM_FRAMES_MAX);
	const void *data = row_bytes(r, 2, &size);

	if (r->err)
		return;
	if (!vec_reserve(&l->frames, first + count) || !vec_reserve(&l->places, count)) {
		r->err = -ENOMEM;
		return;
	}
	r->err = places_unpack(&l->columns, data, size, (uint32_t)l->images.count, l->places.at,
			       count);
	if (!r->err && !vec_reserve(&l->reading.named_by, first + count))
		r->err = -ENOMEM;
	for (i = 0; !r->err && i < count; i++) {
		l->reading.named_by.at[l->reading.named_by.count++] = 0;
		l->frames.at[l->frames.count++] = (struct film_frame){
			.image = l->places.at[i].image,
			.kind = (enum film_frame_kind)l->places.at[i].kind,
			.address = l->places.at[i].address,
			.file = "",
		};
	}
}

/* Forgets the inlined calls that a later block of names replaced. */
static void drop_replaced(struct loader *l)
{
	struct film_reading *reading = &l->reading;
	size_t kept = 0;

	vec_foreach (&reading->given, given) {
		if (reading->named_by.at[given->call.frame] == given->block)
			reading->given.at[kept++] = *given;
	}
	reading->given.count = kept;
}

static void apply_name(struct film_row *r, const struct film_naming *naming)
{
	struct loader *l = r->context;
	struct film_frame *frame = &l->frames.at[naming->frame];
	struct film_inline_row given = {
		.call = {naming->frame, naming->depth, naming->function, l->files.at[naming->file],
			 naming->line},
		.block = (uint32_t)l->reading.next_name,
	};

	if (naming->depth) {
		push(r, reading.given, given);
		return;
	}
	l->reading.named_by.at[naming->frame] = given.block;
	frame->function = naming->function;
	frame->file = l->files.at[naming->file];
	frame->line = naming->line;
}

void load_names(struct film_row *r)
{
	struct loader *l = r->context;
	uint32_t count = load_block_rows(r, l->reading.next_name, UINT32_MAX - FILM_BLOCK_MAX), i;
	size_t size;
	const void *data = row_bytes(r, 2, &size);

	if (r->err)
		return;
	if (!vec_reserve(&l->namings, count)) {
		r->err = -ENOMEM;
		return;
	}
	r->err = namings_unpack(&l->columns, data, size, (uint32_t)l->frames.count,
				(uint32_t)l->functions.count, (uint32_t)l->files.count,
				l->namings.at, count);
	for (i = 0; !r->err && i < count; i++)
		apply_name(r, &l->namings.at[i]);
	if (l->reading.given.count > FILM_INLINES_MAX)
		drop_replaced(l);
	if (l->reading.given.count > FILM_INLINES_MAX)
		r->err = -EBADMSG;
	l->reading.next_name++;
}

void load_starts(struct film_row *r)
{
	struct loader *l = r->context;
	uint32_t count = load_block_rows(r, l->reading.next_start, UINT32_MAX - FILM_BLOCK_MAX), i;
	size_t size;
	const void *data = row_bytes(r, 2, &size);

	if (!r->err && !vec_reserve(&l->starts, count))
		r->err = -ENOMEM;
	if (!r->err)
		r->err = starts_unpack(&l->columns, data, size, (uint32_t)l->frames.count,
				       l->starts.at, count);
	for (i = 0; !r->err && i < count; i++) {
		struct film_frame *frame = &l->frames.at[l->starts.at[i].frame];

		/* a mark's address is 0: it has no code that could begin anywhere */
		if (l->starts.at[i].distance >= frame->address)
			r->err = -EBADMSG;
		else
			frame->start = frame->address - l->starts.at[i].distance;
	}
	l->reading.next_start++;
}

void load_stacks(struct film_row *r)
{
	struct loader *l = r->context;
	size_t first = l->stacks.count, size;
	uint32_t count = load_block_rows(r, first, FILM_STACKS_MAX);
	const void *data = row_bytes(r, 2, &size);

	if (r->err)
		return;
	if (!vec_reserve(&l->stacks, first + count))
		r->err = -ENOMEM;
	else
		r->err = stacks_unpack(&l->columns, data, size, (uint32_t)first,
				       (uint32_t)l->frames.count, l->stacks.at + first, count);
	if (!r->err)
		l->stacks.count += count;
}

static int by_frame(const void *a, const void *b)
{
	const struct film_inline *x = a, *y = b;

	if (x->frame != y->frame)
		return x->frame < y->frame ? -1 : 1;
	return x->depth < y->depth ? -1 : x->depth > y->depth;
}

int load_inlines(struct loader *l)
{
	drop_replaced(l);
	if (!vec_reserve(&l->inlines, l->reading.given.count))
		return fail_errno(l->why, -ENOMEM, NULL, "cannot read %s", l->path);
	vec_foreach (&l->reading.given, given)
		l->inlines.at[l->inlines.count++] = given->call;
	if (l->inlines.count)
		qsort(l->inlines.at, l->inlines.count, sizeof(*l->inlines.at), by_frame);
	return 0;
}
