// SPDX-License-Identifier: Apache-2.0
/*
 * Where Go's functions have their arguments and results: the rules of "Go internal ABI
 * specification" (src/cmd/compile/abi-internal.md of Go's source). A value is in registers whole or
 * not at all; arrays of more than one element never are. What is not, is on the stack, from the
 * canonical frame address on: first the arguments, then the results.
 */
#include "probe/values.h"

#include <string.h>

/* RAX RBX RCX RDI RSI R8 R9 R10 R11, as DWARF numbers them. */
static const uint8_t integer_registers[] = {0, 3, 2, 5, 4, 8, 9, 10, 11};

enum {
	INTEGERS = sizeof(integer_registers),
	FLOATS = 15
};

#define NESTED_MAX 16

struct assign {
	const struct values *values;
	struct value_param *param;
	unsigned int integers, floats;
};

static bool take_register(struct assign *a, uint64_t offset, uint64_t size, bool is_float)
{
	struct value_param *p = a->param;
	uint8_t reg = VALUE_REGISTER_FLOAT;

	if (is_float ? a->floats == FLOATS : a->integers == INTEGERS)
		return false;
	if (is_float)
		a->floats++;
	else
		reg = integer_registers[a->integers++];
	/* values of many floats have no place that could be read in any case */
	if (p->count == VALUES_PIECES_MAX)
		return is_float;
	p->piece[p->count++] = (struct value_piece){(uint16_t)offset, (uint16_t)size, reg};
	return true;
}

static bool assign(struct assign *a, uint32_t number, uint64_t at, int depth)
{
	const struct value_type *type = values_type(a->values, number);

	if (!type || depth == NESTED_MAX || at > 4096)
		return false;
	switch (type->kind) {
	case VALUE_STRUCT:
		for (uint32_t i = 0; i < type->members; i++) {
			const struct value_member *m =
				&a->values->members.at[type->first_member + i];

			if (!assign(a, m->type, at + m->offset, depth + 1))
				return false;
		}
		return !(type->flags & VALUE_FLAG_CUT);
	case VALUE_ARRAY:
		if (!type->count)
			return true;
		return type->count == 1 && assign(a, type->target, at, depth + 1);
	case VALUE_GO_STRING:
	case VALUE_GO_INTERFACE:
	case VALUE_GO_ANY:
		return take_register(a, at, 8, false) && take_register(a, at + 8, 8, false);
	case VALUE_GO_SLICE:
		return take_register(a, at, 8, false) && take_register(a, at + 8, 8, false) &&
		       take_register(a, at + 16, 8, false);
	case VALUE_FLOAT:
		return take_register(a, at, type->size, true);
	case VALUE_COMPLEX:
		return take_register(a, at, type->size / 2, true) &&
		       take_register(a, at + type->size / 2, type->size / 2, true);
	case VALUE_INT:
	case VALUE_UINT:
	case VALUE_BOOL:
	case VALUE_CHAR:
	case VALUE_POINTER:
	case VALUE_FUNCTION:
	case VALUE_GO_MAP:
	case VALUE_GO_CHAN:
		return type->size <= 8 && take_register(a, at, type->size, false);
	default:
		return false;
	}
}

/* What a type's alignment is: that of its largest part. */
static uint64_t alignment(const struct values *values, uint32_t number, int depth)
{
	const struct value_type *type = values_type(values, number);
	uint64_t most = 1;

	if (!type || depth == NESTED_MAX)
		return 8;
	switch (type->kind) {
	case VALUE_STRUCT:
		for (uint32_t i = 0; i < type->members; i++) {
			uint64_t one = alignment(
				values, values->members.at[type->first_member + i].type, depth + 1);

			most = one > most ? one : most;
		}
		return most;
	case VALUE_ARRAY:
		return alignment(values, type->target, depth + 1);
	case VALUE_COMPLEX:
		return type->size / 2;
	default:
		return type->size == 1 || type->size == 2 || type->size == 4 ? type->size : 8;
	}
}

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return to ? (n + to - 1) / to * to : n;
}

static void place(struct assign *a, bool has_registers, uint64_t *stack)
{
	const struct value_type *type = values_type(a->values, a->param->type);
	unsigned int integers = a->integers, floats = a->floats;
	struct value_param *p = a->param;

	p->count = 0;
	p->displacement = 0;
	if (!type || type->kind == VALUE_UNKNOWN || type->flags & VALUE_FLAG_CUT) {
		p->place = VALUE_NOT_KNOWN;
		return;
	}
	if (has_registers && type->size && assign(a, p->type, 0, 0)) {
		p->place = VALUE_REGISTERS;
		return;
	}
	a->integers = integers;
	a->floats = floats;
	p->count = 0;
	*stack = round_up(*stack, alignment(a->values, p->type, 0));
	p->place = VALUE_MEMORY;
	p->displacement = (int64_t)*stack;
	*stack += type->size;
}

void abi_go_params(const struct values *values, struct value_param *params, size_t count,
		   bool has_registers)
{
	struct assign a = {.values = values};
	uint64_t stack = 0;
	bool unknown = false;

	for (int results = 0; results < 2; results++) {
		a.integers = a.floats = 0;
		for (size_t i = 0; i < count; i++) {
			if (params[i].is_result != (bool)results)
				continue;
			a.param = &params[i];
			place(&a, has_registers, &stack);
			/* what comes behind one that is not known is not known, either */
			unknown |= params[i].place == VALUE_NOT_KNOWN;
			if (unknown)
				params[i].place = VALUE_NOT_KNOWN;
		}
		stack = round_up(stack, 8);
	}
}
