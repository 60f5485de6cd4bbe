// SPDX-License-Identifier: Apache-2.0
#include "unwind/table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "arch/shapes.h"
#include "base/search.h"
#include "base/vec.h"
#include "unwind/cfi.h"
#include "elf/image.h"
#include "unwind/gaps.h"
#include "unwind/go_pclntab.h"
#include "unwind/go_rules.h"
#include "unwind/pages.h"
#include "unwind/synthesize.h"

/*
 * First the functions are listed and sorted, then each is run in the order of addresses and its
 * rows are added to the pages, so that no more than a function and a page is held in full.
 *
 * Go's functions are in a table of Go's own (go_rules.h); .eh_frame has the C code of the same
 * program. .debug_frame only counts where neither says anything: some libraries without exceptions
 * have no other. What cannot be described still claims its addresses as unsupported, since to
 * follow frame pointers there would be a guess.
 *
 * Code that neither speaks of is read itself, and its rules are marked as guesses (synthesize.h).
 */

/*
 * An image's functions, at 16 bytes each, and as much again to sort them. The largest programs have
 * about a million.
 */
#define FUNCTIONS_MAX (3u << 20)

/* What is held of the image's budget for a function, or a guess, while they are sorted. */
#define FUNCTION_BYTES (2 * sizeof(struct function))

/* Where a function is described: the offset in .eh_frame, or one of these. */
#define IN_GO_TABLE    (1u << 30) /* or'ed to the function's number, or to the offset: */
#define IN_DEBUG_FRAME (1u << 31) /* sections are smaller */
#define WHERE	       (IN_GO_TABLE | IN_DEBUG_FRAME)
#define AT_ENTRY       UINT32_MAX /* the program's entry point, not described at all */

struct build {
	struct elf_image image;
	struct cfi_section sections[2]; /* .eh_frame, .debug_frame */
	struct cfi_cies *cies;		/* of each */
	struct go_table go;		/* count 0: the image is not Go's */
	struct go_code *go_code;
	struct functions functions;
	const uint64_t *leaf;	/* null: all code is read now */
	struct guesses guesses; /* about code between functions */
	size_t guess;		/* the next one to be told */
	struct pages pages;
	struct cfi_rows rows; /* of one function */
	struct unwind_table *table;
};

static int by_start(const void *a, const void *b)
{
	const struct function *l = a, *r = b;

	if (l->start != r->start)
		return l->start < r->start ? -1 : 1;
	return l->where < r->where ? -1 : l->where > r->where;
}

/* Mostly they are sorted already: linkers keep the order of the code. */
static void sort(struct functions *functions)
{
	size_t i;

	for (i = 1; i < functions->count; i++) {
		if (by_start(&functions->at[i - 1], &functions->at[i]) > 0) {
			qsort(functions->at, functions->count, sizeof(*functions->at), by_start);
			return;
		}
	}
}

/* The last of the first count functions, sorted, that begins before address; null: none does. */
static const struct function *last_before(const struct functions *functions, size_t count,
					  uint64_t address)
{
	size_t low = search_first(count, i, functions->at[i].start < address);

	return low ? &functions->at[low - 1] : NULL;
}

static bool overlaps(const struct functions *functions, size_t count, const struct function *f)
{
	const struct function *before = last_before(functions, count, function_end(f));

	return before && function_end(before) > f->start;
}

/* Lists the functions of a section, but not those that the ones listed before cover. */
static int list_functions(struct build *b, bool debug_frame)
{
	const struct cfi_section *section = &b->sections[debug_frame];
	struct functions *functions = &b->functions;
	size_t before = functions->count;
	uint64_t offset = 0, at;
	int more;

	while ((more = cfi_next(section, &offset, &at)) > 0) {
		struct function f = {.where = (uint32_t)at | (debug_frame ? IN_DEBUG_FRAME : 0)};
		struct cfi_fde fde;

		if (!budget_step(&b->image.budget, 1))
			return -E2BIG;
		if (cfi_read_fde(section, &b->cies[debug_frame], at, &fde)) {
			b->table->refused++;
			continue;
		}
		/* the linker dropped the function, and could not drop its description */
		if (!fde.start)
			continue;
		if (!fde.size || fde.size > UINT32_MAX || fde.start > ADDRESS_END - fde.size ||
		    !elf_image_is_code(&b->image, fde.start, fde.size)) {
			b->table->refused++;
			continue;
		}
		f.start = fde.start;
		f.size = (uint32_t)fde.size;
		if (overlaps(functions, before, &f))
			continue;
		if (functions->count == FUNCTIONS_MAX) {
			b->table->refused++;
			continue;
		}
		if (!budget_hold(&b->image.budget, FUNCTION_BYTES))
			return -E2BIG;
		if (!vec_push(functions, f))
			return -ENOMEM;
	}
	b->table->refused += more < 0;
	sort(functions);
	return 0;
}

