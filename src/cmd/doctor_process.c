// SPDX-License-Identifier: Apache-2.0
#include "cmd/doctor_process.h"

#include <stdio.h>

#include "base/fail.h"
#include "base/json.h"
#include "base/text.h"
#include "sources/memory/ways.h"

static void print_text(pid_t pid, const struct mem_ways *ways)
{
	fputs("process ", stdout);
	text_print_safe(stdout, ways->comm);
	printf(" (%d); its allocator: ", (int)pid);
	text_print_safe(stdout, *ways->allocator
					? ways->allocator
					: "none that is known by the names of its functions");
	puts("\n");
	for (size_t i = 0; i < ways->count; i++) {
		const struct mem_way *way = &ways->at[i];

		printf("%-3s  -e %-24s ", way->works ? "yes" : "no", way->event);
		text_print_safe(stdout, way->words);
		if (way->works)
			printf("; cost: %s", way->cost);
		putchar('\n');
	}
}

static void print_json(pid_t pid, const struct mem_ways *ways)
{
	struct json j = {stdout};

	json_open(&j, NULL, '{');
	json_u64(&j, "pid", (uint64_t)pid);
	json_text(&j, "comm", ways->comm);
	json_text(&j, "allocator", ways->allocator);
	json_open(&j, "ways", '[');
	for (size_t i = 0; i < ways->count; i++) {
		const struct mem_way *way = &ways->at[i];

		json_open(&j, NULL, '{');
		json_text(&j, "event", way->event);
		json_bool(&j, "works", way->works);
		json_text(&j, "words", way->words);
		json_text(&j, "cost", way->cost);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	putchar('\n');
}

int doctor_process(pid_t pid, bool as_json)
{
	struct mem_ways ways;
	struct fail why = {0};

	if (mem_ways_find(pid, &ways, &why)) {
		fail_print(&why);
		return fail_exit_status(&why);
	}
	if (as_json)
		print_json(pid, &ways);
	else
		print_text(pid, &ways);
	return 0;
}
