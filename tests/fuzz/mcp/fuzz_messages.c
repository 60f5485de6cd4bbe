// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes from a client of MCP: each answer is one line of JSON without control characters, and
 * as short as it must be; a host is asked only for what arguments may be.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/input.h"
#include "mcp/lines.h"
#include "mcp/mcp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int list(void *context, FILE *out, struct fail *why)
{
	(void)context, (void)why;
	/* of which much becomes longer, and which is too long */
	for (int i = 0; i < 2000; i++)
		fputs("<\"\\\xff\n", out);
	return 0;
}

static int open_film(void *context, const char *name, struct film **film, struct fail *why)
{
	(void)context, (void)film;
	if (name && strlen(name) > 512)
		abort();
	return fail(why, -ENOENT, NULL, "there is no film '%s'", name ? name : "");
}

static int record(void *context, const struct mcp_recording *recording, FILE *out, struct fail *why)
{
	(void)context, (void)why;
	if (!recording->seconds || recording->seconds > MCP_SECONDS_MAX ||
	    recording->pid > UINT32_MAX || strlen(recording->events) > 256)
		abort();
	fputs("film\n", out);
	return 0;
}

static int doctor(void *context, FILE *out, struct fail *why)
{
	(void)context, (void)out;
	return fail(why, -EPERM, "do this", "cannot");
}

static void check(const char *line, size_t size)
{
	json_t *value;

	if (!size)
		return;
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)line[i] < 0x20 && (line[i] != '\n' || i + 1 < size))
			abort();
	value = json_loadb(line, size, 0, NULL);
	if (!value)
		abort();
	if (json_object_get(json_object_get(value, "result"), "content") && size > MCP_ANSWER_MAX)
		abort();
	json_decref(value);
}

static int take(void *context, const char *line, size_t size)
{
	static const struct mcp_host host = {
		.list = list, .open = open_film, .record = record, .doctor = doctor};
	char *answer = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&answer, &length);

	(void)context;
	if (!out)
		return -ENOMEM;
	if (line)
		mcp_answer(&host, line, size, out);
	else
		mcp_refuse_length(out);
	fclose(out);
	check(answer, length);
	free(answer);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	struct mcp_lines lines = {0};

	/* a line may come in parts */
	mcp_lines_add(&lines, bytes, size / 2, take, NULL);
	mcp_lines_add(&lines, bytes + size / 2, size - size / 2, take, NULL);
	mcp_lines_add(&lines, "\n", 1, take, NULL);
	mcp_lines_free(&lines);
	return 0;
}
