// SPDX-License-Identifier: Apache-2.0
/*
 * Builds the unwind tables of the given files, all into one pool, and prints what they take: one
 * line of tab-separated numbers per file, and a total. The times are of the CPU, those of builds
 * with reading the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "plain_memory.h"
#include "table_lookup.h"
#include "unwind/more.h"

/* Blocks of code without unwind information that are read of each file, spread over it. */
#define BLOCKS 64

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static long peak_rss_kb(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

/* Code that is read once stacks lead there. */
struct blocks {
	unsigned int count;
	double ms;
};

/* As the line of a file, and added to the total. */
static void print_table(const char *name, const struct unwind_table *t, double ms,
			unsigned int new_rules, struct blocks blocks)
{
	printf("%" PRIu32 "\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu64 "\t%u\t%" PRIu32 "\t%" PRIu32
	       "\t%" PRIu32 "\t%.1f\t%u\t%.2f\t%s\n",
	       t->fdes, t->pages, t->rows, unwind_table_bytes(t), new_rules, t->unsupported,
	       t->crowded, t->refused, ms, blocks.count,
	       blocks.count ? blocks.ms / blocks.count : 0, name);
}

/* Reads blocks that the table has left out, as if stacks led there. */
static struct blocks read_blocks(struct plain_memory *m, int fd, struct unwind_table *table)
{
	const uint64_t start = (uint64_t)table->first_page << UNWIND_PAGE_SHIFT;
	const uint64_t step = ((uint64_t)table->pages << UNWIND_PAGE_SHIFT) / BLOCKS;
	struct blocks blocks = {0};
	struct more more = {0};

	for (uint64_t i = 0; i < BLOCKS; i++) {
		uint64_t at = start + i * step;
		double ms;

		if (table_lookup(m->pool, m->rules_memory, table, at).cfa != UNWIND_CFA_LATER)
			continue;
		ms = now_ms();
		if (!more_read(&more, 0, fd, at, m->pool, m->rules, m->rules_memory, table)) {
			blocks.ms += now_ms() - ms;
			blocks.count++;
		}
		unwind_pool_settle(m->pool);
	}
	more_free(&more);
	return blocks;
}

static int stat_file(struct plain_memory *m, const char *path, struct unwind_table *total,
		     double *total_ms)
{
	unsigned int rules = unwind_rules_count(m->rules);
	struct unwind_table table, before;
	struct blocks blocks;
	struct fail why = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	double ms = now_ms();

	if (fd < 0)
		return -errno;
	err = unwind_table_of_file(fd, m->pool, m->rules, &table, &why);
	ms = now_ms() - ms;
	if (err) {
		close(fd);
		if (err == -ENOEXEC)
			return 0;
		fprintf(stderr, "%s: %s\n", path, why.what);
		return err;
	}
	rules = unwind_rules_count(m->rules) - rules;
	before = table;
	blocks = read_blocks(m, fd, &table);
	close(fd);
	print_table(path, &before, ms, rules, blocks);
	total->fdes += table.fdes;
	total->pages += table.pages;
	total->rows += table.rows;
	total->unsupported += table.unsupported;
	total->crowded += table.crowded;
	total->refused += table.refused;
	*total_ms += ms;
	return 0;
}

int main(int argc, char **argv)
{
	struct unwind_table total = {0};
	struct plain_memory memory;
	uint64_t chunks, used;
	double total_ms = 0;
	int status = 0, i;
	long rss = 0;

	if (argc < 2) {
		fprintf(stderr, "usage: table_stat FILE…\n");
		return 2;
	}
	if (plain_memory_new(&memory, 1ull << 30))
		return 1;
	rss = peak_rss_kb();
	printf("fdes\tpages\trows\tbytes\trules\tunsupp.\tcrowded\trefused\tms\tblocks\tblock_"
	       "ms\tfile\n");
	for (i = 1; i < argc; i++)
		status |= stat_file(&memory, argv[i], &total, &total_ms) != 0;
	print_table("total", &total, total_ms, unwind_rules_count(memory.rules),
		    (struct blocks){0});
	unwind_pool_usage(memory.pool, &chunks, &used);
	printf("chunks %" PRIu64 " bytes, used %" PRIu64 ", peak RSS grew by %ld KiB\n", chunks,
	       used, peak_rss_kb() - rss);
	plain_memory_free(&memory);
	return status;
}
