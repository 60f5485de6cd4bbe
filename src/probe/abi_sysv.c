// SPDX-License-Identifier: Apache-2.0
/*
 * Where functions of C and C++ have their arguments when they begin, and their result when they
 * end: System V Application Binary Interface, AMD64 Architecture Processor Supplement, 3.2.3. What
 * is passed in vector registers is not to be had, and is marked so.
 */
#include "probe/values.h"

#include <string.h>

/* RDI RSI RDX RCX R8 R9, as DWARF numbers them. */
static const uint8_t integer_registers[] = {5, 4, 1, 2, 8, 9};

enum {
	INTEGERS = sizeof(integer_registers),
	FLOATS = 8
};

#define NESTED_MAX 16

enum class {
	CLASS_NONE,
	CLASS_FLOAT,
	CLASS_INTEGER,
	CLASS_MEMORY,
	CLASS_UNKNOWN,
};

static enum class merge(enum class a, enum class b) {
	return a > b ? a : b;
}

static void classify(const struct values *values, uint32_t number, uint64_t at,
		     enum class classes[2], int depth);

static void put(enum class classes[2], uint64_t at, enum class one)
{
	enum class *place = &classes[at >= 8];

	*place = merge(*place, at < 16 ? one : CLASS_MEMORY);
}

static void classify_members(const struct values *values, const struct value_type *type,
			     uint64_t at, enum class classes[2], int depth)
{
	if (type->flags & (VALUE_FLAG_CUT | VALUE_FLAG_UNCLEAR))
		put(classes, at, CLASS_UNKNOWN);
	for (uint32_t i = 0; i < type->members; i++) {
		const struct value_member *m = &values->members.at[type->first_member + i];

		/* a bit field is an integer of the word that it is in */
		if (m->bits)
			put(classes, at + m->offset + m->bit_at / 8, CLASS_INTEGER);
		else
			classify(values, m->type, at + m->offset, classes, depth + 1);
	}
}

static void classify(const struct values *values, uint32_t number, uint64_t at,
		     enum class classes[2], int depth)
{
	const struct value_type *type = values_type(values, number);

	if (!type || depth == NESTED_MAX || at >= 16) {
		put(classes, at < 16 ? at : 0, CLASS_UNKNOWN);
		return;
	}
	switch (type->kind) {
	case VALUE_STRUCT:
	case VALUE_UNION:
		/* what has such a member is passed so itself, or is a case for its own rules */
		if (type->flags & VALUE_FLAG_BY_REFERENCE)
			put(classes, at, CLASS_UNKNOWN);
		classify_members(values, type, at, classes, depth);
		break;
	case VALUE_ARRAY:
		for (uint64_t i = 0; i < type->count && i < 16; i++) {
			const struct value_type *element = values_type(values, type->target);

			if (!element || !element->size) {
				put(classes, at, CLASS_UNKNOWN);
				break;
			}
			classify(values, type->target, at + i * element->size, classes, depth + 1);
		}
		break;
	case VALUE_FLOAT:
		put(classes, at, type->size <= 8 ? CLASS_FLOAT : CLASS_MEMORY);
		break;
	case VALUE_COMPLEX:
		if (type->size > 16) {
			put(classes, at, CLASS_MEMORY);
			break;
		}
		put(classes, at, CLASS_FLOAT);
		put(classes, at + type->size / 2, CLASS_FLOAT);
		break;
	case VALUE_INT:
	case VALUE_UINT:
	case VALUE_BOOL:
	case VALUE_CHAR:
	case VALUE_ENUM:
	case VALUE_POINTER:
	case VALUE_REFERENCE:
		put(classes, at, CLASS_INTEGER);
		if (type->size > 8)
			put(classes, at + 8, CLASS_INTEGER);
		break;
	default:
		put(classes, at, CLASS_UNKNOWN);
	}
}

