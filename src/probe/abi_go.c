// SPDX-License-Identifier: Apache-2.0
/*
 * Where Go's functions have their arguments and results: the rules of "Go internal ABI
 * specification" (src/cmd/compile/abi-internal.md of Go's source). A value is in registers whole or
 * not at all; arrays of more than one element never are. What is not, is on the stack, from the
 * canonical frame address on: first the arguments, then the results, then room for what the
 * registers held.
 *
 * DWARF does not list all arguments: the dictionary of a generic function is left out, and with Go
 * 1.21 and before the receiver of a wrapper and what is called "_". So what the rules say must
 * agree with two other facts: where DWARF says that arguments are at the function's entry, and how
 * many bytes Go's own table says that the function has on its caller's stack. If it does not, only
 * what DWARF says of an argument is believed.
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

static bool assign_register(struct assign *a, uint64_t offset, uint64_t size, bool is_float)
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
		return assign_register(a, at, 8, false) && assign_register(a, at + 8, 8, false);
	case VALUE_GO_SLICE:
		return assign_register(a, at, 8, false) && assign_register(a, at + 8, 8, false) &&
		       assign_register(a, at + 16, 8, false);
	case VALUE_FLOAT:
		return assign_register(a, at, type->size, true);
	case VALUE_COMPLEX:
		return assign_register(a, at, type->size / 2, true) &&
		       assign_register(a, at + type->size / 2, type->size / 2, true);
	case VALUE_INT:
	case VALUE_UINT:
	case VALUE_BOOL:
	case VALUE_CHAR:
	case VALUE_POINTER:
	case VALUE_FUNCTION:
	case VALUE_GO_MAP:
	case VALUE_GO_CHAN:
		return type->size <= 8 && assign_register(a, at, type->size, false);
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

/* A parameter, and where it lies on the caller's stack: itself, or what its registers held. */
struct placed {
	struct value_param param;
	int64_t frame_at;
};

/* The first version of Go whose DWARF has arguments without a name. */
#define LISTS_ALL     22

#define PLACED_MAX    64
#define NO_DICTIONARY SIZE_MAX

struct list {
	const struct values *values;
	bool has_registers;
	struct placed at[PLACED_MAX];
	size_t count;
	uint64_t stack, spilled, padding[2]; /* of the arguments on the stack, and in registers */
	int64_t width;			     /* of all that is on the caller's stack */
	bool unknown;
};

/* A generic function's dictionary is a pointer. */
static void place_dictionary(struct assign *a, struct list *l)
{
	struct value_param ignored = {.name = ""};
	uint64_t *to = &l->stack;
	bool is_register;

	a->param = &ignored;
	is_register = l->has_registers && assign_register(a, 0, 8, false);
	if (is_register)
		to = &l->spilled;
	*to = round_up(*to, 8) + 8;
	l->padding[is_register] -= 8;
}

static void place(struct assign *a, struct list *l, struct placed *placed)
{
	struct value_param *p = &placed->param;
	const struct value_type *type = values_type(l->values, p->type);
	unsigned int integers = a->integers, floats = a->floats;
	uint64_t align;

	a->param = p;
	p->count = 0;
	p->displacement = 0;
	if (!type || type->kind == VALUE_UNKNOWN || type->flags & VALUE_FLAG_CUT) {
		l->unknown = true;
		return;
	}
	align = alignment(l->values, p->type, 0);
	if (l->has_registers && type->size && assign(a, p->type, 0, 0)) {
		p->place = VALUE_REGISTERS;
		l->spilled = round_up(l->spilled, align);
		placed->frame_at = (int64_t)l->spilled;
		l->spilled += type->size;
		l->padding[1] -= type->size;
		return;
	}
	a->integers = integers;
	a->floats = floats;
	p->count = 0;
	l->stack = round_up(l->stack, align);
	p->place = VALUE_MEMORY;
	p->displacement = placed->frame_at = (int64_t)l->stack;
	l->stack += type->size;
	l->padding[0] -= type->size;
}

static void place_all(struct list *l, const struct value_param *params, size_t dictionary_at)
{
	struct assign a = {.values = l->values};
	uint64_t spilled = 0, padding[2] = {0};

	l->stack = l->spilled = l->padding[0] = l->padding[1] = 0;
	l->unknown = false;
	for (int results = 0; results < 2; results++) {
		a.integers = a.floats = 0;
		for (size_t i = 0; i < l->count; i++) {
			if (params[i].is_result != (bool)results)
				continue;
			if (!results && dictionary_at == i)
				place_dictionary(&a, l);
			l->at[i].param = params[i];
			place(&a, l, &l->at[i]);
			/* what comes behind one that is not known is not known, either */
			if (l->unknown)
				l->at[i].param.place = VALUE_NOT_KNOWN;
		}
		l->stack = round_up(l->stack, 8);
		if (results)
			break;
		spilled = round_up(l->spilled, 8);
		padding[0] = l->padding[0] + l->stack;
		padding[1] = l->padding[1] + spilled;
	}
	memcpy(l->padding, padding, sizeof(padding));
	for (size_t i = 0; i < l->count; i++)
		if (!params[i].is_result && l->at[i].param.place == VALUE_REGISTERS)
			l->at[i].frame_at += (int64_t)l->stack;
	l->width = (int64_t)(l->stack + spilled);
}

/* DWARF leaves out pieces that are not used. */
static bool has_pieces(const struct value_param *placed, const struct value_param *said)
{
	unsigned int k = 0;

	for (unsigned int i = 0; i < said->count; i++, k++) {
		while (k < placed->count && placed->piece[k].reg != said->piece[i].reg)
			k++;
		if (k == placed->count)
			return false;
	}
	return true;
}

