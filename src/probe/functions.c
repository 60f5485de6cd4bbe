// SPDX-License-Identifier: Apache-2.0
#include "probe/functions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "probe/internal.h"
#include "probe/refusals.h"

/* The shortest stub that there is. */
#define STUB_SIZE 8

/* Code that is looked at, in all, to see what functions call. */
#define LEAF_BUDGET ((uint64_t)64 << 20)

struct probe_private {
	struct buf text;
};

/* Places of a function's strings in the text, which moves while it grows. */
struct strings {
	size_t name, symbol, library;
	bool has_library;
};

struct probing {
	const struct probe_question *question;
	struct probe_left_out left_out;
	size_t left_out_name; /* place in the text */
	struct symbol_functions listed;
	struct elf_image image;
	struct spans spans;
	struct window window;
	struct exits exits;
	vec(struct chosen) chosen; /* by their numbers in spans */
	vec(struct probe_function) functions;
	vec(struct strings) strings;
	vec(struct probe_site) sites;
	struct probe_private *private;
	bool is_go, is_loader;
	uint64_t covered; /* the end of the functions before */
};

static const char *text_of(const struct probing *p, uint32_t place)
{
	return symbol_functions_text(&p->listed, place);
}

static int file_offset(const struct elf_image *image, uint64_t address, uint64_t *offset)
{
	for (unsigned int i = 0; i < image->codes; i++) {
		const struct elf_range *c = &image->code[i];

		if (address >= c->start && address - c->start < c->in_file &&
		    address - c->start <= UINT64_MAX - c->offset) {
			*offset = c->offset + (address - c->start);
			return 0;
		}
	}
	return -ENOENT;
}

/* One span for all symbols of one address; labels are none. */
static int make_spans(struct probing *p)
{
	const struct symbol_functions *l = &p->listed;

	for (size_t first = 0, end; first < l->count; first = end) {
		struct span span = {
			.address = l->at[first].address,
			.symbol = (uint32_t)first,
			.kind = SYMBOL_FUNCTION_LABEL,
			.is_part = true,
		};

		end = symbol_functions_next(l, first);
		for (size_t i = first; i < end; i++) {
			if (l->at[i].kind == SYMBOL_FUNCTION_LABEL)
				continue;
			/* users who call a resolver a function do not know it */
			if (span.kind == SYMBOL_FUNCTION_LABEL ||
			    l->at[i].kind == SYMBOL_FUNCTION_RESOLVER)
				span.kind = l->at[i].kind;
			if (l->at[i].size > span.size)
				span.size = l->at[i].size;
			span.is_part &= refusal_is_part(text_of(p, l->at[i].name));
		}
		if (span.kind != SYMBOL_FUNCTION_LABEL && !vec_push(&p->spans.list, span))
			return -ENOMEM;
	}
	return 0;
}

static size_t put_text(struct buf *text, const char *a, const char *b)
{
	size_t place = text->count;

	buf_put(text, a, strlen(a));
	buf_put(text, b, strlen(b) + 1);
	return place;
}

static int add_function(struct probing *p, const struct probe_function *f,
			const struct chosen *chosen)
{
	struct buf *text = &p->private->text;
	bool stub = is_called(chosen->symbol->kind);
	struct strings s = {.has_library = stub};

	s.symbol = put_text(text, chosen->symbol_name, "");
	s.name = text->count;
	buf_put(text, chosen->name, strlen(chosen->name));
	if (stub && chosen->library[0])
		buf_put(text, "@", 1);
	put_text(text, stub ? chosen->library : "", "");
	if (stub)
		s.library = put_text(text, chosen->library, "");
	if (text->failed || !vec_push(&p->strings, s) || !vec_push(&p->functions, *f))
		return -ENOMEM;
	return 0;
}

static enum probe_refusal refuse(const struct probing *p, const struct span *span,
				 const char *symbol)
{
	enum probe_refusal by_name = refusal_by_name(symbol, p->is_go);

	if (p->is_loader)
		return PROBE_REFUSED_LOADER;
	if (span->kind == SYMBOL_FUNCTION_RESOLVER)
		return PROBE_REFUSED_RESOLVER;
	if (by_name != PROBE_ALLOWED &&
	    !(by_name == PROBE_REFUSED_UNWINDER && p->question->unwinders))
		return by_name;
	if (is_called(span->kind))
		return PROBE_ALLOWED;
	if (!span->size)
		return PROBE_REFUSED_NO_SIZE;
	if (span->size > BODY_MAX || !elf_image_is_code(&p->image, span->address, span->size))
		return PROBE_REFUSED_BORDER;
	if (span->address < p->covered)
		return PROBE_REFUSED_OVERLAP;
	return PROBE_ALLOWED;
}

