// SPDX-License-Identifier: Apache-2.0
#include "attach/refusal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

/* libbpf's callback has no context. */
static _Thread_local struct refusal *reading;

static size_t line_length(const char *line)
{
	return strcspn(line, "\n");
}

static void keep(struct refusal *refusal, const char *line)
{
	snprintf(refusal->words, sizeof(refusal->words), "%.*s", (int)line_length(line), line);
}

/* The name between quotes behind one of these words; null: it is not there. */
static const char *find_name(const char *warning)
{
	static const char *const before[] = {"prog '", "map '"};

	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
		const char *at = strstr(warning, before[i]);

		if (at && at < warning + line_length(warning))
			return at + strlen(before[i]);
	}
	return NULL;
}

/* The last line of a log that says more than what the verifier counts. */
static void read_log(struct refusal *refusal, const char *log)
{
	static const char *const counts[] = {"processed ", "verification time ", "stack depth ",
					     "-- END PROG LOAD LOG"};
	bool is_count;

	for (; *log; log += line_length(log), log += *log == '\n') {
		is_count = !line_length(log);
		for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
			is_count |= !strncmp(log, counts[i], strlen(counts[i]));
		if (is_count)
			continue;
		keep(refusal, log);
		refusal->has_log = true;
	}
}

void refusal_read(struct refusal *refusal, const char *warning)
{
	static const char log_begins[] = "-- BEGIN PROG LOAD LOG --\n";
	const char *name = find_name(warning), *log = strstr(warning, log_begins);
	size_t length = name ? strcspn(name, "'\n") : 0;

	if (!name || name[length] != '\'' || length >= sizeof(refusal->name))
		return;
	if (strncmp(refusal->name, name, length) != 0 || refusal->name[length]) {
		snprintf(refusal->name, sizeof(refusal->name), "%.*s", (int)length, name);
		refusal->has_log = false;
	}
	if (log)
		read_log(refusal, log + sizeof(log_begins) - 1);
	else if (!refusal->has_log)
		keep(refusal, name + length + strspn(name + length, "': "));
}

__attribute__((format(printf, 2, 0))) static int hear(enum libbpf_print_level level,
						      const char *format, va_list arguments)
{
	char *warning;
	int length;

	if (level != LIBBPF_WARN || !reading)
		return 0;
	length = vasprintf(&warning, format, arguments);
	if (length < 0)
		return 0;
	refusal_read(reading, warning);
	free(warning);
	return length;
}

void refusal_begin(struct refusal *refusal)
{
	*refusal = (struct refusal){0};
	reading = refusal;
	libbpf_set_print(hear);
}

void refusal_end(void)
{
	reading = NULL;
	libbpf_set_print(NULL);
}
