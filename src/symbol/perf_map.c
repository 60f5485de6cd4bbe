// SPDX-License-Identifier: Apache-2.0
#include "symbol/perf_map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

/* A JVM with 100,000 methods writes some 10 MB: see PERF_MAP_AHEAD. */
#define LINE_LIMIT (8u << 10) /* of a longer line, only its begin is looked at */
#define BUFFER	   (64u << 10)

/* Where the name begins in a line; null: it is none. */
static char *parse_line(char *line, uint64_t *start, uint64_t *size)
{
	char *end;

	errno = 0;
	*start = strtoull(line, &end, 16);
	if (end == line || *end != ' ' || errno)
		return NULL;
	line = end + 1;
	*size = strtoull(line, &end, 16);
	if (end == line || *end != ' ' || errno || !end[1])
		return NULL;
	return end + 1;
}

static void add_line(struct perf_map *map, char *line, uint64_t offset)
{
	struct code_entry entry = {.record = offset, .loaded = map->read_at};

	if (!parse_line(line, &entry.start, &entry.size))
		return;
	entry.origin = entry.start;
	code_table_add(&map->code, &entry);
}

/* Adds the lines that end in a buffer that was read from offset. Returns the bytes of them. */
static size_t add_lines(struct perf_map *map, char *buffer, size_t held, uint64_t offset)
{
	size_t begin = 0;
	char *newline;

	while ((newline = memchr(buffer + begin, '\n', held - begin))) {
		*newline = 0;
		if (newline - (buffer + begin) > LINE_LIMIT)
			buffer[begin + LINE_LIMIT] = 0;
		if (!map->dropping)
			add_line(map, buffer + begin, offset + begin);
		map->dropping = false;
		begin = (size_t)(newline - buffer) + 1;
	}
	return begin;
}

static int read_lines(struct perf_map *map, int fd, bool last)
{
	uint64_t end = map->read_to + (last ? PERF_MAP_AHEAD : PERF_MAP_READ);
	char *buffer = malloc(BUFFER + 1);
	size_t held = 0, taken;
	ssize_t n;
	int err = 0;

	if (!buffer)
		return -ENOMEM;
	while (map->read_to + held < end) {
		n = file_read_some(fd, map->read_to + held, buffer + held, BUFFER - held);
		if (n < 0)
			err = (int)n;
		if (n <= 0)
			break;
		held += (size_t)n;
		taken = add_lines(map, buffer, held, map->read_to);
		if (!taken && held > LINE_LIMIT) {
			buffer[LINE_LIMIT] = 0;
			if (!map->dropping)
				add_line(map, buffer, map->read_to);
			map->dropping = true;
			taken = held;
		}
		map->read_to += taken;
		held -= taken;
		memmove(buffer, buffer + taken, held);
	}
	if (!err && last && held && !map->dropping) {
		buffer[held] = 0;
		add_line(map, buffer, map->read_to);
	}
	free(buffer);
	return err;
}

/* The bytes in front of where reading goes on: they are others when the file was written anew. */
static size_t read_before(const struct perf_map *map, int fd, uint8_t bytes[64])
{
	size_t count = map->read_to < 64 ? (size_t)map->read_to : 64;

	return file_read_at(fd, map->read_to - count, bytes, count) ? count : SIZE_MAX;
}

static bool is_the_same(const struct perf_map *map, int fd)
{
	uint8_t bytes[64];
	size_t count = read_before(map, fd, bytes);

	return count != SIZE_MAX && !memcmp(bytes, map->before, count);
}

int perf_map_read(struct perf_map *map, int fd, uint64_t now, bool last)
{
	struct stat st;
	int err = file_stat(fd, &st);

	if (err)
		return err;
	if (!is_the_same(map, fd)) {
		perf_map_free(map);
		*map = (struct perf_map){.passed = map->passed};
	}
	if ((uint64_t)st.st_size > map->read_to + PERF_MAP_AHEAD) {
		uint64_t from = (uint64_t)st.st_size - PERF_MAP_AHEAD;

		map->passed += from - map->read_to;
		map->read_to = from;
		map->dropping = true;
	}
	err = read_lines(map, fd, last);
	map->read_at = now;
	if (read_before(map, fd, map->before) == SIZE_MAX)
		memset(map->before, 0, sizeof(map->before));
	return err;
}

bool perf_map_name(int fd, const struct code_entry *entry, struct code_name *name)
{
	char line[sizeof(name->function) + 64], *newline, *begin;
	uint64_t start, size;
	ssize_t n = file_read_some(fd, entry->record, line, sizeof(line) - 1);

	if (n <= 0)
		return false;
	line[n] = 0;
	newline = memchr(line, '\n', (size_t)n);
	if (newline)
		*newline = 0;
	begin = parse_line(line, &start, &size);
	if (!begin || start != entry->start || size != entry->size)
		return false;
	snprintf(name->function, sizeof(name->function), "%s", begin);
	name->file[0] = 0;
	name->line = 0;
	return true;
}

void perf_map_free(struct perf_map *map)
{
	code_table_free(&map->code);
}