static enum probe_exit exit_of_stub(const struct probing *p, const struct chosen *chosen)
{
	const struct probe_question *q = p->question;

	switch (q->exit) {
	case PROBE_WISH_RETURN:
		return p->is_go ? PROBE_EXIT_INFERRED : PROBE_EXIT_RETURN;
	case PROBE_WISH_RET: /* it has none */
	case PROBE_WISH_INFERRED:
		return PROBE_EXIT_INFERRED;
	case PROBE_WISH_AUTO:
		break;
	}
	if (!p->is_go && q->calm && call_is_pure(chosen->library, chosen->symbol_name))
		return PROBE_EXIT_RETURN;
	return PROBE_EXIT_INFERRED;
}

/* How a function's exit is to be seen, if its ends can be found. A negative errno: -ENOMEM. */
static int wanted_exit(struct probing *p, struct span *span)
{
	const struct probe_question *q = p->question;
	int leaf;

	switch (q->exit) {
	case PROBE_WISH_RETURN:
		return p->is_go ? PROBE_EXIT_RET : PROBE_EXIT_RETURN;
	case PROBE_WISH_RET:
		return PROBE_EXIT_RET;
	case PROBE_WISH_INFERRED:
		return PROBE_EXIT_INFERRED;
	case PROBE_WISH_AUTO:
		break;
	}
	if (p->is_go || !q->calm)
		return PROBE_EXIT_RET;
	leaf = is_leaf(&p->spans, span);
	if (leaf < 0)
		return leaf;
	return leaf ? PROBE_EXIT_RETURN : PROBE_EXIT_RET;
}

/* Where the next symbol begins, of any kind, as a distance. */
static uint64_t distance_to_next(const struct probing *p, const struct span *span)
{
	size_t next = symbol_functions_next(&p->listed, span->symbol);

	return next < p->listed.count ? p->listed.at[next].address - span->address : UINT64_MAX;
}

/* The function's end at that place; null: there is none. */
static const struct exit_at *exit_at(const struct probing *p, uint64_t address)
{
	for (size_t i = 0; i < p->exits.list.count; i++)
		if (p->exits.list.at[i].address == address)
			return &p->exits.list.at[i];
	return NULL;
}

static int add_sites(struct probing *p, struct probe_function *f)
{
	f->first_exit = (uint32_t)p->sites.count;
	f->exits = (uint32_t)p->exits.list.count;
	for (size_t i = 0; i < p->exits.list.count; i++) {
		const struct exit_at *at = &p->exits.list.at[i];
		struct probe_site site = {.words = at->words, .leaves = at->leaves};

		if (file_offset(&p->image, at->address, &site.offset))
			return 0;
		if (!vec_push(&p->sites, site))
			return -ENOMEM;
	}
	return 0;
}

/*
 * Two probes at one place would come in any order. The entry's goes back to the beginning; where
 * that is the end, too, or no probe can be, it stands for both. Returns how the end is seen.
 */
static int part_from_exits(struct probing *p, uint64_t address, const struct body *body,
			   struct entry *entry, struct probe_function *f)
{
	const struct exit_at *end = exit_at(p, address + entry->at);
	struct isa_insn first;

	if (!end)
		return PROBE_EXIT_RET;
	if (entry->at && isa_read(&first, body->code, body->size) &&
	    isa_cost(&first) != ISA_COST_REFUSED && isa_cost(&first) != ISA_COST_REPLACED) {
		*entry = (struct entry){.cost = PROBE_COST_SLOW};
		return PROBE_EXIT_RET;
	}
	if (p->exits.list.count > 1)
		return PROBE_EXIT_INFERRED;
	f->at_once = end->leaves ? PROBE_LEAVES_AT_ONCE : PROBE_RETURNS_AT_ONCE;
	p->exits.list.count = 0;
	return PROBE_EXIT_RET;
}

/* Entry and exits of a function with code of its own. */
static int place(struct probing *p, struct span *span, const struct body *body,
		 struct probe_function *f)
{
	struct entry_wish wish = {.is_go = p->is_go, .stays = p->question->stays};
	struct entry entry;
	int exit = wanted_exit(p, span), all;

