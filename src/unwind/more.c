// SPDX-License-Identifier: Apache-2.0
#include "unwind/more.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"
#include "unwind/pages.h"

#define PAGE_BYTES (1u << UNWIND_PAGE_SHIFT)

static const struct unwind_rule none = {.cfa = UNWIND_CFA_NONE};

/* A table that is changed, and what it is made of. */
struct change {
	struct unwind_pool *pool;
	struct unwind_rules *rules;
	const struct unwind_rule *rule_memory;
	uint64_t from, to;	       /* rows of what was left out between them are made, */
	const struct guesses *guesses; /* as these say; null: it gets no rule */
};

/* Where a page that was packed is filled anew. */
struct rewritten {
	const struct change *change;
	struct pages pages;
	uint64_t start; /* of the page */
	bool any;	/* something was left out */
};

/* From start up to end, in the block, something was left out: what is guessed there, or no rule. */
static int add_guesses(struct rewritten *r, uint64_t start, uint64_t end)
{
	const struct guesses *guesses = r->change->guesses;
	size_t i = guesses ? search_first(guesses->count, j, guesses->at[j].address <= start) : 0;
	int err;

	err = pages_add(&r->pages, start, i ? &guesses->at[i - 1].rule : &none);
	for (; !err && guesses && i < guesses->count && guesses->at[i].address < end; i++)
		err = pages_add(&r->pages, guesses->at[i].address, &guesses->at[i].rule);
	return err;
}

static uint64_t within(const struct change *c, uint64_t address)
{
	if (address < c->from)
		return c->from;
	return address < c->to ? address : c->to;
}

/* From start up to end something was left out. Outside of the block it still is. */
static int add_left_out(struct rewritten *r, uint64_t start, uint64_t end,
			const struct unwind_rule *rule)
{
	const uint64_t from = within(r->change, start), to = within(r->change, end);
	int err = 0;

	if (from >= to)
		return pages_add(&r->pages, start, rule);
	r->any = true;
	if (start < from)
		err = pages_add(&r->pages, start, rule);
	if (!err)
		err = add_guesses(r, from, to);
	if (!err && to < end)
		err = pages_add(&r->pages, to, rule);
	return err;
}

/* The rule holds from pc up to next, both within the page. */
static int add_again(struct rewritten *r, uint32_t pc, uint32_t next, struct unwind_rule rule)
{
	rule.until = 0;
	if (rule.cfa == UNWIND_CFA_LATER)
		return add_left_out(r, r->start + pc, r->start + next, &rule);
	return pages_add(&r->pages, r->start + pc, &rule);
}

/* A row is a run of rules. */
static int add_row(struct rewritten *r, const struct unwind_row *row, uint32_t next)
{
	const struct unwind_rule *rule = &r->change->rule_memory[row->rule];
	uint32_t pc = row->pc, end;
	int err = 0;

	do {
		end = rule->until ? row->pc + (uint32_t)rule->until : next;
		err = add_again(r, pc, end < next ? end : next, *rule);
		pc = end;
	} while (!err && rule++->until && pc < next);
	return err;
}

/*
 * What a page becomes. *to is where its rows are then; from's are still there. 0, or -ENODATA:
 * nothing was left out there.
 */
static int change_page(const struct change *c, uint64_t number, const struct unwind_page *from,
		       struct unwind_page *to)
{
	struct rewritten r = {.change = c, .start = number << UNWIND_PAGE_SHIFT};
	const struct unwind_row *rows = unwind_pool_at(c->pool, from->rows);
	int err = 0;

	pages_begin(&r.pages, r.start, c->pool, c->rules);
	for (uint32_t i = 0; rows && !err && i < from->count; i++)
		err = add_row(&r, &rows[i], i + 1 < from->count ? rows[i + 1].pc : PAGE_BYTES);
	if (!err)
		err = r.any ? pages_end_one(&r.pages, to) : -ENODATA;
	if (err)
		pages_drop(&r.pages);
	return err;
}