/* A large object: are it and its members known to be passed as they are? */
static bool is_unclear(const struct values *values, uint32_t number, int depth)
{
	const struct value_type *type = values_type(values, number);

	if (!type || depth == NESTED_MAX)
		return true;
	if (type->flags & (VALUE_FLAG_UNCLEAR | VALUE_FLAG_BY_REFERENCE))
		return true;
	if (type->kind == VALUE_ARRAY)
		return is_unclear(values, type->target, depth + 1);
	if (type->kind != VALUE_STRUCT && type->kind != VALUE_UNION)
		return false;
	for (uint32_t i = 0; i < type->members; i++)
		if (is_unclear(values, values->members.at[type->first_member + i].type, depth + 1))
			return true;
	return false;
}

/* The classes of a value's words. CLASS_MEMORY or CLASS_UNKNOWN stands in the first one. */
static void classes_of(const struct values *values, uint32_t number, enum class classes[2])
{
	const struct value_type *type = values_type(values, number);

	classes[0] = classes[1] = CLASS_NONE;
	if (!type || !type->size) {
		classes[0] = CLASS_UNKNOWN;
		return;
	}
	if (type->size > 16) {
		classes[0] = type->kind == VALUE_UNKNOWN ? CLASS_UNKNOWN : CLASS_MEMORY;
		if (is_unclear(values, number, 0))
			classes[0] = CLASS_UNKNOWN;
		return;
	}
	classify(values, number, 0, classes, 0);
	if (classes[0] == CLASS_UNKNOWN || classes[1] == CLASS_UNKNOWN)
		classes[0] = CLASS_UNKNOWN;
	else if (classes[0] == CLASS_MEMORY || classes[1] == CLASS_MEMORY)
		classes[0] = CLASS_MEMORY;
}

static uint64_t alignment(const struct values *values, uint32_t number, int depth)
{
	const struct value_type *type = values_type(values, number);
	uint64_t most = 1;

	if (!type || depth == NESTED_MAX)
		return 8;
	if (type->kind == VALUE_STRUCT || type->kind == VALUE_UNION) {
		for (uint32_t i = 0; i < type->members; i++) {
			uint64_t one = alignment(
				values, values->members.at[type->first_member + i].type, depth + 1);

			most = one > most ? one : most;
		}
		return most;
	}
	if (type->kind == VALUE_ARRAY)
		return alignment(values, type->target, depth + 1);
	if (type->kind == VALUE_COMPLEX)
		return type->size / 2;
	return type->size ? type->size : 1;
}

/* Puts a value's words into registers. False: there are not enough. */
static bool put_registers(struct value_param *p, uint64_t size, const enum class classes[2],
			  unsigned int *integers, unsigned int *floats, const uint8_t *registers,
			  unsigned int most)
{
	unsigned int wanted_integers = 0, wanted_floats = 0;

	for (int i = 0; i < 2; i++) {
		wanted_integers += classes[i] == CLASS_INTEGER;
		wanted_floats += classes[i] == CLASS_FLOAT;
	}
	if (*integers + wanted_integers > most || *floats + wanted_floats > FLOATS)
		return false;
	p->count = 0;
	for (unsigned int i = 0; i < 2; i++) {
		uint64_t left = size > 8 * i ? size - 8 * i : 0;
		struct value_piece piece = {
			.offset = (uint16_t)(8 * i),
			.size = (uint16_t)(left < 8 ? left : 8),
			.reg = VALUE_REGISTER_FLOAT,
		};

		if (classes[i] == CLASS_NONE)
			continue;
		if (classes[i] == CLASS_INTEGER)
			piece.reg = registers[(*integers)++];
		else
			(*floats)++;
		p->piece[p->count++] = piece;
	}
	p->place = VALUE_REGISTERS;
	return true;
}