	if (exit < 0)
		return exit;
	p->exits.list.count = 0;
	if (exit == PROBE_EXIT_RET) {
		all = find_exits(&p->exits, &p->spans, body);
		if (all < 0)
			return all;
		f->may_leave = !all;
		if (!all)
			exit = PROBE_EXIT_INFERRED;
	}
	wish.moves = exit != PROBE_EXIT_RETURN;
	wish.limit = distance_to_next(p, span);
	if (!place_entry(body, &wish, &entry)) {
		f->refusal = PROBE_REFUSED_CODE;
		return 0;
	}
	if (exit == PROBE_EXIT_RET)
		exit = part_from_exits(p, span->address, body, &entry, f);
	f->begins_again = p->is_go && entry.at < isa_go_stack_check(body->code, body->size);
	f->cost = entry.cost;
	f->exit = (enum probe_exit)exit;
	f->entry.words = entry.words;
	f->slide = (uint32_t)entry.at;
	if (file_offset(&p->image, span->address + entry.at, &f->entry.offset))
		f->refusal = PROBE_REFUSED_BORDER;
	else if (exit == PROBE_EXIT_RET)
		return add_sites(p, f);
	return 0;
}

/* The sections say where a stub is; only what the segments load there counts. */
static int place_stub(struct probing *p, const struct span *span, const struct chosen *chosen,
		      struct probe_function *f)
{
	struct isa_insn insn;
	struct body body;
	int got = window_read(&p->window, span->address, STUB_SIZE, &body);

	if (got < 0)
		return got;
	f->cost = PROBE_COST_SLOW; /* it is an indirect jump, perhaps behind "endbr64" */
	f->exit = exit_of_stub(p, chosen);
	if (!got || file_offset(&p->image, span->address, &f->entry.offset))
		f->refusal = PROBE_REFUSED_BORDER;
	else if (!isa_read(&insn, body.code, body.size) || isa_cost(&insn) == ISA_COST_REFUSED ||
		 isa_cost(&insn) == ISA_COST_REPLACED)
		f->refusal = PROBE_REFUSED_CODE;
	return 0;
}

/*
 * Counts one that is meant and cannot be traced. Parts and second names of functions are not
 * missed, nor is, where all functions are meant, what never is traced.
 */
static int leave_out(struct probing *p, const struct probe_function *f, const struct chosen *chosen)
{
	bool by_rule = f->refusal != PROBE_REFUSED_CODE && f->refusal != PROBE_REFUSED_NO_SIZE &&
		       f->refusal != PROBE_REFUSED_BORDER;

	if (f->refusal == PROBE_REFUSED_PART || f->refusal == PROBE_REFUSED_OVERLAP ||
	    (by_rule && choice_is_all(p->question->choice)))
		return 0;
	if (!p->left_out.count++) {
		p->left_out.why = f->refusal;
		p->left_out_name = put_text(&p->private->text, chosen->name, "");
	}
	return p->private->text.failed ? -ENOMEM : 0;
}

/* Places a function that is meant, and lists it. */
static int place_function(struct probing *p, struct span *span, const struct chosen *chosen)
{
	struct probe_function f = {
		.address = span->address,
		.size = is_called(span->kind) ? 0 : span->size,
		.is_go = p->is_go,
		.refusal = refuse(p, span, chosen->symbol_name),
	};
	struct body body;
	int err = 0;

	if (span->kind == SYMBOL_FUNCTION_IMPORT) {
		f.exit = exit_of_stub(p, chosen);
		f.cost = PROBE_COST_SLOW;
		if (f.refusal == PROBE_ALLOWED)
			f.refusal = PROBE_REFUSED_NO_STUB;
		else if (!p->question->refused_too)
			return 0;
		return add_function(p, &f, chosen);
	}
	if (f.refusal == PROBE_ALLOWED && span->kind == SYMBOL_FUNCTION_STUB) {
		err = place_stub(p, span, chosen, &f);
	} else if (f.refusal == PROBE_ALLOWED) {
		err = window_read(&p->window, span->address, span->size, &body);
		if (!err)
			f.refusal = PROBE_REFUSED_BORDER;
		if (err > 0)
			err = place(p, span, &body, &f);
	}
	if (!err && f.refusal != PROBE_ALLOWED && !p->question->refused_too)
		return leave_out(p, &f, chosen);
	return err ? err : add_function(p, &f, chosen);
}

/* Which functions are meant: their code must be read, that of the others seldom. */
static int choose_all(struct probing *p)
{
	int err = 0;

	vec_foreach (&p->spans.list, span) {
		bool called = is_called(span->kind);
		struct chosen chosen = {0};

		if (span->kind == SYMBOL_FUNCTION_LABEL || span->kind == SYMBOL_FUNCTION_OWN_STUB ||
		    !(called ? p->question->called : p->question->own))
			continue;
		err = choose_name(p->question, &p->listed, span, &chosen);
		if (!err && chosen.name && !vec_push(&p->chosen, chosen)) {
			free(chosen.name);
			err = -ENOMEM;
		}
		if (err)
			break;
		if (chosen.name)
			span->chosen = (uint32_t)p->chosen.count;
	}
	return err;
}

