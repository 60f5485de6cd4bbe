// SPDX-License-Identifier: Apache-2.0
#include "show/latency_bars.h"

#include "base/text.h"
#include "film/film.h"

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

void latency_bars(const struct latency *latency, FILE *out)
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
