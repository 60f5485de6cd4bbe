// SPDX-License-Identifier: Apache-2.0
#include "unwind/go_pclntab.h"

#include <string.h>

/*
 * Where what is in struct _func, by layout. Behind it stand offsets of more tables (npcdata of 4
 * bytes), and then where the function's data are (nfuncdata of 4 bytes; of 8 before 1.18).
 */
static const struct record {
	uint8_t name, pcsp, pcfile, pcln, pcdatas, unit, flags, funcdatas, size;
} records[] = {
	[GO_1_16] = {8, 20, 24, 28, 32, 36, 41, 43, 44},
	[GO_1_18] = {4, 16, 20, 24, 28, 32, 37, 39, 40},
	[GO_1_20] = {4, 16, 20, 24, 28, 32, 41, 43, 44},
};

/* Numbers of a function's tables (PCDATA_InlTreeIndex) and data (FUNCDATA_InlTree). */
#define INLINE_INDEX 2
#define INLINE_TREE  3

static bool get_u8(const struct go_table *t, uint64_t at, uint8_t *value)
{
	if (at >= t->size)
		return false;
	*value = t->at[at];
	return true;
}

static bool get_u32(const struct go_table *t, uint64_t at, uint32_t *value)
{
	if (at > t->size || t->size - at < 4)
		return false;
	memcpy(value, t->at + at, 4);
	return true;
}

static bool get_u64(const struct go_table *t, uint64_t at, uint64_t *value)
{
	if (at > t->size || t->size - at < 8)
		return false;
	memcpy(value, t->at + at, 8);
	return true;
}

/* Where the function of that number begins; the one behind the last is where that ends. */
static bool get_start(const struct go_table *t, uint64_t number, uint64_t *start)
{
	uint32_t offset;

	if (number > t->count)
		return false;
	if (t->layout == GO_1_16)
		return get_u64(t, t->list + 16 * number, start);
	if (!get_u32(t, t->list + 8 * number, &offset))
		return false;
	*start = t->text + offset;
	return true;
}

static bool get_record(const struct go_table *t, uint64_t number, uint64_t *record)
{
	uint32_t offset;
	uint64_t wide;

	if (t->layout == GO_1_16) {
		if (!get_u64(t, t->list + 16 * number + 8, &wide) || wide > t->size)
			return false;
		*record = t->list + wide;
		return true;
	}
	if (!get_u32(t, t->list + 8 * number + 4, &offset))
		return false;
	*record = t->list + offset;
	return true;
}

bool go_table_function(const struct go_table *t, uint64_t number, struct go_function *f)
{
	const struct record *r = &records[t->layout];

	return number < t->count && get_start(t, number, &f->start) &&
	       get_start(t, number + 1, &f->end) && f->end > f->start &&
	       get_record(t, number, &f->record) && get_u32(t, f->record + r->name, &f->name) &&
	       get_u32(t, f->record + r->name + 4, &f->width) &&
	       get_u32(t, f->record + r->pcsp, &f->pcsp) &&
	       get_u32(t, f->record + r->pcfile, &f->pcfile) &&
	       get_u32(t, f->record + r->pcln, &f->pcln) &&
	       get_u32(t, f->record + r->pcdatas, &f->pcdatas) &&
	       get_u32(t, f->record + r->unit, &f->unit) &&
	       get_u8(t, f->record + r->flags, &f->flags) &&
	       get_u8(t, f->record + r->funcdatas, &f->funcdatas);
}

uint64_t go_table_find(const struct go_table *t, uint64_t address)
{
	uint64_t low = 0, high = t->count, start;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (!get_start(t, middle, &start))
			return t->count;
		if (start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || !get_start(t, low, &start) || address >= start)
		return t->count;
	return low - 1;
}

/* A string of a part of the table; "": there is none. */
static const char *text_at(const struct go_table *t, uint64_t part, uint64_t offset)
{
	struct bytes in;

	if (part > t->size || offset >= t->size - part)
		return "";
	in = (struct bytes){t->at + part + offset, t->at + t->size, false};
	return bytes_text(&in);
}

const char *go_table_name(const struct go_table *t, uint32_t offset)
{
	return text_at(t, t->names, offset);
}

void go_values_begin(struct go_values *v, struct go_table *t, uint32_t offset)
{
	*v = (struct go_values){.table = t, .value = -1};
	/* 0 says that there is no table: what lies there is a byte of padding */
	if (offset && t->pcs < t->size && offset < t->size - t->pcs)
		v->in = (struct bytes){t->at + t->pcs + offset, t->at + t->size, false};
}

/*
 * Two varints for each value: by how much it differs from the one before (signed, and 0 only at
 * first: it ends the table), and for how many bytes of code it holds.
 */