/* Lists Go's functions, but not those that the ones listed before cover. */
static int list_go_functions(struct build *b)
{
	struct functions *functions = &b->functions;
	size_t before = functions->count;
	struct go_function go;

	for (uint64_t i = 0; i < b->go.count; i++) {
		struct function f = {.where = (uint32_t)i | IN_GO_TABLE};

		if (!budget_step(&b->image.budget, 1))
			return -E2BIG;
		if (!go_table_function(&b->go, i, &go) || go.end - go.start > UINT32_MAX ||
		    go.end > ADDRESS_END || functions->count == FUNCTIONS_MAX ||
		    !elf_image_is_code(&b->image, go.start, go.end - go.start)) {
			b->table->refused++;
			continue;
		}
		f.start = go.start;
		f.size = (uint32_t)(go.end - go.start);
		if (!go.pcsp || overlaps(functions, before, &f))
			continue;
		if (go_is_signal_return(&b->go, &go) && functions->count > before &&
		    function_end(vec_last(functions)) == f.start && vec_last(functions)->size > 1) {
			vec_last(functions)->size--;
			f.start--;
			f.size++;
		}
		if (!budget_hold(&b->image.budget, FUNCTION_BYTES))
			return -E2BIG;
		if (!vec_push(functions, f))
			return -ENOMEM;
	}
	sort(functions);
	return 0;
}

static int list_go(struct build *b)
{
	int err = go_table_open(&b->go, &b->image);

	if (!err && b->go.count < FUNCTIONS_MAX) {
		b->go_code = calloc(1, sizeof(*b->go_code));
		return b->go_code ? list_go_functions(b) : -ENOMEM;
	}
	b->go.count = 0;
	b->table->refused += err == -EBADMSG;
	return err == -ENOMEM ? err : 0;
}

/*
 * How many bytes of code belong to the entry point. Start-up code ends where it halts after the
 * call that never returns, or jumps to the program (the dynamic linker).
 */
static uint32_t entry_size(const struct elf_image *image)
{
	uint8_t code[64];
	size_t size = elf_image_read_code(image, image->entry, code, sizeof(code));

	return (uint32_t)shape_of_start(code, size);
}

/*
 * Below the entry point there is no caller. Assembler, musl and some dynamic linkers do not say so;
 * then a walk would go on with what the kernel left on the stack.
 */
static int add_entry(struct build *b)
{
	struct functions *functions = &b->functions;
	struct function entry = {.start = b->image.entry, .where = AT_ENTRY};
	const struct function *f;
	size_t i;

	entry.size = entry_size(&b->image);
	f = last_before(functions, functions->count, entry.start + 1);
	if (!entry.size || function_end(&entry) > ADDRESS_END ||
	    (f && function_end(f) > entry.start))
		return 0;
	if (!vec_push(functions, entry))
		return -ENOMEM;
	sort(functions);
	for (i = 0; functions->at[i].where != AT_ENTRY; i++)
		;
	if (i + 1 < functions->count && functions->at[i + 1].start < function_end(&entry))
		functions->at[i].size = (uint32_t)(functions->at[i + 1].start - entry.start);
	return 0;
}

static int add_rows(struct build *b, const struct function *f)
{
	int err = 0;

	for (size_t i = 0; !err && i < b->rows.count; i++)
		err = pages_add(&b->pages, f->start + b->rows.at[i].offset, &b->rows.at[i].rule);
	return err;
}

static int add_go_function(struct build *b, const struct function *f)
{
	struct go_function go;
	int err;

	if (!go_table_function(&b->go, f->where & ~WHERE, &go))
		return 0;
	if (!budget_step(&b->image.budget, 1))
		return -E2BIG;
	err = go_rules(&b->go, &go, b->go_code, &b->rows);
	b->table->fdes += !err;
	return err ? err : add_rows(b, f);
}

/* More than such a function has. */
#define FIRST_OF_STACK_MAX 128

/*
 * Whether a function is where a coroutine's stack begins, of which its unwind information says
 * nothing: that never changes, though the function's first instruction takes the stack pointer from
 * another register (mov register, %rsp), and it ends in hlt, which no program executes. So it
 * neither was called nor returns: an address on the stack leads to it (makecontext() of glibc).
 * Such an address is looked up as that of a call, one byte before.
 */
