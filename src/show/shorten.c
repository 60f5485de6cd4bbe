// SPDX-License-Identifier: Apache-2.0
#include "show/words.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"

#define DOTS "…"

enum {
	/* names cut to fewer columns than these have no middle worth cutting */
	MIDDLE_COLUMNS_MIN = 12,
	/* what a name keeps however long the name of its source file is */
	NAME_COLUMNS_MIN = 16
};

/* Skips that many code points, or to the end. */
static const char *skip_columns(const char *s, size_t columns)
{
	while (*s && columns--)
		do {
			s++;
		} while (((unsigned char)*s & 0xc0) == 0x80);
	return s;
}

/*
 * The list of parameters that ends a C++ name, from its '(' to behind its ')'; null: there is
 * none, or nothing in it. "(anonymous namespace)" is none.
 */
static const char *find_parameters(const char *name, const char **end)
{
	static const char anonymous[] = "(anonymous namespace)";
	const char *open = strrchr(name, ')');
	size_t depth = 1;

	if (!open || strpbrk(open, "<>:("))
		return NULL;
	*end = open + 1;
	while (depth && open > name) {
		open--;
		depth += *open == ')';
		depth -= *open == '(';
	}
	if (depth || open == name || open + 2 == *end ||
	    !strncmp(open, anonymous, sizeof(anonymous) - 1))
		return NULL;
	return open;
}

/* "f(int) const" to "f(…) const"; a copy where there are no parameters. Null: no memory. */
static char *drop_parameters(const char *name)
{
	const char *end = NULL, *open = find_parameters(name, &end);
	struct buf b = {0};

	if (!open)
		return strdup(name);
	buf_put(&b, name, (size_t)(open - name));
	buf_put_text(&b, "(" DOTS ")");
	buf_put_text(&b, end);
	return buf_steal_text(&b);
}

/*
 * How long "operator<<" and the like are at s, whose signs are no brackets; 0: s is none of
 * these.
 */
static size_t operator_length(const char *name, const char *s)
{
	static const char word[] = "operator";
	size_t length = sizeof(word) - 1;

	if (strncmp(s, word, length) ||
	    (s > name && (isalnum((unsigned char)s[-1]) || s[-1] == '_')))
		return 0;
	return length + strspn(s + length, "<>=-");
}

/*
 * Whether '<' at s opens arguments of a template: in Rust, one without a name before it is a
 * type.
 */
static bool opens_arguments(const char *name, const char *s)
{
	return *s == '<' && s > name && (isalnum((unsigned char)s[-1]) || strchr("_:", s[-1]));
}

/*
 * "vector<int>::at" to "vector<…>::at", so far as brackets close; a copy where they do not, as
 * in names that hold the signs of expressions. Null: no memory.
 */
static char *drop_template_arguments(const char *name)
{
	struct buf b = {0};
	size_t depth = 0;

	for (const char *s = name; *s; s++) {
		size_t length = operator_length(name, s);

		if (length) {
			if (!depth)
				buf_put(&b, s, length);
			s += length - 1;
		} else if (depth) {
			depth += *s == '<';
			depth -= *s == '>' && s[-1] != '-';
			if (!depth)
				buf_put_text(&b, DOTS ">");
		} else {
			buf_put_u8(&b, (uint8_t)*s);
			depth = opens_arguments(name, s);
		}
	}
	if (!depth)
		return buf_steal_text(&b);
	buf_free(&b);
	return strdup(name);
}

/*
 * The end of a name tells more than its beginning, and gets two thirds; a part in the middle
 * goes, from "::" to "::" where these are near.
 */
static char *cut_middle(const char *name, size_t columns)
{
	size_t width = words_width(name), last = columns * 2 / 3;
	const char *tail = skip_columns(name, width - last);
	const char *near = skip_columns(tail, last / 2), *found = strstr(tail, "::");
	const char *head, *start;
	struct buf b = {0};

	if (found && found < near)
		tail = found;
	head = skip_columns(name, columns - 1 - words_width(tail));
	start = skip_columns(name, (columns - 1 - words_width(tail)) / 2);
	for (const char *s = head; s - 2 >= start; s--)
		if (s[-1] == ':' && s[-2] == ':') {
			head = s;
			break;
		}
	buf_put(&b, name, (size_t)(head - name));
	buf_put_text(&b, DOTS);
	buf_put_text(&b, tail);
	return buf_steal_text(&b);
}

static char *cut_end(const char *name, size_t columns)
{
	struct buf b = {0};

	buf_put(&b, name, (size_t)(skip_columns(name, columns ? columns - 1 : 0) - name));
	buf_put_text(&b, DOTS);
	return buf_steal_text(&b);
}

char *words_shorten(const char *name, size_t columns)
{
	char *(*const ways[])(const char *name) = {drop_parameters, drop_template_arguments};
	char *shorter = strdup(name), *next;

	for (size_t i = 0; shorter && words_width(shorter) > columns; i++) {
		if (i < 2)
			next = ways[i](shorter);
		else if (columns >= MIDDLE_COLUMNS_MIN)
			next = cut_middle(shorter, columns);
		else
			next = cut_end(shorter, columns);
		free(shorter);
		shorter = next;
		if (i == 2)
			break;
	}
	return shorter;
}

/* The end of a path, where the whole path has no room. */
static const char *last_part(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash && slash[1] ? slash + 1 : file;
}

char *words_function(const char *name, const char *file, uint32_t line, const char *mark,
		     size_t columns)
{
	char *whole = text_place(name, file, line, ""), *safe = NULL, *place = NULL;
	char *fitting = NULL, *shown = NULL;
	size_t others;

	if (!whole)
		return NULL;
	if (!columns || words_width(whole) + strlen(mark) <= columns) {
		if (asprintf(&shown, "%s%s", whole, mark) < 0)
			shown = NULL;
		free(whole);
		return shown;
	}
	free(whole);
	safe = text_safe(name, "");
	place = text_place("", last_part(file), line, "");
	if (safe && place) {
		others = words_width(place) + strlen(mark);
		fitting =
			words_shorten(safe, columns > others + NAME_COLUMNS_MIN ? columns - others
										: NAME_COLUMNS_MIN);
	}
	if (fitting && asprintf(&shown, "%s%s%s", fitting, place, mark) < 0)
		shown = NULL;
	free(fitting);
	free(place);
	free(safe);
	return shown;
}