static bool returns_in_memory(const struct values *values, const struct value_param *result,
			      bool *unknown)
{
	const struct value_type *type = values_type(values, result->type);
	enum class classes[2];

	classes_of(values, result->type, classes);
	if (type && type->flags & VALUE_FLAG_BY_REFERENCE)
		return true;
	*unknown |= classes[0] == CLASS_UNKNOWN;
	/* long double and its complex are returned in registers of the x87 */
	if (type && (type->kind == VALUE_FLOAT || type->kind == VALUE_COMPLEX) &&
	    classes[0] == CLASS_MEMORY)
		return false;
	return classes[0] == CLASS_MEMORY;
}

/*
 * Is the address of a copy passed? The class says it, or where DWARF puts the object: not all that
 * the rule depends on is in DWARF.
 */
static bool is_by_address(const struct value_type *type, const struct value_param *p)
{
	if (type->flags & VALUE_FLAG_BY_REFERENCE)
		return true;
	if (type->kind != VALUE_STRUCT && type->kind != VALUE_UNION)
		return false;
	if (p->place == VALUE_AT_POINTER && !p->displacement)
		return memchr(integer_registers, p->reg, INTEGERS);
	return p->place == VALUE_LATE || (p->place == VALUE_HOME && p->is_address);
}

void abi_sysv_params(const struct values *values, const struct value_function *function,
		     struct value_param *params, size_t count)
{
	unsigned int integers = 0, floats = 0;
	uint64_t stack = 0;
	bool unknown = false;

	(void)function;
	for (size_t i = 0; i < count; i++)
		if (params[i].is_result && returns_in_memory(values, &params[i], &unknown))
			integers = 1;
	for (size_t i = 0; i < count; i++) {
		struct value_param *p = &params[i];
		const struct value_type *type = values_type(values, p->type);
		enum class classes[2];
		uint64_t align;

		if (p->is_result)
			continue;
		classes_of(values, p->type, classes);
		if (unknown || !type || (classes[0] == CLASS_UNKNOWN && !is_by_address(type, p))) {
			unknown = true;
			p->place = VALUE_NOT_KNOWN;
			continue;
		}
		if (is_by_address(type, p)) {
			if (integers < INTEGERS) {
				p->place = VALUE_AT_POINTER;
				p->reg = integer_registers[integers++];
				p->displacement = 0;
			} else {
				p->place = VALUE_BEHIND;
				p->reg = VALUE_REGISTER_CFA;
				p->displacement = (int64_t)stack;
				p->behind = 0;
				stack += 8;
			}
			continue;
		}
		if (classes[0] != CLASS_MEMORY &&
		    put_registers(p, type->size, classes, &integers, &floats, integer_registers,
				  INTEGERS))
			continue;
		align = alignment(values, p->type, 0);
		align = align < 8 ? 8 : align;
		stack = (stack + align - 1) / align * align;
		p->place = VALUE_MEMORY;
		p->displacement = (int64_t)stack;
		stack += (type->size + 7) & ~7ull;
	}
}

void abi_sysv_result(const struct values *values, const struct value_function *function,
		     struct value_param *result)
{
	static const uint8_t registers[] = {0, 1}; /* RAX RDX */
	const struct value_type *type = values_type(values, result->type);
	unsigned int integers = 0, floats = 0;
	enum class classes[2];
	bool unknown = false;

	result->place = VALUE_NOT_KNOWN;
	result->count = 0;
	/* where all callers are known, compilers leave out results that none of them uses */
	if (!type || (!function->is_external && function->is_optimised) ||
	    function->language == VALUE_LANGUAGE_RUST)
		return;
	if (returns_in_memory(values, result, &unknown)) {
		result->place = VALUE_AT_POINTER;
		result->reg = registers[0];
		result->displacement = 0;
		return;
	}
	if (unknown)
		return;
	classes_of(values, result->type, classes);
	if (classes[0] == CLASS_MEMORY) {
		result->place = VALUE_REGISTERS;
		result->piece[0] =
			(struct value_piece){0, (uint16_t)type->size, VALUE_REGISTER_FLOAT};
		result->count = 1;
		return;
	}
	put_registers(result, type->size, classes, &integers, &floats, registers, 2);
}