static bool begins_a_stack(const struct build *b, const struct function *f, uint64_t before)
{
	uint8_t code[FIRST_OF_STACK_MAX];
	struct cfi_fde fde;

	if (f->where & WHERE || f->size < 4 || f->size > sizeof(code) || f->start == before ||
	    elf_image_read_code(&b->image, f->start, code, f->size) < f->size ||
	    !shape_begins_stack(code, f->size) ||
	    cfi_read_fde(&b->sections[0], &b->cies[0], f->where, &fde))
		return false;
	while (bytes_left(&fde.instructions) && !*fde.instructions.at)
		fde.instructions.at++;
	return !bytes_left(&fde.instructions);
}

/* Adds the rules of one function. */
static int add_function(struct build *b, const struct function *f)
{
	static const struct unwind_rule end = {.cfa = UNWIND_CFA_END};
	static const struct unwind_rule unsupported = {.cfa = UNWIND_CFA_UNSUPPORTED};
	bool debug_frame = f->where & IN_DEBUG_FRAME;
	struct cfi_fde fde;
	int err;

	if (f->where == AT_ENTRY)
		return pages_add(&b->pages, f->start, &end);
	if (f->where & IN_GO_TABLE)
		return add_go_function(b, f);
	err = cfi_read_fde(&b->sections[debug_frame], &b->cies[debug_frame], f->where & ~WHERE,
			   &fde);
	if (err) /* it could be read when it was listed */
		return pages_add(&b->pages, f->start, &unsupported);
	if (!budget_step(&b->image.budget, 1 + bytes_left(&fde.instructions)))
		return -E2BIG;
	err = cfi_run(&fde, &b->rows);
	b->table->fdes += !err;
	b->table->refused += err == -EINVAL;
	return err && err != -EINVAL ? err : add_rows(b, f);
}

static bool is_too_far(const struct build *b, uint64_t address)
{
	return (address >> UNWIND_PAGE_SHIFT) - b->pages.first_page >= PAGES_MAX;
}

/* Adds what is guessed of the code between two functions. */
static int add_gap(struct build *b, uint64_t start, uint64_t end)
{
	static const struct unwind_rule none = {.cfa = UNWIND_CFA_NONE};
	int err;

	err = pages_add(&b->pages, start, &none);
	for (; !err && b->guess < b->guesses.count; b->guess++) {
		const struct guess *g = &b->guesses.at[b->guess];

		if (g->address >= end)
			break;
		if (g->address >= start && !is_too_far(b, g->address))
			err = pages_add(&b->pages, g->address, &g->rule);
	}
	return err;
}

/* The first address that anything is known of. */
static uint64_t first_address(const struct build *b)
{
	uint64_t first = b->guesses.count ? b->guesses.at->address : UINT64_MAX;

	if (b->functions.count && b->functions.at->start < first)
		first = b->functions.at->start;
	return first;
}

static int add_all(struct build *b)
{
	static const struct unwind_rule root = {.cfa = UNWIND_CFA_END};
	uint64_t end = first_address(b);
	int err = 0;

	vec_foreach (&b->functions, f) {
		bool first;

		if (f->start < end || is_too_far(b, function_end(f))) {
			b->table->refused++;
			continue;
		}
		first = begins_a_stack(b, f, end);
		if (f->start - end > PADDING_MAX)
			err = add_gap(b, end, f->start - first);
		if (!err)
			err = first ? pages_add(&b->pages, f->start - 1, &root)
				    : add_function(b, f);
		if (err)
			return err;
		end = function_end(f);
	}
	return add_gap(b, end, UINT64_MAX);
}

static struct cfi_section section_of(const struct elf_part *part, bool debug_frame)
{
	return (struct cfi_section){
		.at = part->at,
		.size = part->size,
		.address = part->address,
		.debug_frame = debug_frame,
		.to_the_end = part->to_the_end,
	};
}

static int list_all(struct build *b)
{
	int err = 0;

	b->cies = calloc(2, sizeof(*b->cies));
	if (!b->cies)
		return -ENOMEM;
	b->table->refused = b->image.unreadable;
	b->sections[0] = section_of(&b->image.eh_frame, false);
	b->sections[1] = section_of(&b->image.debug_frame, true);
	if (b->image.eh_frame.at)
		err = list_functions(b, false);
	if (!err)
		err = list_go(b);
	if (!err && b->image.debug_frame.at)
		err = list_functions(b, true);
	return err;
}

static bool is_guessed(const struct guesses *guesses, uint64_t address)
{
	vec_foreach (guesses, g) {
		if (g->address >= address)
			return g->address == address && g->rule.cfa != UNWIND_CFA_NONE &&
			       g->rule.cfa != UNWIND_CFA_LATER;
	}
	return false;
}

/* Whether to read code without unwind information can wait until a stack leads there. */
static bool is_left_out(const struct build *b, const struct gaps *gaps)
{
	if (!b->leaf)
		return false;
	vec_foreach (gaps, gap) {
		if (*b->leaf - gap->start < gap->size)
			return false;
	}
	return true;
}

