// SPDX-License-Identifier: Apache-2.0
#include "show/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "show/summary.h"
#include "show/words.h"

enum {
	ROWS_USUAL = 10,    /* of each section, where the height of the terminal is not known */
	PROCESSES_MOST = 5, /* shown above the sections */
	LINES_AROUND = 2,   /* of a section, and of the processes: an empty line and a title */
};

static bool is_shown(const struct top_screen *screen, const struct summary_finding *f)
{
	return !screen->event || f->event == screen->event;
}

/* A section has the findings of one kind and one event, which stand beside each other. */
static bool begins_section(const struct summary_finding *before, const struct summary_finding *f)
{
	return !before || before->kind != f->kind || before->event != f->event;
}

/* How many findings of each section fit; one in any case. */
static unsigned int rows_of_section(const struct summary *s, const struct top_screen *screen)
{
	const struct summary_finding *before = NULL;
	unsigned int sections = 0, rows = screen->rows, head = *screen->choice ? 2 : 1;

	if (!screen->rows)
		return ROWS_USUAL;
	rows -= head < rows ? head : rows;
	if (!screen->event && rows > PROCESSES_MOST + LINES_AROUND)
		rows -= PROCESSES_MOST + LINES_AROUND;
	vec_foreach (&s->findings, f) {
		if (!is_shown(screen, f))
			continue;
		sections += begins_section(before, f);
		before = f;
	}
	return sections && rows / sections > LINES_AROUND ? rows / sections - LINES_AROUND : 1;
}

/* "on-cpu: hottest functions, of 3.981 s" */
static void put_title(const struct summary *s, const struct summary_finding *f, FILE *out)
{
	const struct film_event *event = &s->film->events[f->event];
	char name[64], words[32];

	text_make_safe(name, sizeof(name), event->name);
	fprintf(out, "\n%s: %s", name, summary_words(f->kind)->title);
	if (f->whole) {
		words_value(words, sizeof(words), event->unit, f->whole);
		fprintf(out, ", of %s", words);
	}
	fputc('\n', out);
}

static void put_findings(const struct summary *s, const struct top_screen *screen, FILE *out)
{
	const struct summary_finding *before = NULL;
	unsigned int rows = rows_of_section(s, screen), row = 0;

	vec_foreach (&s->findings, f) {
		if (!is_shown(screen, f))
			continue;
		if (begins_section(before, f)) {
			put_title(s, f, out);
			row = 0;
		}
		before = f;
		if (row++ < rows)
			show_summary_row(s, f, out);
	}
	if (!before)
		fputs("\nNothing was recorded in these seconds.\n", out);
}

static void put_page(const struct summary *s, const struct top_screen *screen, FILE *out)
{
	fprintf(out, "%s\n", screen->head);
	if (*screen->choice)
		fprintf(out, "%s\n", screen->choice);
	if (screen->help) {
		fputs(screen->help, out);
		return;
	}
	if (!s) {
		fputs("\nThe first seconds are being recorded.\n", out);
		return;
	}
	if (!screen->event)
		show_summary_processes(s, PROCESSES_MOST, out);
	put_findings(s, screen, out);
}

/* How many bytes of a line fit: a character of UTF-8 takes one column. */
static size_t fitting(const char *line, size_t length, unsigned int columns)
{
	size_t width = 0, i;

	for (i = 0; i < length && columns; i++)
		if ((line[i] & 0xc0) != 0x80 && ++width > columns)
			return i;
	return length;
}

int show_top(const struct summary *summary, const struct top_screen *screen, FILE *out)
{
	char *page = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&page, &size);
	unsigned int row = 0;

	if (!to)
		return -ENOMEM;
	put_page(summary, screen, to);
	if (fclose(to)) {
		free(page);
		return -ENOMEM;
	}
	for (char *line = page, *end; (end = strchr(line, '\n')); line = end + 1) {
		if (screen->rows && ++row > screen->rows)
			break;
		fwrite(line, 1, fitting(line, (size_t)(end - line), screen->columns), out);
		/* what the screen had there goes; the last row is not to move the others up */
		if (screen->rows)
			fputs(row < screen->rows ? "\033[K\n" : "\033[K", out);
		else
			fputc('\n', out);
	}
	free(page);
	return 0;
}
