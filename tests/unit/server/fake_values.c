// SPDX-License-Identifier: Apache-2.0
/* The part of the store without films that answers about values of calls: hostile ones. */
#include "fake_store.h"
#include "store/values.h"

int store_values(struct store *store, const struct store_ask *ask, struct store_sum *sum,
		 int (*emit)(void *context, const struct store_valued *one), void *context,
		 struct fail *why)
{
	struct film_process processes[] = {{.comm = ""}, {.pid = 10, .comm = fake_hostile}};
	struct film_thread threads[] = {{.comm = ""},
					{.process = 1, .tid = 11, .comm = fake_hostile}};
	struct film_function functions[] = {{.name = ""}, {.name = fake_hostile}};
	struct film_frame frames[] = {{.file = ""}, {.function = 1, .file = ""}};
	const struct film film = {
		.processes = processes,
		.threads = threads,
		.functions = functions,
		.frames = frames,
	};
	struct shown nodes[] = {
		{.kind = SHOWN_TEXT, .name = fake_hostile, .text = "<b>", .size = 3, .length = 3},
		{.kind = SHOWN_SIGNED, .name = "n", .number = 7},
	};
	const struct valued_call call = {
		.end = 1732199520000005000ull,
		.duration = 5000,
		.thread = 1,
		.frame = 1,
		.arguments = {.nodes = {nodes, 2, 2}},
	};
	const struct store_valued one = {&film, "host1", &call};

	(void)store;
	(void)why;
	*sum = (struct store_sum){.samples = 1, .unit = "ns"};
	sum->from = ask->from ? ask->from : 1732199520000000000ull;
	sum->to = sum->from + 10000;
	return emit(context, &one);
}