static int leave_out(struct build *b, const struct gaps *gaps)
{
	static const struct unwind_rule later = {.cfa = UNWIND_CFA_LATER};
	static const struct unwind_rule none = {.cfa = UNWIND_CFA_NONE};

	b->table->left_out = true;
	vec_foreach (gaps, gap) {
		if (!vec_push(&b->guesses, (struct guess){gap->start, later}) ||
		    !vec_push(&b->guesses, (struct guess){gap->start + gap->size, none}))
			return -ENOMEM;
	}
	return 0;
}

/* What the unwind information leaves open. */
static int add_guesses(struct build *b)
{
	struct gaps gaps = {0};
	int err;

	err = gaps_find(&b->image, &b->functions, &gaps);
	if (!err && gaps.count)
		err = is_left_out(b, &gaps)
			      ? leave_out(b, &gaps)
			      : synthesize(&b->image, gaps.at, gaps.count, &b->guesses);
	vec_free(&gaps);
	return err || b->table->left_out || is_guessed(&b->guesses, b->image.entry) ? err
										    : add_entry(b);
}

/* Builds from an image that was opened. */
static int build(struct build *b, struct unwind_pool *pool, struct unwind_rules *rules,
		 struct fail *why)
{
	struct unwind_table *table = b->table;
	int err;

	err = list_all(b);
	if (!err)
		err = add_guesses(b);
	if (err || (!b->functions.count && !b->guesses.count))
		goto out;
	pages_begin(&b->pages, first_address(b), pool, rules);
	table->first_page = (uint32_t)b->pages.first_page;
	err = add_all(b);
	if (!err)
		err = pages_end(&b->pages, &table->directory, &table->pages);
	if (err)
		pages_drop(&b->pages);
	table->rows = b->pages.rows;
	table->unsupported = b->pages.unsupported;
	table->crowded = b->pages.crowded;
out:
	table->over_budget = b->image.budget.spent != NULL;
	free(b->functions.at);
	free(b->guesses.at);
	free(b->rows.at);
	free(b->cies);
	free(b->go_code);
	if (!err)
		return 0;
	*table = (struct unwind_table){0};
	if (err == -ENOSPC)
		return fail(why, err, NULL, "the memory for unwind tables is full");
	if (err == -E2BIG)
		return budget_refuse(&b->image.budget, why, "unwind information");
	return fail_errno(why, err, NULL, "cannot build the unwind table");
}

int unwind_table_for_leaf(int fd, const uint64_t *leaf, struct unwind_pool *pool,
			  struct unwind_rules *rules, struct unwind_table *table, struct fail *why)
{
	struct build b = {.table = table, .leaf = leaf};
	int err;

	*table = (struct unwind_table){0};
	err = elf_image_open_file(&b.image, fd, why);
	if (!err)
		err = build(&b, pool, rules, why);
	elf_image_close(&b.image);
	return err;
}

int unwind_table_of_file(int fd, struct unwind_pool *pool, struct unwind_rules *rules,
			 struct unwind_table *table, struct fail *why)
{
	return unwind_table_for_leaf(fd, NULL, pool, rules, table, why);
}

int unwind_table_gaps(int fd, struct gaps *gaps)
{
	struct unwind_table table = {0};
	struct build b = {.table = &table};
	int err;

	err = elf_image_open_file(&b.image, fd, NULL);
	if (!err)
		err = list_all(&b);
	if (!err)
		err = gaps_find(&b.image, &b.functions, gaps);
	free(b.functions.at);
	free(b.cies);
	free(b.go_code);
	elf_image_close(&b.image);
	return err;
}

int unwind_table_of_memory(const void *image, size_t size, struct unwind_pool *pool,
			   struct unwind_rules *rules, struct unwind_table *table, struct fail *why)
{
	struct build b = {.table = table};
	int err;

	*table = (struct unwind_table){0};
	err = elf_image_open_memory(&b.image, image, size, why);
	if (!err)
		err = build(&b, pool, rules, why);
	elf_image_close(&b.image);
	return err;
}

void unwind_table_drop(struct unwind_table *table, struct unwind_pool *pool)
{
	const struct unwind_page *pages = unwind_pool_at(pool, table->directory);
	uint32_t i;

	for (i = 0; pages && i < table->pages; i++)
		unwind_pool_put(pool, pages[i].rows, pages[i].count);
	if (pages)
		unwind_pool_put(pool, table->directory,
				table->pages * (uint32_t)(sizeof(*pages) / 4));
	*table = (struct unwind_table){0};
}

uint64_t unwind_table_bytes(const struct unwind_table *table)
{
	return table->rows * sizeof(struct unwind_row) +
	       (uint64_t)table->pages * sizeof(struct unwind_page);
}
