// SPDX-License-Identifier: Apache-2.0
/*
 * Where functions of Rust leave their result. Rust promises nothing about it; what is here is what
 * its compiler does (rustc_abi's layout, and rustc_ty_utils/src/abi.rs), in the versions that the
 * tests have compared with the truth. A value of one number is in a register, one of two numbers
 * in two, in any number of wrappers; anything else is an integer of its size if it is small, and
 * in memory if it is not. What the versions do not agree on is not known.
 */
#include "probe/values.h"

#define NESTED_MAX 16

/* Of 1.x: the tests know 63 and 95; 85 is taken for a new one, and was not run. */
enum {
	RUST_FIRST = 63,
	RUST_LAST = 95,
	/* What changed, did so after the first and before the second. */
	RUST_OLD = 66,
	RUST_NEW = 85,
	/* Since LLVM 16, DWARF says which functions have lost a result that is not used. */
	RUST_SAYS_CHANGED = 70,
};

enum shape {
	NOTHING,
	NUMBER,
	NUMBERS, /* two of them */
	COMPOUND,
	UNCLEAR,
};

enum sort {
	SORT_INTEGER,
	SORT_POINTER,
	SORT_FLOAT,
};

struct number {
	uint64_t offset, size;
	enum sort sort;
	bool is_signed;
};

struct layout {
	enum shape shape;
	struct number number[2];
};

struct context {
	const struct values *values;
	uint32_t rust;
};

static struct layout layout_of(const struct context *c, uint32_t number, int depth);

static struct layout one(const struct value_type *type, enum sort sort)
{
	struct layout layout = {.shape = type->size ? NUMBER : NOTHING};

	layout.number[0] = (struct number){
		.size = type->size,
		.sort = sort,
		.is_signed = type->flags & VALUE_FLAG_SIGNED,
	};
	return layout;
}

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return to ? (n + to - 1) / to * to : n;
}

/* Two numbers, the second as close behind the first as it can be, and nothing else. */
static struct layout two(struct number a, struct number b, uint64_t size)
{
	struct layout layout = {.shape = NUMBERS, .number = {a, b}};
	uint64_t widest = a.size > b.size ? a.size : b.size;

	if (a.offset > b.offset)
		layout = (struct layout){.shape = NUMBERS, .number = {b, a}};
	a = layout.number[0];
	b = layout.number[1];
	if (widest > 8)
		layout.shape = UNCLEAR;
	else if (a.offset || b.offset != round_up(a.size, b.size) ||
		 size != round_up(b.offset + b.size, widest))
		layout.shape = COMPOUND;
	return layout;
}

static struct layout moved(struct layout layout, uint64_t by)
{
	layout.number[0].offset += by;
	layout.number[1].offset += by;
	return layout;
}

/* Members that take room: how many, and the first two's layouts. */
static uint32_t parts_of(const struct context *c, const struct value_type *type,
			 struct layout parts[2], int depth)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < type->members; i++) {
		const struct value_member *m = &c->values->members.at[type->first_member + i];
		const struct value_type *inner = values_type(c->values, m->type);

		if (inner && !inner->size && inner->kind != VALUE_UNKNOWN)
			continue;
		if (count < 2)
			parts[count] = moved(layout_of(c, m->type, depth + 1), m->offset);
		count++;
	}
	return count;
}

static bool fills(const struct context *c, const struct value_type *type)
{
	for (uint32_t i = 0; i < type->members; i++) {
		const struct value_member *m = &c->values->members.at[type->first_member + i];
		const struct value_type *inner = values_type(c->values, m->type);

		if (inner && inner->size)
			return !m->offset && inner->size == type->size;
	}
	return false;
}

