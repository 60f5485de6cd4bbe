// SPDX-License-Identifier: Apache-2.0
/*
 * A perf map, read at once and in two parts, as it grows. Both know the same, and for each
 * name, some line of the map must say so.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/perf_map.h"

#define ADDRESSES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
	if (!holds)
		abort();
}

static void ask(const struct perf_map *map, int fd, const uint8_t *data, size_t size)
{
	static struct code_name name;
	struct code_question questions[ADDRESSES];

	for (size_t i = 0; i < ADDRESSES; i++)
		questions[i] = (struct code_question){
			.address = i < ADDRESSES / 2 ? i * 0x10 : 0x1000 + i * 4,
			.time = i % 3,
		};
	check(!code_table_answer(&map->code, questions, ADDRESSES));
	for (size_t i = 0; i < ADDRESSES; i++) {
		const struct code_question *q = &questions[i];

		if (!q->answer.size)
			continue;
		check(q->address - q->answer.start < q->answer.size);
		if (perf_map_name(fd, &q->answer, &name))
			check(name.function[0] && !strchr(name.function, '\n') &&
			      memmem(data, size, name.function, strlen(name.function)));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t part = size ? data[0] * size / 256 : 0;
	struct perf_map whole = {0}, grown = {0};
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	check(fd >= 0 && write(fd, data, part) == (ssize_t)part);
	check(!perf_map_read(&grown, fd, 1, false));
	check(write(fd, data + part, size - part) == (ssize_t)(size - part));
	check(!perf_map_read(&grown, fd, 2, true));
	check(!perf_map_read(&whole, fd, 1, true));
	check(whole.code.entries.count == grown.code.entries.count);
	for (size_t i = 0; i < whole.code.entries.count; i++)
		check(whole.code.entries.at[i].record == grown.code.entries.at[i].record);
	ask(&whole, fd, data, size);
	ask(&grown, fd, data, size);
	perf_map_free(&whole);
	perf_map_free(&grown);
	close(fd);
	return 0;
}
