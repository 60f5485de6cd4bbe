// SPDX-License-Identifier: Apache-2.0
#include "show/call_columns.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum {
	TID_WIDTH = 6,
	PID_WIDTH = 8,
	COMM_WIDTH = 16,
	TIME_WIDTH = 17,
	CPU_WIDTH = 5,
	DURATION_WIDTH = 13,
	ON_CPU_WIDTH = 11
};

/* Units of a duration, with the color in which each is shown: the longer, the louder. */
static const struct unit {
	uint64_t ns;
	const char *name, *color;
} units[] = {
	{1000ull, "us", ""},
	{1000000ull, "ms", "\033[32m"},
	{1000000000ull, " s", "\033[33m"},
	{60 * 1000000000ull, " m", "\033[31m"},
	{3600 * 1000000000ull, " h", "\033[1;31m"},
	{86400 * 1000000000ull, " d", "\033[1;31m"},
	{365 * 86400 * 1000000000ull, " y", "\033[1;31m"},
};

/* The first unit of which there are fewer than a thousand. */
static const struct unit *unit_of(uint64_t ns)
{
	size_t i = 0;

	while (i + 1 < sizeof(units) / sizeof(units[0]) && ns / units[i].ns >= 1000)
		i++;
	return &units[i];
}

void call_lines_time(char *to, size_t size, uint64_t ns)
{
	const struct unit *unit = unit_of(ns);
	/* cut, not rounded: 999.9999 ms are not a second yet */
	unsigned __int128 thousandths = (unsigned __int128)(ns % unit->ns) * 1000 / unit->ns;

	snprintf(to, size, "%" PRIu64 ".%03u %s", ns / unit->ns, (unsigned int)thousandths,
		 unit->name);
}

static void put_blanks(struct buf *to, size_t count)
{
	static const char blanks[] = "                                ";

	for (; count >= sizeof(blanks); count -= sizeof(blanks) - 1)
		buf_put(to, blanks, sizeof(blanks) - 1);
	buf_put(to, blanks, count);
}

static void put_right(const char *text, size_t width, struct buf *to)
{
	size_t length = strlen(text);

	if (length < width)
		put_blanks(to, width - length);
	buf_put(to, text, length);
}

void call_columns_color(const struct call_columns *columns, const char *color, struct buf *to)
{
	if (columns->options.color)
		buf_put_text(to, color);
}

void call_columns_time(const struct call_columns *columns, uint64_t ns, const char *mark,
		       size_t width, struct buf *to)
{
	const char *color = unit_of(ns)->color;
	char text[24];
	size_t length;

	call_lines_time(text, sizeof(text), ns);
	length = strlen(mark) + strlen(text);
	if (length < width)
		put_blanks(to, width - length);
	call_columns_color(columns, color, to);
	buf_put_text(to, mark);
	buf_put_text(to, text);
	if (*color)
		call_columns_color(columns, CALL_COLOR_PLAIN, to);
}

void call_columns_duration(const struct call_columns *columns, const struct call_cells *cells,
			   size_t width, struct buf *to)
{
	bool is_less = cells->duration < cells->error;

	call_columns_time(columns, is_less ? cells->error : cells->duration,
			  is_less	    ? "<"
			  : cells->inferred ? "~"
					    : "",
			  width, to);
}

void call_columns_safe(const char *text, struct buf *to)
{
	size_t length = 0, size;
	char *safe = NULL;
	FILE *out;

	while (text[length] >= ' ' && text[length] <= '~')
		length++;
	buf_put(to, text, length);
	if (!text[length])
		return;
	/* rare enough to take the long way */
	out = open_memstream(&safe, &size);
	if (out) {
		text_print_safe(out, text + length);
		if (!fclose(out))
			buf_put(to, safe, size);
		else
			to->failed = true;
		free(safe);
	} else {
		to->failed = true;
	}
}

