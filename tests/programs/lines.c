// SPDX-License-Identifier: Apache-2.0

/*
 * Prints its variables, as an object of JSON, on lines that stackcam inspect shows: shadowed ones,
 * static ones, those of inlined functions, of blocks and of loops. Also compiled as C++.
 */
#include <stdio.h>
#include <stdlib.h>

#define TRUTH(text, ...) printf("{\"place\": " text "}\n", __VA_ARGS__)

struct item {
	int count;
	const char *text;
};

struct order {
	int id;
	struct item items[3];
	struct order *next;
};

static long calls;
static volatile int least;

static inline int clamp(int value, int most)
{
	int kept = value > most ? most : value;

	if (kept < least)
		TRUTH("\"low\", \"value\": %d, \"most\": %d", value, most);
	return kept;
}

__attribute__((noinline)) long place(struct order *order, int extra)
{
	static int times;
	int amounts[4] = {extra, extra + 1, extra + 2, extra + 3};
	long total = 0;

	times++;
	for (int i = 0; i < 3; i++) {
		int more = order->items[i].count * amounts[i];

		TRUTH("\"loop\", \"i\": %d, \"more\": %d, \"extra\": %d", i, more, extra);
		total += clamp(more, 100);
	}
	if (order->id % 2) {
		int total = order->id + 1000;

		calls += total;
		TRUTH("\"block\", \"total\": %d, \"times\": %d", total, times);
	}
	calls += clamp(extra, 10);
	TRUTH("\"end\", \"total\": %ld, \"extra\": %d, \"times\": %d", total, extra, times);
	return total;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 3;

	least = 5;
	for (int i = 0; i < n; i++) {
		int id = i % 100;
		struct order next = {id + 100, {{7, "x"}, {8, "y"}, {9, "z"}}, NULL};
		struct order order = {id, {{id, "a"}, {2 * id, "b"}, {3 * id, "c"}}, &next};

		if (place(&order, id * 10) < 0)
			return 1;
	}
	return calls < 0;
}
