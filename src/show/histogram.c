// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>

#include "base/text.h"
#include "show/call_notes.h"
#include "show/words.h"

enum {
	BAR_WIDTH = 50
};

/* "[512 ns, 1.024 us)"; the last power of sums holds all that is longer. */
static void print_range(unsigned int power, bool is_coarse, FILE *out)
{
	char from[32], to[32];

	text_duration(from, sizeof(from), power ? 1ull << power : 0);
	if (power >= 63 || (is_coarse && power == FILM_SUM_BUCKETS - 1))
		snprintf(to, sizeof(to), "…");
	else
		text_duration(to, sizeof(to), 1ull << (power + 1));
	fprintf(out, "  [%10s, %*s)", from, to[0] == '\xe2' ? 12 : 10, to);
}

static void print_bars(const struct latency *latency, FILE *out)
{
	unsigned int first = LATENCY_POWERS, last = 0;
	uint64_t most = 0;

	for (unsigned int power = 0; power < LATENCY_POWERS; power++) {
		uint64_t count = latency_power(latency, power);

		if (!count)
			continue;
		first = first < power ? first : power;
		last = power;
		most = count > most ? count : most;
	}
	for (unsigned int power = first; power <= last && most; power++) {
		uint64_t count = latency_power(latency, power);
		int length = (int)((unsigned __int128)count * BAR_WIDTH / most);
		char number[32];

		print_range(power, latency->is_coarse, out);
		text_count(number, sizeof(number), count);
		fprintf(out, " %11s |", number);
		for (int i = 0; i < BAR_WIDTH; i++)
			fputc(i < length ? '@' : ' ', out);
		fputs("|\n", out);
	}
}

static int print_function(const struct function *f, const struct show_options *options, FILE *out)
{
	const struct call_stats *stats = f->calls[TREE_NOW];
	const char *rough = stats->latency.is_coarse ? "~" : "";
	char calls[32], average[32], median[32], p99[32];
	int err;

	fputc('\n', out);
	err = call_heading(f, options, out);
	text_count(calls, sizeof(calls), stats->calls);
	fprintf(out, ": %s call%s", calls, text_plural(stats->calls));
	if (stats->measured) {
		text_duration(average, sizeof(average), call_stats_average(stats));
		text_duration(median, sizeof(median), call_stats_quantile(stats, 500));
		text_duration(p99, sizeof(p99), call_stats_quantile(stats, 990));
		fprintf(out, ", avg %s, p50 %s%s, p99 %s%s", average, rough, median, rough, p99);
	}
	if (stats->measured < stats->calls) {
		text_count(calls, sizeof(calls), stats->calls - stats->measured);
		fprintf(out, "; %s of unknown duration", calls);
	}
	fputc('\n', out);
	print_bars(&stats->latency, out);
	return err;
}

int show_histogram(const struct report *report, const struct show_options *options, FILE *out)
{
	size_t all, count;
	const struct function **rows = call_rows(report, options->order, &all);
	int err = rows ? 0 : -ENOMEM;

	words_heading(&report->view, out);
	count = words_rows(all, options->limit);
	for (size_t i = 0; !err && i < count; i++)
		err = print_function(rows[i], options, out);
	if (all > count)
		fprintf(out, "\n… %zu more functions; --limit 0 shows all\n", all - count);
	if (report->view.samples)
		fputc('\n', out);
	if (report->view.calls->is_summary && report->view.calls->subtracted)
		fputs("bars are as measured, the tracer's own cost in them\n", out);
	call_notes(report, out);
	free(rows);
	return err;
}