void call_columns_heading(const struct call_columns *columns, struct buf *to)
{
	const struct call_lines_options *o = &columns->options;

	if (o->timestamps)
		put_right("TIMESTAMP", TIME_WIDTH, to);
	if (o->cpu)
		put_right("CPU", CPU_WIDTH, to);
	if (o->process) {
		put_right("PID", PID_WIDTH, to);
		buf_put_text(to, " PROCESS");
		put_blanks(to, COMM_WIDTH - strlen("PROCESS"));
	}
	if (!o->no_tid)
		put_right("TID", columns->tid_width, to);
	if (!o->no_duration && !o->flat)
		put_right("DURATION", DURATION_WIDTH, to);
	if (!o->no_on_cpu && !o->flat)
		put_right("ON-CPU", ON_CPU_WIDTH, to);
	buf_put_text(to, to->count ? " | FUNCTION CALLS\n" : "FUNCTION CALLS\n");
}

static void put_number(uint64_t number, size_t width, struct buf *to)
{
	char text[24], *at = text + sizeof(text);

	*--at = 0;
	do
		*--at = (char)('0' + number % 10);
	while (number /= 10);
	put_right(at, width, to);
}

/* A time before the start is that of a call which ended before the trace began: nothing to show. */
static void put_timestamp(const struct call_columns *columns, const struct call_cells *cells,
			  struct buf *to)
{
	char text[48];

	text[0] = 0;
	if (cells->has_time) {
		bool before = cells->time < columns->options.start;
		uint64_t since = before ? columns->options.start - cells->time
					: cells->time - columns->options.start;

		snprintf(text, sizeof(text), "%s%" PRIu64 ".%03u us", before ? "-" : "",
			 since / 1000, (unsigned int)(since % 1000));
	}
	put_right(text, TIME_WIDTH, to);
}

/* The name of a process, cut or padded: by bytes, since it has 15 of them as a rule. */
static void put_comm(const char *comm, struct buf *to)
{
	size_t before;

	buf_put_u8(to, ' ');
	before = to->count;
	call_columns_safe(comm, to);
	if (to->count - before < COMM_WIDTH)
		put_blanks(to, COMM_WIDTH - (to->count - before));
}

static void put_tid(struct call_columns *columns, const struct call_cells *cells, struct buf *to)
{
	char text[32];
	size_t length;

	if (!cells->lane) {
		if (cells->tid > 999999 && columns->tid_width < 8)
			columns->tid_width = 8;
		put_number(cells->tid, columns->tid_width, to);
		return;
	}
	length = (size_t)snprintf(text, sizeof(text), "%" PRIu32 "/%" PRIu32, cells->tid,
				  cells->lane);
	if (length > columns->tid_width)
		columns->tid_width = (unsigned int)length;
	put_right(text, columns->tid_width, to);
}

bool call_columns_waited(const struct call_cells *cells)
{
	return cells->waited > cells->duration / 100;
}

static void put_times(const struct call_columns *columns, const struct call_cells *cells,
		      struct buf *to)
{
	const struct call_lines_options *o = &columns->options;

	if (!o->no_duration) {
		if (cells->has_duration)
			call_columns_duration(columns, cells, DURATION_WIDTH, to);
		else
			put_blanks(to, DURATION_WIDTH);
	}
	if (!o->no_on_cpu) {
		uint64_t on_cpu =
			cells->waited < cells->duration ? cells->duration - cells->waited : 0;

		if (cells->has_duration && call_columns_waited(cells))
			call_columns_time(columns, on_cpu, "", ON_CPU_WIDTH, to);
		else
			put_blanks(to, ON_CPU_WIDTH);
	}
}

void call_columns_line(struct call_columns *columns, const struct call_cells *cells, struct buf *to)
{
	const struct call_lines_options *o = &columns->options;
	size_t before = to->count;

	if (o->timestamps)
		put_timestamp(columns, cells, to);
	if (o->cpu && cells->has_time)
		put_number(cells->cpu, CPU_WIDTH, to);
	else if (o->cpu)
		put_blanks(to, CPU_WIDTH);
	if (o->process) {
		put_number(cells->pid, PID_WIDTH, to);
		put_comm(cells->comm ? cells->comm : "", to);
	}
	if (!o->no_tid)
		put_tid(columns, cells, to);
	if (!o->flat)
		put_times(columns, cells, to);
	if (to->count > before)
		buf_put_text(to, " | ");
}
