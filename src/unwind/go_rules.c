// SPDX-License-Identifier: Apache-2.0
#include "unwind/go_rules.h"

#include <errno.h>
#include <string.h>

#include "arch/go.h"
#include "base/vec.h"

/*
 * Go's compiler keeps frame pointers: rbp is saved right behind the place where the function makes
 * room on the stack (up to 1.20) or pushed before (since 1.21), at CFA - 16 in both cases.
 * Assembler code that C calls saves it somewhere else in its frame. So the code at the begin is
 * searched for the one instruction that does it. Other registers of the caller are not kept in Go
 * at all.
 *
 * Some assembler functions switch to another stack. Then the distance in the table means nothing;
 * but if they have set up a frame pointer before, that still leads to their frame, since who is
 * called on the other stack leaves it alone.
 */

#define PROLOGUE_MAX  128		 /* bytes in which rbp gets saved */
#define ASSEMBLER_MAX 2048		 /* no function that switches stacks is longer */
#define PADDING_MAX   63		 /* behind a function that its table leaves open */
#define DISTANCE_MAX  ((1 << 30) + 4096) /* of runtime.call1073741824; no frame is larger */

struct writing {
	const uint8_t *code; /* of the function's begin */
	size_t size;
	struct cfi_rows *rows;
	int32_t fp_at;	    /* where rbp is saved, from the CFA on; 0: it is not, so far */
	int32_t frame;	    /* CFA - rbp, once it is a frame pointer; 0: it is none */
	int32_t distance;   /* before the value at hand */
	uint64_t switched;  /* from here on the stack may be another one */
	uint8_t afterwards; /* enum unwind_cfa that holds there */
};

bool go_is_signal_return(const struct go_table *table, const struct go_function *f)
{
	static const char name[] = "runtime.sigreturn";

	/* 1.21 added "__sigaction" */
	return f->end - f->start <= 64 &&
	       !strncmp(go_table_name(table, f->name), name, sizeof(name) - 1);
}

static bool is_named(const char *name, const char *function)
{
	size_t length = strlen(function);

	/* up to 1.20, assembler code has the name of its calling convention behind its own */
	return !strncmp(name, "runtime.", 8) && !strncmp(name + 8, function, length) &&
	       (!name[8 + length] || !strcmp(name + 8 + length, ".abi0"));
}

/* Code that Go calls a top frame, but that a signal has interrupted something else for. */
static bool is_handler(const char *name)
{
	return is_named(name, "sigtramp") || is_named(name, "cgoSigtramp");
}

/* The function's code as far as it is needed; null: it is not in the file. */
static const uint8_t *code_of(const struct go_table *t, struct go_code *c, uint64_t address,
			      size_t wanted)
{
	if (address < c->start || address - c->start > c->size ||
	    c->size - (address - c->start) < wanted) {
		c->start = address;
		c->size = elf_image_read_code(t->image, address, c->bytes, sizeof(c->bytes));
	}
	return c->size - (address - c->start) < wanted ? NULL : c->bytes + (address - c->start);
}

static int add_row(struct writing *w, uint64_t offset, const struct unwind_rule *rule)
{
	struct cfi_rows *rows = w->rows;

	if (rows->count && !memcmp(&vec_last(rows)->rule, rule, sizeof(*rule)))
		return 0;
	if (rows->count && vec_last(rows)->offset == offset) {
		vec_last(rows)->rule = *rule;
		return 0;
	}
	if (rows->count == CFI_ROWS_MAX)
		return -E2BIG;
	return vec_push(rows, (struct cfi_row){(uint32_t)offset, *rule}) ? 0 : -ENOMEM;
}

/* Whether the place can be said in a rule. */
static bool fits(int64_t fp_at)
{
	return fp_at <= -16 && fp_at >= INT16_MIN && fp_at % 8 == 0;
}

/*
 * Looks from offset `from` to `until`, where the stack pointer is `distance` below the return
 * address, for the instruction that saves rbp. Returns where it ends; 0: it is not there.
 */
static uint64_t find_save(struct writing *w, uint64_t from, uint64_t until, int32_t distance)
{
	int32_t displacement;
	size_t length;

	/* a push moves the stack pointer, so it is the last instruction before this value */
	if (from && from <= w->size && arch_go_pushed_fp(w->code + from) &&
	    distance == w->distance + 8 && fits(-(int64_t)distance - 8)) {
		w->fp_at = -distance - 8;
		if (arch_go_sets_fp(w->code + from, w->size - from))
			w->frame = distance + 8;
		return from;
	}
	for (; from < until && from < w->size && from < PROLOGUE_MAX; from++) {
		length = arch_go_moves_fp(w->code + from, w->size - from, ARCH_GO_SAVES_FP,
					  &displacement);
		if (!length || !fits((int64_t)displacement - distance - 8))
			continue;
		w->fp_at = displacement - distance - 8;
		from += length;
		if (arch_go_moves_fp(w->code + from, w->size - from, ARCH_GO_MAKES_FP,
				     &displacement))
			w->frame = distance + 8 - displacement;
		return from;
	}
	return 0;
}