static bool agrees(const struct placed *placed, const struct value_param *said)
{
	switch (said->place) {
	case VALUE_REGISTERS:
		return placed->param.place == VALUE_REGISTERS && has_pieces(&placed->param, said);
	case VALUE_MEMORY:
		return said->displacement < 0 || said->displacement == placed->frame_at;
	default:
		return true;
	}
}

static bool all_agree(const struct list *l, const struct value_param *said, int64_t width)
{
	for (size_t i = 0; i < l->count; i++)
		if (!said[i].is_result && l->at[i].param.place != VALUE_NOT_KNOWN &&
		    !agrees(&l->at[i], &said[i]))
			return false;
	return width < 0 || l->unknown || l->width == width;
}

/*
 * What is called "_" in Go 1.21 and before is hidden. It may lie where there would be padding
 * without it, so that nothing shows whether there is such an argument before one of which DWARF
 * does not say where it is.
 */
static void doubt(struct list *l, const struct abi_go *go, const struct value_param *said)
{
	size_t certain = 0; /* in registers, before one of which it is known */

	for (size_t i = 0; i < l->count; i++)
		if (!said[i].is_result && said[i].place == VALUE_REGISTERS &&
		    said[i].piece[0].reg != VALUE_REGISTER_FLOAT)
			certain = i;
	for (size_t i = 0; i < l->count && go->minor < LISTS_ALL; i++)
		if (!said[i].is_result && said[i].place != VALUE_REGISTERS &&
		    (l->at[i].param.place != VALUE_REGISTERS || i > certain) &&
		    (said[i].place != VALUE_MEMORY || said[i].displacement < 0) &&
		    l->padding[l->at[i].param.place == VALUE_REGISTERS])
			l->at[i].param.place = VALUE_NOT_KNOWN;
}

/* The number of the first integer register that DWARF says; 0: it says none. */
static unsigned int first_integer(const struct value_param *said)
{
	for (unsigned int i = 0; i < said->count; i++)
		for (unsigned int k = 0; k < INTEGERS; k++)
			if (said->piece[i].reg == integer_registers[k])
				return k;
	return 0;
}

/*
 * Some argument is hidden. Where DWARF says that one is at the entry, the rules say how it lies
 * there.
 */
static void place_by_dwarf(struct list *l, const struct value_param *said)
{
	for (size_t i = 0; i < l->count; i++) {
		struct value_param *p = &l->at[i].param;
		struct assign a = {.values = l->values, .param = p};
		const struct value_type *type = values_type(l->values, said[i].type);

		/* arguments do not change which registers hold results */
		if (said[i].is_result && p->place == VALUE_REGISTERS)
			continue;
		*p = said[i];
		p->count = 0;
		p->place = VALUE_NOT_KNOWN;
		if (!type || said[i].is_result)
			continue;
		/* never in registers */
		if (said[i].place == VALUE_MEMORY && said[i].displacement >= 0 &&
		    !assign(&a, said[i].type, 0, 0))
			p->place = VALUE_MEMORY;
		a.integers = a.floats = p->count = 0;
		if (said[i].place != VALUE_REGISTERS)
			continue;
		a.integers = first_integer(&said[i]);
		if (assign(&a, said[i].type, 0, 0) && p->count == said[i].count &&
		    has_pieces(p, &said[i]))
			p->place = VALUE_REGISTERS;
	}
}

/* The text in brackets, which may hold tags of structures in quotes; null: they do not close. */
static const char *behind_brackets(const char *at)
{
	int depth = 0;

	for (; *at; at++) {
		if (*at == '"') {
			for (at++; *at && *at != '"'; at++)
				at += *at == '\\' && at[1];
			if (!*at)
				return NULL;
		}
		depth += (*at == '[') - (*at == ']');
		if (!depth)
			return at + 1;
	}
	return NULL;
}

/*
 * Before which argument a generic function has its dictionary: functions before all, methods behind
 * the receiver since Go 1.20, closures nowhere. The name says which it is: "main.f[go.shape.int]",
 * "main.(*T[go.shape.int]).M", "main.T[go.shape.int].M", "main.f[go.shape.int].func1".
 */
static size_t dictionary(const struct values *values, const struct abi_go *go,
			 const struct value_param *params, size_t count)
{
	const struct value_type *first = count ? values_type(values, params[0].type) : NULL;
	const char *brackets = strchr(go->name, '['), *end;
	size_t receiver = go->minor >= 20 ? 1 : 0;

	end = brackets && strstr(brackets, "[go.shape.") ? behind_brackets(brackets) : NULL;
	if (!end)
		return NO_DICTIONARY;
	if (!*end)
		return 0;
	if (!strncmp(end, ").", 2))
		return strchr(end + 2, '.') || strchr(end, '-') ? NO_DICTIONARY : receiver;
	if (*end == '.' && !strpbrk(end + 1, ".-") && first && first->name &&
	    !strncmp(first->name, go->name, (size_t)(end - go->name)) &&
	    !first->name[end - go->name])
		return receiver;
	return NO_DICTIONARY;
}

void abi_go_params(const struct values *values, struct value_param *params, size_t count,
		   const struct abi_go *go)
{
	struct list l = {.values = values, .has_registers = go->has_registers, .count = count};

	if (count > PLACED_MAX) {
		for (size_t i = 0; i < count; i++)
			params[i].place = VALUE_NOT_KNOWN;
		return;
	}
	place_all(&l, params, dictionary(values, go, params, count));
	if (!all_agree(&l, params, go->width))
		place_by_dwarf(&l, params);
	doubt(&l, go, params);
	for (size_t i = 0; i < count; i++)
		params[i] = l.at[i].param;
}