/* The table gets a directory with count pages, of which those that differ from the old are new. */
static int put_directory(struct unwind_pool *pool, struct unwind_table *table,
			 const struct unwind_page *pages)
{
	const uint32_t words = table->pages * (uint32_t)(sizeof(*pages) / 4);
	const struct unwind_page *old = unwind_pool_at(pool, table->directory);
	uint32_t reference = unwind_pool_get(pool, words);

	if (!reference)
		return -ENOSPC;
	memcpy(unwind_pool_at(pool, reference), pages, words * 4ul);
	for (uint32_t i = 0; i < table->pages; i++) {
		if (old[i].rows == pages[i].rows)
			continue;
		table->rows += pages[i].count - old[i].count;
		unwind_pool_put(pool, old[i].rows, old[i].count);
	}
	unwind_pool_put(pool, table->directory, words);
	table->directory = reference;
	return 0;
}

/* Changes one page, or all of them; those where nothing was left out stay as they are. */
static int change_table(const struct change *c, struct unwind_table *table, uint32_t first,
			uint32_t count)
{
	const struct unwind_page *old = unwind_pool_at(c->pool, table->directory);
	struct unwind_page *pages = malloc(table->pages * sizeof(*pages));
	int err = pages ? 0 : -ENOMEM;
	bool any = false;

	if (pages)
		memcpy(pages, old, table->pages * sizeof(*pages));
	for (uint32_t i = first; !err && i < first + count; i++) {
		err = change_page(c, table->first_page + (uint64_t)i, &old[i], &pages[i]);
		any |= !err;
		err = err == -ENODATA ? 0 : err;
	}
	if (!err)
		err = any ? put_directory(c->pool, table, pages) : -ENOENT;
	for (uint32_t i = first; pages && err && i < first + count; i++)
		if (pages[i].rows != old[i].rows)
			unwind_pool_put(c->pool, pages[i].rows, pages[i].count);
	free(pages);
	return err;
}

static int find_gaps(struct more *more, uint64_t number, int fd)
{
	int err;

	if (more->of == number + 1)
		return 0;
	more_free(more);
	err = unwind_table_gaps(fd, &more->gaps);
	if (err)
		more_free(more);
	else
		more->of = number + 1;
	return err;
}

static int read_block(const struct more *more, int fd, uint64_t start, struct guesses *guesses)
{
	struct elf_image image;
	int err = elf_image_open_bare(&image, fd, NULL, 0, NULL);

	if (!err)
		err = synthesize_part(&image, more->gaps.at, more->gaps.count,
				      (struct code_gap){start, MORE_BLOCK_BYTES}, guesses);
	elf_image_close(&image);
	return err;
}

int more_read(struct more *more, uint64_t number, int fd, uint64_t address,
	      struct unwind_pool *pool, struct unwind_rules *rules,
	      const struct unwind_rule *rule_memory, struct unwind_table *table)
{
	struct change change = {.pool = pool, .rules = rules, .rule_memory = rule_memory};
	const uint64_t page = (address >> UNWIND_PAGE_SHIFT) - table->first_page;
	struct guesses guesses = {0};
	int err;

	if (page >= table->pages || table->more > MORE_BLOCKS_MAX)
		return -ENOENT;
	if (table->more == MORE_BLOCKS_MAX || unwind_table_bytes(table) > unwind_pool_share(pool)) {
		table->more = MORE_BLOCKS_MAX + 1;
		/* stacks that lead to the rest need not be handed over any more */
		change.to = UINT64_MAX;
		err = change_table(&change, table, 0, table->pages);
		return err ? err : -ENOENT;
	}
	table->more++;
	change.from = address & ~(MORE_BLOCK_BYTES - 1ull);
	change.to = change.from + MORE_BLOCK_BYTES;
	change.guesses = &guesses;
	err = find_gaps(more, number, fd);
	if (!err)
		err = read_block(more, fd, change.from, &guesses);
	if (!err)
		err = change_table(&change, table, (uint32_t)page, 1);
	free(guesses.at);
	return err;
}

void more_forget(struct more *more, uint64_t number)
{
	if (more->of == number + 1)
		more_free(more);
}

void more_free(struct more *more)
{
	free(more->gaps.at);
	*more = (struct more){0};
}
