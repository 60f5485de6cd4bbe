// SPDX-License-Identifier: Apache-2.0
/*
 * A stripped image has no symbols for static functions and for the parts that compilers put
 * elsewhere, but the unwind information still tells where they begin and end. Those that are called
 * or jumped to are added to the spans, without a name; so are the sizes of functions whose symbols
 * have none.
 */
#include <errno.h>
#include <stdlib.h>

#include "probe/internal.h"
#include "unwind/functions.h"

#define TARGETS_MAX (1u << 20)
/* What is meant, and its parts. */
#define ROUNDS_MAX 2

struct unnamed {
	struct spans *spans;
	vec(uint64_t) targets;
	vec(struct span) found;
	bool calls; /* what is called, too: it says nothing of where a function ends */
	bool no_memory;
};

static int add_targets(struct unnamed *u, const struct body *b)
{
	struct isa_insn insn;

	for (size_t at = 0; at < b->size; at += insn.length) {
		enum isa_flow flow;
		uint64_t target;

		if (!isa_read(&insn, b->code + at, b->size - at))
			break;
		flow = isa_flow(&insn);
		if (flow != ISA_FLOW_JUMP && flow != ISA_FLOW_BRANCH &&
		    (flow != ISA_FLOW_CALL || !u->calls))
			continue;
		target = isa_target(&insn, b->address + at);
		if (target - b->address < b->size || spans_find(u->spans, target, true))
			continue;
		if (u->targets.count == TARGETS_MAX)
			break;
		if (!vec_push(&u->targets, target))
			return -ENOMEM;
	}
	return 0;
}

static int compare_targets(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Once each: the same functions are called from everywhere. */
static void sort_targets(struct unnamed *u)
{
	size_t kept = 0;

	if (!u->targets.count)
		return;
	qsort(u->targets.at, u->targets.count, sizeof(*u->targets.at), compare_targets);
	for (size_t i = 0; i < u->targets.count; i++)
		if (!kept || u->targets.at[kept - 1] != u->targets.at[i])
			u->targets.at[kept++] = u->targets.at[i];
	u->targets.count = kept;
}

static void add_found(void *context, size_t index, uint64_t start, uint64_t size)
{
	struct unnamed *u = context;
	struct span *span;

	if (!size || size > BODY_MAX || u->targets.at[index] - start >= size)
		return;
	span = spans_find(u->spans, start, false);
	if (span && !span->size)
		span->size = size;
	if (span)
		return;
	if (u->found.count && vec_last(&u->found)->address == start)
		return;
	u->no_memory |= !vec_push(&u->found, (struct span){
						     .address = start,
						     .size = size,
						     .kind = SYMBOL_FUNCTION_LABEL,
					     });
}

static int compare_spans(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static int merge(struct unnamed *u)
{
	struct spans *s = u->spans;
	size_t kept = 0;

	vec_foreach (&u->found, span)
		if (!vec_push(&s->list, *span))
			return -ENOMEM;
	if (!u->found.count)
		return 0;
	qsort(s->list.at, s->list.count, sizeof(*s->list.at), compare_spans);
	/* several targets can lie in one of them */
	for (size_t i = 0; i < s->list.count; i++)
		if (!kept || s->list.at[kept - 1].address != s->list.at[i].address)
			s->list.at[kept++] = s->list.at[i];
	s->list.count = kept;
	return 0;
}

static bool is_read(const struct span *span, enum unnamed_of of)
{
	if (span->kind != SYMBOL_FUNCTION_CODE)
		return false;
	return of == UNNAMED_OF_ALL || (of == UNNAMED_OF_CHOSEN && (span->chosen || span->is_part));
}

static int gather_of(struct unnamed *u, const struct span *span)
{
	struct body body;
	int err = window_read(&u->spans->window, span->address, span->size, &body);

	return err > 0 ? add_targets(u, &body) : err;
}

static int gather(struct unnamed *u, enum unnamed_of of)
{
	int err = 0;

	vec_foreach (&u->spans->list, span) {
		if (span->kind == SYMBOL_FUNCTION_CODE && !span->size &&
		    (span->chosen || of == UNNAMED_OF_ALL))
			err = vec_push(&u->targets, span->address) ? 0 : -ENOMEM;
		if (!err && is_read(span, of))
			err = gather_of(u, span);
		if (err)
			break;
	}
	return err;
}

static int look_up(struct unnamed *u, const struct symbol_image *image)
{
	int err;

	sort_targets(u);
	/* without unwind information there is nothing to be found: no failure */
	if (!u->targets.count)
		return 0;
	if (image->memory)
		err = unwind_functions_of_memory(image->memory, image->memory_size, u->targets.at,
						 u->targets.count, add_found, u, NULL);
	else
		err = unwind_functions_of_file(image->fd, u->targets.at, u->targets.count,
					       add_found, u, NULL);
	return u->no_memory || err == -ENOMEM ? -ENOMEM : 0;
}

/* A part without a name can jump to another one: what was found is read as well. */
static int gather_found(struct unnamed *u)
{
	int err = 0;

	u->targets.count = 0;
	vec_foreach (&u->found, span)
		if (!err)
			err = gather_of(u, span);
	u->found.count = 0;
	return err;
}

int add_unnamed(struct spans *spans, const struct symbol_image *image, enum unnamed_of of)
{
	struct unnamed u = {.spans = spans, .calls = of == UNNAMED_OF_ALL};
	int err = gather(&u, of);

	for (unsigned int round = 0; !err && round < ROUNDS_MAX; round++) {
		err = look_up(&u, image);
		if (!err)
			err = merge(&u);
		if (err || !u.found.count || of != UNNAMED_OF_CHOSEN)
			break;
		err = gather_found(&u);
		if (!u.targets.count)
			break;
	}
	vec_free(&u.targets);
	vec_free(&u.found);
	return err;
}