static struct layout layout_of_struct(const struct context *c, const struct value_type *type,
				      int depth)
{
	struct layout parts[2] = {{0}}, compound = {.shape = COMPOUND};
	uint32_t count = parts_of(c, type, parts, depth);

	if (!type->size)
		return (struct layout){.shape = NOTHING};
	if (type->flags & VALUE_FLAG_CUT)
		return (struct layout){.shape = UNCLEAR};
	if (count == 1)
		return fills(c, type) ? parts[0] : compound;
	if (count != 2 || parts[0].shape == COMPOUND || parts[1].shape == COMPOUND)
		return compound;
	if (parts[0].shape == UNCLEAR || parts[1].shape == UNCLEAR)
		return (struct layout){.shape = UNCLEAR};
	return parts[0].shape == NUMBER && parts[1].shape == NUMBER
		       ? two(parts[0].number[0], parts[1].number[0], type->size)
		       : compound;
}

/* The one number that all variants with values have, at the same place. */
struct common {
	bool any, differs, unclear;
	struct number number;
};

static void merge(const struct context *c, struct common *common, const struct number *n)
{
	if (!common->any) {
		common->any = true;
		common->number = *n;
		return;
	}
	if (common->number.size != n->size || common->number.offset != n->offset ||
	    (common->number.sort == SORT_FLOAT) != (n->sort == SORT_FLOAT)) {
		common->differs = true;
	} else if (common->number.sort != n->sort || common->number.is_signed != n->is_signed) {
		/* later versions do not tell such integers apart */
		if (c->rust <= RUST_OLD)
			common->differs = true;
		else if (c->rust < RUST_NEW)
			common->unclear = true;
	}
}

/* A discriminant of its own, and values. */
static struct layout layout_of_tagged(const struct context *c, const struct value_type *type,
				      const struct value_type *tag, int depth)
{
	struct number discriminant = {.offset = type->count, .size = tag->size};
	struct value_variant variant;
	struct common common = {0};

	for (uint32_t i = 0; values_variant(c->values, type, &i, &variant);) {
		const struct value_type *inner = values_type(c->values, variant.member->type);
		struct layout parts[2] = {{0}};
		uint32_t count = inner ? parts_of(c, inner, parts, depth + 1) : 2;

		if (!count)
			continue;
		if (count == 1 && parts[0].shape == UNCLEAR)
			common.unclear = true;
		else if (count > 1 || parts[0].shape != NUMBER)
			common.differs = true;
		else
			merge(c, &common, &parts[0].number[0]);
	}
	if (!common.any && !common.differs && !common.unclear)
		return type->size == tag->size ? one(tag, SORT_INTEGER)
					       : (struct layout){.shape = UNCLEAR};
	if (common.differs)
		return (struct layout){.shape = COMPOUND};
	if (common.unclear)
		return (struct layout){.shape = UNCLEAR};
	return two(discriminant, common.number, type->size);
}

/* The discriminant is in values of one variant that it has no use for. */
static struct layout layout_of_niche(const struct context *c, const struct value_type *type,
				     int depth)
{
	struct layout layout = {.shape = UNCLEAR};
	struct value_variant variant;

	for (uint32_t i = 0; values_variant(c->values, type, &i, &variant);) {
		const struct value_type *inner = values_type(c->values, variant.member->type);
		struct layout parts[2] = {{0}};

		if (!inner)
			return (struct layout){.shape = UNCLEAR};
		if (!variant.has_value)
			layout = layout_of_struct(c, inner, depth + 1);
		else if (parts_of(c, inner, parts, depth + 1))
			return (struct layout){.shape = COMPOUND};
	}
	return layout;
}

static struct layout layout_of_variant(const struct context *c, const struct value_type *type,
				       int depth)
{
	const struct value_type *tag = values_type(c->values, type->target);
	struct value_variant variant;
	bool all_chosen = true;

	if (!type->size)
		return (struct layout){.shape = NOTHING};
	if (type->flags & VALUE_FLAG_CUT)
		return (struct layout){.shape = UNCLEAR};
	for (uint32_t i = 0; values_variant(c->values, type, &i, &variant);)
		all_chosen &= variant.has_value;
	if (!tag || !tag->size || tag->size > 8)
		return (struct layout){.shape = UNCLEAR};
	return all_chosen ? layout_of_tagged(c, type, tag, depth) : layout_of_niche(c, type, depth);
}

