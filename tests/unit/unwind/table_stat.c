// SPDX-License-Identifier: Apache-2.0
/*
 * Builds the unwind tables of the given files, all into one pool, and prints what they take: one
 * line of tab-separated numbers per file, and a total. The build time includes reading the file.
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
#include "unwind/table.h"

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static long peak_rss_kb(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

/* As the line of a file, and added to the total. */
static void print_table(const char *name, const struct unwind_table *t, double ms,
			unsigned int new_rules)
{
	printf("%" PRIu32 "\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu64 "\t%u\t%" PRIu32 "\t%" PRIu32
	       "\t%" PRIu32 "\t%.1f\t%s\n",
	       t->fdes, t->pages, t->rows, unwind_table_bytes(t), new_rules, t->unsupported,
	       t->crowded, t->refused, ms, name);
}

static int stat_file(struct plain_memory *m, const char *path, struct unwind_table *total,
		     double *total_ms)
{
	unsigned int rules = unwind_rules_count(m->rules);
	struct unwind_table table;
	struct fail why = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	double ms = now_ms();

	if (fd < 0)
		return -errno;
	err = unwind_table_of_file(fd, m->pool, m->rules, &table, &why);
	ms = now_ms() - ms;
	close(fd);
	if (err == -ENOEXEC)
		return 0;
	if (err) {
		fprintf(stderr, "%s: %s\n", path, why.what);
		return err;
	}
	print_table(path, &table, ms, unwind_rules_count(m->rules) - rules);
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
	printf("fdes\tpages\trows\tbytes\trules\tunsupp.\tcrowded\trefused\tms\tfile\n");
	for (i = 1; i < argc; i++)
		status |= stat_file(&memory, argv[i], &total, &total_ms) != 0;
	print_table("total", &total, total_ms, unwind_rules_count(memory.rules));
	unwind_pool_usage(memory.pool, &chunks, &used);
	printf("chunks %" PRIu64 " bytes, used %" PRIu64 ", peak RSS grew by %ld KiB\n", chunks,
	       used, peak_rss_kb() - rss);
	plain_memory_free(&memory);
	return status;
}