bool go_values_next(struct go_values *v)
{
	uint32_t change, length;

	if (!v->in.at || !v->table->work)
		return false;
	v->table->work--;
	change = (uint32_t)bytes_varint(&v->in);
	length = (uint32_t)bytes_varint(&v->in);
	if (v->in.failed || !length || (!change && v->until))
		return false;
	v->value = (int32_t)((uint32_t)v->value + (uint32_t)unzigzag(change));
	v->from = v->until;
	v->until += length;
	return true;
}

/* The value for the byte at place of a function; -1: there is none. */
static int32_t value_at(struct go_table *t, uint32_t offset, uint64_t place)
{
	struct go_values v;

	go_values_begin(&v, t, offset);
	while (go_values_next(&v))
		if (place < v.until)
			return v.value;
	return -1;
}

/* The file of that number in a compilation unit. */
static const char *file_name(const struct go_table *t, uint32_t unit, int32_t number)
{
	uint32_t offset;
	const char *name;

	if (number < 0 ||
	    !get_u32(t, t->units + 4 * ((uint64_t)unit + (uint32_t)number), &offset) ||
	    offset == UINT32_MAX)
		return NULL;
	name = text_at(t, t->files, offset);
	return name[0] ? name : NULL;
}

static void set_place(struct go_place *p, struct go_table *t, const struct go_function *f,
		      int32_t file, int32_t line)
{
	p->file = file_name(t, f->unit, file);
	p->line = line > 0 ? (uint32_t)line : 0;
}

/* One entry of an inline tree: what was inlined, and where it was called. */
struct inlined {
	uint32_t name, parent_place;
	int32_t parent, file, line; /* 1.19 and older */
};

/* The address of the function's inline tree, and its table of places in it. */
static bool find_tree(const struct go_table *t, const struct go_function *f, uint64_t *tree,
		      uint32_t *index)
{
	uint64_t at = f->record + records[t->layout].size;
	uint32_t offset;

	if (f->pcdatas <= INLINE_INDEX || f->funcdatas <= INLINE_TREE ||
	    !get_u32(t, at + 4 * INLINE_INDEX, index) || !*index)
		return false;
	at += 4 * (uint64_t)f->pcdatas;
	if (t->layout == GO_1_16)
		return get_u64(t, ((at + 7) & ~7ull) + 8 * INLINE_TREE, tree) && *tree;
	if (!t->inlined || !get_u32(t, at + 4 * INLINE_TREE, &offset) || offset == UINT32_MAX)
		return false;
	*tree = t->inlined + offset;
	return true;
}

static bool read_inlined(const struct go_table *t, uint64_t tree, int32_t number,
			 struct inlined *to)
{
	int32_t words[5];

	if (t->layout == GO_1_20) { /* funcID, name, parentPc, startLine */
		if (!elf_image_read(t->image, tree + 16 * (uint64_t)(uint32_t)number, words, 16))
			return false;
		*to = (struct inlined){(uint32_t)words[1], (uint32_t)words[2], 0, 0, 0};
		return true;
	}
	/* parent and funcID, file, line, name, parentPc */
	if (!elf_image_read(t->image, tree + 20 * (uint64_t)(uint32_t)number, words, 20))
		return false;
	*to = (struct inlined){(uint32_t)words[3], (uint32_t)words[4], (int16_t)words[0], words[1],
			       words[2]};
	return true;
}

size_t go_table_places(struct go_table *t, const struct go_function *f, uint64_t address,
		       struct go_place *places, size_t room)
{
	uint64_t place = address - f->start, tree = 0;
	uint32_t index = 0;
	size_t count = 0;
	int32_t number = -1;

	set_place(&places[0], t, f, value_at(t, f->pcfile, place), value_at(t, f->pcln, place));
	if (find_tree(t, f, &tree, &index))
		number = value_at(t, index, place);
	while (number >= 0 && count + 1 < room) {
		struct inlined in;

		if (!read_inlined(t, tree, number, &in) || in.parent_place > f->end - f->start)
			break;
		places[count++].function = go_table_name(t, in.name);
		place = in.parent_place;
		if (t->layout == GO_1_20) {
			number = value_at(t, index, place);
			set_place(&places[count], t, f, value_at(t, f->pcfile, place),
				  value_at(t, f->pcln, place));
		} else {
			number = in.parent;
			set_place(&places[count], t, f, in.file, in.line);
		}
	}
	places[count].function = go_table_name(t, f->name);
	return count + 1;
}

/* What a function that is looked at takes of a budget. */
#define FUNCTION_STEPS 8

bool go_table_next(struct go_table_walk *walk, struct go_function *function, const char **name)
{
	while (walk->next < walk->table->count && budget_step(walk->budget, FUNCTION_STEPS)) {
		if (!go_table_function(walk->table, walk->next++, function))
			continue;
		*name = go_table_name(walk->table, function->name);
		return true;
	}
	return false;
}
