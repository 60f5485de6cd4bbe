// SPDX-License-Identifier: Apache-2.0
/* Texts that others write: lines of logs, in pieces of any size, and the files of /proc. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "sources/logs/lines.h"
#include "sources/logs/text.h"
#include "sources/machine/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take_line(void *context, const struct logs_line *line)
{
	uint64_t *bytes = context;

	check(line->bytes && line->bytes <= FILM_LOG_MAX && line->bytes <= line->size);
	check(line->level <= 8 && line->kind && line->kind < FILM_LOG_KINDS);
	*bytes += line->bytes;
}

/* Pieces of as many bytes as the first bytes say, of several threads. */
static void try_lines(const uint8_t *data, size_t size)
{
	uint64_t bytes = 0;
	const struct logs_lines_to to = {take_line, &bytes};
	struct logs_lines *lines = logs_lines_new(&to);
	uint64_t written = 0, time = 0;

	while (size > 4) {
		size_t part = data[0] | (data[1] & 3u) << 8;
		uint32_t missing = data[2] & 7;
		struct logs_record *record;

		data += 4;
		size -= 4;
		part = part < size ? part : size;
		record = calloc(1, sizeof(*record) + part + 1);
		record->head.time = ++time;
		record->identity.tid = data[-1] & 3;
		record->kind = (uint8_t)((data[-1] >> 2) % (FILM_LOG_KINDS - 1) + 1);
		record->is_whole = record->kind >= LOGS_JOURNAL;
		record->is_last = data[-1] >> 7;
		record->copied = (uint32_t)part;
		record->length = (uint32_t)part + missing;
		memcpy(record + 1, data, part);
		logs_lines_add(lines, record);
		free(record);
		written += part;
		data += part;
		size -= part;
	}
	logs_lines_flush(lines, UINT64_MAX);
	check(bytes <= written);
	logs_lines_free(lines);
}

static void try_texts(const uint8_t *data, size_t size)
{
	/* of their own size, so that a read beyond them is seen */
	char *copy = malloc(size ? size : 1);
	struct logs_text text;

	memcpy(copy, data, size);
	text = logs_text_journal(copy, size);
	check(text.level <= 8 && text.at >= copy && text.at + text.size <= copy + size);
	text = logs_text_syslog(copy, size);
	check(text.level <= 8 && text.at >= copy && text.at + text.size == copy + size);
	logs_text_is_data(copy, size);
	free(copy);
}

static void take_value(void *context, const struct machine_value *value)
{
	(void)context;
	check(value->kind > FILM_GAUGE_NOTE && value->kind < FILM_GAUGE_KINDS);
	check(value->object && strlen(value->object) < 65536);
}

static bool is_disk(void *context, const char *name)
{
	(void)context;
	return name[0] != 'x';
}

static void try_file(unsigned int file, char *text)
{
	const struct machine_to to = {take_value, NULL};

	switch (file) {
	case 0:
		machine_parse_stat(text, 10, &to);
		break;
	case 1:
		machine_parse_diskstats(text, is_disk, &to);
		break;
	case 2:
		machine_parse_interfaces(text, &to);
		break;
	case 3:
		machine_parse_snmp(text, &to);
		break;
	case 4:
		machine_parse_meminfo(text, &to);
		break;
	case 5:
		machine_parse_vmstat(text, 4096, &to);
		break;
	default:
		machine_parse_pressure(text, FILM_GAUGE_PRESSURE_DISK, FILM_GAUGE_PRESSURE_DISK_ALL,
				       &to);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (!size)
		return 0;
	if (data[0] % 9 == 7) {
		try_lines(data + 1, size - 1);
		return 0;
	}
	if (data[0] % 9 == 8) {
		try_texts(data + 1, size - 1);
		return 0;
	}
	text = strndup((const char *)data + 1, size - 1);
	try_file(data[0] % 9, text);
	free(text);
	return 0;
}