static struct layout layout_of(const struct context *c, uint32_t number, int depth)
{
	const struct value_type *type = values_type(c->values, number);

	if (!type || depth > NESTED_MAX)
		return (struct layout){.shape = UNCLEAR};
	switch (type->kind) {
	case VALUE_INT:
	case VALUE_UINT:
	case VALUE_BOOL:
	case VALUE_CHAR:
	case VALUE_ENUM:
		return one(type, SORT_INTEGER);
	case VALUE_POINTER:
	case VALUE_REFERENCE:
	case VALUE_FUNCTION:
		return one(type, SORT_POINTER);
	case VALUE_FLOAT:
		return one(type, SORT_FLOAT);
	case VALUE_ARRAY:
		return (struct layout){.shape = type->size ? COMPOUND : NOTHING};
	case VALUE_STRUCT:
		return layout_of_struct(c, type, depth);
	case VALUE_VARIANT:
		return layout_of_variant(c, type, depth);
	default:
		return (struct layout){.shape = UNCLEAR};
	}
}

static void put_numbers(struct value_param *result, const struct layout *layout, unsigned int count)
{
	static const uint8_t registers[] = {0, 1}; /* RAX RDX */
	unsigned int integers = 0;

	result->place = VALUE_REGISTERS;
	for (unsigned int i = 0; i < count; i++) {
		const struct number *n = &layout->number[i];

		result->piece[result->count++] = (struct value_piece){
			(uint16_t)n->offset,
			(uint16_t)n->size,
			n->sort == SORT_FLOAT ? VALUE_REGISTER_FLOAT : registers[integers++],
		};
	}
}

static void put_word(struct value_param *result, uint64_t size)
{
	result->place = VALUE_REGISTERS;
	result->piece[result->count++] = (struct value_piece){0, (uint16_t)size, 0};
}

/*
 * The caller passes the address in RDI. It comes back in RAX only where callers are not all known:
 * later versions leave that out of functions of their own.
 */
static void put_memory(const struct value_function *f, struct value_param *result)
{
	if (!f->keeps_result && f->rust > RUST_OLD && !f->is_external)
		return;
	result->place = VALUE_AT_POINTER;
	result->reg = f->keeps_result ? VALUE_REGISTER_RESULT : 0; /* RAX */
	result->displacement = 0;
}

/* Is the result there, and as this compiler leaves it? */
static bool is_kept(const struct value_function *f)
{
	if (f->rust < RUST_FIRST || f->rust > RUST_LAST || f->is_changed)
		return false;
	return f->rust >= RUST_SAYS_CHANGED || f->is_external || !f->is_optimised;
}

void abi_rust_result(const struct values *values, const struct value_function *function,
		     struct value_param *result)
{
	const struct value_type *type = values_type(values, result->type);
	struct context context = {values, function->rust};
	struct layout layout;

	result->place = VALUE_NOT_KNOWN;
	result->count = 0;
	if (!type || !is_kept(function))
		return;
	layout = layout_of(&context, result->type, 0);
	/* a function with a plain name may follow the convention of C, which packs small values */
	if (!function->is_mangled && type->size <= 16 && layout.shape != NUMBER &&
	    layout.shape != NOTHING)
		return;
	switch (layout.shape) {
	case NOTHING:
		result->place = VALUE_REGISTERS;
		break;
	case NUMBER:
		if (type->size <= 8)
			put_numbers(result, &layout, 1);
		break;
	case NUMBERS:
		put_numbers(result, &layout, 2);
		break;
	case COMPOUND:
		if (type->size <= 8)
			put_word(result, type->size);
		else if (type->size > 16 || function->rust <= RUST_OLD ||
			 function->rust >= RUST_NEW)
			put_memory(function, result);
		break;
	case UNCLEAR:
		if (type->size > 32)
			put_memory(function, result);
		break;
	}
}