static int place_all(struct probing *p)
{
	int err = 0;

	for (size_t i = 0; i < p->spans.list.count && !err; i++) {
		struct span *span = &p->spans.list.at[i];

		if (span->kind == SYMBOL_FUNCTION_LABEL || span->kind == SYMBOL_FUNCTION_OWN_STUB)
			continue;
		if (span->chosen)
			err = place_function(p, span, &p->chosen.at[span->chosen - 1]);
		if (!is_called(span->kind) && span->size <= BODY_MAX &&
		    span->address + span->size > p->covered)
			p->covered = span->address + span->size;
	}
	return err;
}

static void hand_over(struct probing *p, struct probe_functions *to)
{
	for (size_t i = 0; i < p->functions.count; i++) {
		const char *text = (const char *)p->private->text.at;
		const struct strings *s = &p->strings.at[i];
		struct probe_function *f = &p->functions.at[i];

		f->name = text + s->name;
		f->symbol = text + s->symbol;
		f->library = s->has_library ? text + s->library : NULL;
	}
	*to = (struct probe_functions){
		.at = p->functions.at,
		.count = p->functions.count,
		.exits = p->sites.at,
		.exit_count = p->sites.count,
		.left_out = p->left_out,
		.private = p->private,
	};
	if (p->left_out.count)
		to->left_out.name = (const char *)p->private->text.at + p->left_out_name;
	memset(&p->functions, 0, sizeof(p->functions));
	memset(&p->sites, 0, sizeof(p->sites));
	p->private = NULL;
}

static int open_image(struct probing *p, struct fail *why)
{
	const struct symbol_image *i = p->question->image;
	struct fail words = {0};
	int err = elf_image_open_bare(&p->image, i->memory ? -1 : i->fd, i->memory, i->memory_size,
				      &words);

	if (err)
		return fail(why, err, NULL, "%s: %s", i->path ? i->path : "an image", words.what);
	p->spans.window.image = p->window.image = &p->image;
	p->spans.names = &p->listed;
	p->spans.budget = LEAF_BUDGET;
	return 0;
}

/*
 * Whose ends, or calls, may have to be found: those of what is meant, or, to tell functions that
 * call nothing, of all that they call.
 */
static enum unnamed_of unnamed_of(const struct probing *p)
{
	const struct probe_question *q = p->question;

	if (!q->own || (q->exit != PROBE_WISH_RET && q->exit != PROBE_WISH_AUTO))
		return UNNAMED_OF_NONE;
	return q->exit == PROBE_WISH_AUTO && q->calm && !p->is_go ? UNNAMED_OF_ALL
								  : UNNAMED_OF_CHOSEN;
}

int probe_functions_of(const struct probe_question *question, struct probe_functions *functions,
		       struct fail *why)
{
	struct probing p = {.question = question};
	int err;

	*functions = (struct probe_functions){0};
	err = open_image(&p, why);
	if (!err)
		err = symbol_functions_of(question->symbols, question->image, &p.listed, why);
	if (!err) {
		p.private = calloc(1, sizeof(*p.private));
		p.is_go = probe_is_go(question->image);
		p.is_loader = refusal_is_loader(question->image->path);
		err = p.private ? make_spans(&p) : -ENOMEM;
		if (!err)
			err = choose_all(&p);
		if (!err)
			err = add_unnamed(&p.spans, question->image, unnamed_of(&p));
		if (!err)
			err = place_all(&p);
		if (err)
			fail_errno(why, err, NULL, "choosing functions");
		else
			err = choice_check(question->choice, why);
		if (!err)
			hand_over(&p, functions);
	}
	if (p.private)
		buf_free(&p.private->text);
	free(p.private);
	vec_foreach (&p.chosen, chosen)
		free(chosen->name);
	vec_free(&p.chosen);
	vec_free(&p.functions);
	vec_free(&p.strings);
	vec_free(&p.sites);
	vec_free(&p.spans.list);
	window_free(&p.spans.window);
	window_free(&p.window);
	exits_free(&p.exits);
	symbol_functions_free(&p.listed);
	elf_image_close(&p.image);
	return err;
}

void probe_functions_free(struct probe_functions *functions)
{
	free(functions->at);
	free(functions->exits);
	if (functions->private)
		buf_free(&functions->private->text);
	free(functions->private);
	*functions = (struct probe_functions){0};
}