static struct unwind_rule rule_of(const struct writing *w, int32_t distance)
{
	struct unwind_rule rule = {
		.cfa = UNWIND_CFA_SP,
		.cfa_offset = distance + 8,
		.saved = UNWIND_SAVED_LOST,
	};

	if (distance && w->fp_at && -w->fp_at <= distance + 8) {
		rule.fp = UNWIND_FP_CFA;
		rule.fp_offset = (int16_t)w->fp_at;
	}
	return rule;
}

/*
 * Where an instruction behind `from` loads the stack pointer with something else; the end: nowhere.
 */
static uint64_t find_switch(const struct writing *w, uint64_t size)
{
	uint64_t i;

	for (i = 0; i + 4 <= w->size && i + 4 <= size; i++)
		if (arch_go_switches_stack(w->code + i))
			return i;
	return size;
}

/* From where the stack may be another one. */
static int add_switched(struct writing *w, uint64_t from, uint64_t until, int32_t distance)
{
	struct unwind_rule rule = {.cfa = w->afterwards, .saved = UNWIND_SAVED_LOST};
	int32_t displacement;
	int err;

	if (!w->frame || w->afterwards == UNWIND_CFA_END) {
		rule.saved = 0;
		return add_row(w, from, &rule);
	}
	rule = rule_of(w, distance);
	if (!distance) /* it is about to return */
		return add_row(w, from, &rule);
	rule.cfa = UNWIND_CFA_FP;
	rule.cfa_offset = w->frame;
	err = add_row(w, from, &rule);
	/* before the return, rbp gets its old value back while the frame is still there */
	for (; !err && from < until && from < w->size; from++) {
		size_t length = arch_go_moves_fp(w->code + from, w->size - from, ARCH_GO_LOADS_FP,
						 &displacement);

		if (!length || displacement - distance - 8 != w->fp_at)
			continue;
		rule = rule_of(w, distance);
		rule.fp = UNWIND_FP_SAME;
		rule.fp_offset = 0;
		return add_row(w, from + length, &rule);
	}
	return err;
}

/* One value of the table. */
static int add_value(struct writing *w, const struct go_values *v)
{
	static const struct unwind_rule unsupported = {.cfa = UNWIND_CFA_UNSUPPORTED};
	struct unwind_rule rule;
	uint64_t saved = 0;
	int err;

	if (v->value < 0 || v->value > DISTANCE_MAX)
		return add_row(w, v->from, &unsupported);
	rule = rule_of(w, v->value);
	if (!w->fp_at && v->value && v->from < w->size)
		saved = find_save(w, v->from, v->until, v->value);
	err = add_row(w, v->from, &rule);
	if (!err && saved) {
		rule = rule_of(w, v->value);
		err = add_row(w, saved, &rule);
	}
	if (!err && v->until > w->switched)
		err = add_switched(w, v->from > w->switched ? v->from : w->switched, v->until,
				   v->value);
	w->distance = v->value;
	return err;
}

static int add_only(struct writing *w, uint8_t cfa)
{
	struct unwind_rule rule = {.cfa = cfa};

	return add_row(w, 0, &rule);
}

/* What holds for code that has switched stacks and has no frame pointer. */
static uint8_t after_switch(const char *name)
{
	/* what runs on the scheduler's stack afterwards does not return */
	if (is_named(name, "mcall"))
		return UNWIND_CFA_END;
	/* rbp is still that of a function further up */
	if (is_named(name, "systemstack") || is_named(name, "asmcgocall"))
		return UNWIND_CFA_NONE;
	return UNWIND_CFA_UNSUPPORTED;
}

int go_rules(struct go_table *t, const struct go_function *f, struct go_code *code,
	     struct cfi_rows *rows)
{
	const char *name = go_table_name(t, f->name);
	uint64_t size = f->end - f->start;
	size_t wanted = f->flags & GO_SP_WRITE ? ASSEMBLER_MAX : PROLOGUE_MAX;
	struct writing w = {.rows = rows, .switched = UINT64_MAX};
	struct go_values v;
	int err = 0;

	rows->count = 0;
	if (!f->pcsp)
		return 0;
	if (go_is_signal_return(t, f))
		return add_only(&w, UNWIND_CFA_SIGNAL);
	if (f->flags & GO_TOP_FRAME && !is_handler(name))
		return add_only(&w, UNWIND_CFA_END);
	w.size = wanted < size ? wanted : size;
	w.code = code_of(t, code, f->start, w.size);
	if (!w.code)
		w.size = 0;
	if (f->flags & GO_SP_WRITE) {
		w.switched = find_switch(&w, size);
		w.afterwards = after_switch(name);
	}
	go_values_begin(&v, t, f->pcsp);
	while (!err && go_values_next(&v) && v.from < size)
		err = add_value(&w, &v);
	if (!err && size - v.until > PADDING_MAX && v.until < size)
		err = add_row(&w, v.until, &(struct unwind_rule){.cfa = UNWIND_CFA_UNSUPPORTED});
	return err;
}
