// SPDX-License-Identifier: Apache-2.0
#include "film/roles.h"

#include <stdio.h>
#include <string.h>

/* Patterns of more stars take fnmatch(3) too long: it tries each place of each star. */
#define STARS_MAX 4

static const char *const names[FILM_ROLE_RUNS] = {
	[FILM_ROLE_RECLAIM] = "reclaim",
	[FILM_ROLE_RECLAIM_GROUP] = "reclaim-group",
	[FILM_ROLE_SWAP_OUT] = "swap-out",
	[FILM_ROLE_SWAP_IN] = "swap-in",
	[FILM_ROLE_FUSE] = "fuse",
	[FILM_ROLE_ROW_LOCK] = "row-lock",
	[FILM_ROLE_TABLE_LOCK] = "table-lock",
	[FILM_ROLE_CLIENT_READ] = "client-read",
	[FILM_ROLE_CLIENT_WRITE] = "client-write",
	[FILM_ROLE_SLEEP] = "sleep",
	[FILM_ROLE_SAFEPOINT] = "safepoint",
	[FILM_ROLE_FAULT] = "page-fault",
	[FILM_ROLE_DISK] = "disk",
	[FILM_ROLE_TIMED_WAIT] = "timed-wait",
	[FILM_ROLE_AWAITS] = "awaits",
	[FILM_ROLE_GETS_WORK] = "takes-work",
	[FILM_ROLE_WORK_LOOP] = "work-loop",
	[FILM_ROLE_BARE_WORK_LOOP] = "bare-work-loop",
	[FILM_ROLE_FOR_WORK] = "for-work",
	[FILM_ROLE_LIBRARY] = "library",
	[FILM_ROLE_PROGRAM] = "program",
	[FILM_ROLE_RECORDER] = "recorder",
};

/* What stands in the place of a number. */
static const struct {
	const char *text;
	unsigned int kind;
} places[] = {
	{"*", FILM_ROLES_OF_ANY},
	{"file", FILM_ROLES_OF_FILE},
	{"script", FILM_ROLES_OF_SCRIPT},
};

const char *film_role_name(enum film_role role)
{
	return role < FILM_ROLE_RUNS ? names[role] : film_task_kind_role(role - FILM_ROLE_RUNS);
}

enum film_role film_role_named(const char *name, size_t length)
{
	unsigned int i;

	for (i = 0; i < FILM_ROLES; i++) {
		const char *known = film_role_name((enum film_role)i);

		if (strlen(known) == length && !memcmp(known, name, length))
			break;
	}
	return (enum film_role)i;
}

void film_role_put(struct buf *text, const struct film_role_row *row)
{
	const char *place = NULL;
	char number[16];

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (places[i].kind == row->kind)
			place = places[i].text;
	snprintf(number, sizeof(number), "%u", row->kind);
	buf_printf(text, "%s %s %s%s%s\n", film_role_name(row->role), place ? place : number,
		   row->glob, row->file ? "\t" : "", row->file ? row->file : "");
}

/* Copies a pattern. False: there is no room for it, or it has too many stars. */
static bool copy_glob(const char *text, size_t length, char to[FILM_ROLE_GLOB_MAX])
{
	size_t stars = 0;

	if (length >= FILM_ROLE_GLOB_MAX)
		return false;
	for (size_t i = 0; i < length; i++)
		stars += text[i] == '*';
	memcpy(to, text, length);
	to[length] = 0;
	return stars <= STARS_MAX;
}

/* Reads the kind at text. Returns what is behind it; null: there is no kind. */
static const char *parse_kind(const char *text, const char *end, unsigned int *kind)
{
	const char *at = text;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		size_t length = strlen(places[i].text);

		if ((size_t)(end - text) > length && !memcmp(text, places[i].text, length)) {
			*kind = places[i].kind;
			return text + length;
		}
	}
	for (*kind = 0; at < end && *at >= '0' && *at <= '9' && at - text < 4; at++)
		*kind = 10 * *kind + (unsigned int)(*at - '0');
	return at > text ? at : NULL;
}

bool film_role_parse(const char *text, size_t length, struct film_role_line *line)
{
	const char *end = text + length, *kind = memchr(text, ' ', length), *glob, *tab;

	if (!kind)
		return false;
	line->role = film_role_named(text, (size_t)(kind - text));
	glob = parse_kind(kind + 1, end, &line->kind);
	if (line->role == FILM_ROLES || !glob || glob >= end || *glob != ' ')
		return false;
	glob++;
	tab = memchr(glob, '\t', (size_t)(end - glob));
	*line->file = 0;
	if (tab && !copy_glob(tab + 1, (size_t)(end - tab - 1), line->file))
		return false;
	return copy_glob(glob, (size_t)((tab ? tab : end) - glob), line->glob);
}
