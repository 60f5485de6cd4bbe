// SPDX-License-Identifier: Apache-2.0
#include "symbol/code_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"

/* Real files hold each address in a few entries; one that needs more was made to waste time. */
#define WORK_LIMIT (16u << 20)

void code_table_add(struct code_table *table, const struct code_entry *entry)
{
	if (!entry->size || entry->size > UINT64_MAX - entry->start)
		return;
	if (table->entries.count >= CODE_TABLE_MAX)
		code_table_forget(table);
	if (!vec_push(&table->entries, *entry))
		table->refused++;
}

void code_table_forget(struct code_table *table)
{
	size_t half = table->entries.count / 2, kept = table->entries.count - half;
	void *smaller;

	if (!half)
		return;
	memmove(table->entries.at, table->entries.at + half, kept * sizeof(*table->entries.at));
	table->entries.count = kept;
	table->refused += half;
	/* the memory goes back: this is done where there are many tables */
	smaller = realloc(table->entries.at, kept * sizeof(*table->entries.at));
	if (smaller) {
		table->entries.at = smaller;
		table->entries.room = kept;
	}
}

static int compare_addresses(const void *a, const void *b)
{
	const struct code_question *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* The place of the first question whose address is not below address. */
static size_t find(const struct code_question *questions, size_t count, uint64_t address)
{
	return search_first(count, i, questions[i].address < address);
}

/* Whether an entry answers better than what was found so far, which the file has before it. */
static bool is_better(const struct code_table *table, const struct code_question *q,
		      const struct code_entry *entry)
{
	bool late = entry->loaded > q->time;

	if (late && table->exact)
		return false;
	if (!q->answer.size)
		return true;
	/* of what was seen too late, the first is the nearest */
	if (q->answer.loaded > q->time)
		return !late || entry->loaded < q->answer.loaded;
	return !late && entry->loaded >= q->answer.loaded;
}

int code_table_answer(const struct code_table *table, struct code_question *questions, size_t count)
{
	uint64_t work = WORK_LIMIT;

	if (!count)
		return 0;
	qsort(questions, count, sizeof(*questions), compare_addresses);
	for (size_t i = 0; i < count; i++)
		questions[i].answer.size = 0;
	for (size_t e = 0; e < table->entries.count; e++) {
		const struct code_entry *entry = &table->entries.at[e];
		size_t i = find(questions, count, entry->start);

		for (; i < count && questions[i].address - entry->start < entry->size; i++) {
			if (!work--)
				return -E2BIG;
			if (is_better(table, &questions[i], entry))
				questions[i].answer = *entry;
		}
	}
	return 0;
}

void code_table_free(struct code_table *table)
{
	vec_free(&table->entries);
}
