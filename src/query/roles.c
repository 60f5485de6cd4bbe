// SPDX-License-Identifier: Apache-2.0
#include "query/roles.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* Lines that a film's table may have, and bytes of a name's pattern: each name is compared. */
enum {
	LINES_MAX = 512,
	GLOB_MAX = 128
};

struct line {
	enum film_role role;
	unsigned long kind;
	char glob[GLOB_MAX];
};

struct lines {
	struct line all[LINES_MAX];
	size_t count;
};

/* "ROLE KIND GLOB"; false: it is of a later version. */
static bool parse(const char *text, size_t length, struct line *line)
{
	const char *kind = memchr(text, ' ', length), *end = text + length;
	char *glob;

	if (!kind)
		return false;
	line->role = film_role_named(text, (size_t)(kind - text));
	line->kind = strtoul(kind + 1, &glob, 10);
	if (line->role == FILM_ROLES || glob >= end || *glob != ' ' || end - glob > GLOB_MAX)
		return false;
	memcpy(line->glob, glob + 1, (size_t)(end - glob - 1));
	line->glob[end - glob - 1] = 0;
	return true;
}

static void parse_all(const char *text, struct lines *lines)
{
	for (size_t length; *text && lines->count < LINES_MAX;
	     text += length + (text[length] != 0)) {
		length = strcspn(text, "\n");
		if (parse(text, length, &lines->all[lines->count]))
			lines->count++;
	}
}

static uint32_t roles_of(const struct lines *lines, unsigned long kind, const char *name)
{
	uint32_t roles = 0;

	for (size_t i = 0; i < lines->count; i++) {
		const struct line *line = &lines->all[i];

		/* most names differ there already, and a film has many */
		if (line->kind == kind && *line->glob == *name && !fnmatch(line->glob, name, 0))
			roles |= 1u << line->role;
	}
	return roles;
}

/* By frame, those of the functions that were inlined there included. */
static void find(const struct film *film, const struct lines *lines, uint32_t *frames)
{
	for (uint32_t i = 1; i < film->frame_count; i++)
		frames[i] = roles_of(lines, film->frames[i].kind,
				     film->functions[film->frames[i].function].name);
	for (size_t i = 0; i < film->inline_count; i++) {
		const struct film_inline *outer = &film->inlines[i];

		frames[outer->frame] |= roles_of(lines, film->frames[outer->frame].kind,
						 film->functions[outer->function].name);
	}
}

int roles_init(struct roles *roles, const struct film *film)
{
	struct lines *lines = calloc(1, sizeof(*lines));
	uint32_t *frames = calloc(film->frame_count + 1ull, sizeof(*frames));

	*roles = (struct roles){calloc(film->stack_count + 1ull, sizeof(*roles->of_stack)),
				calloc(film->thread_count + 1ull, sizeof(*roles->of_thread))};
	if (!lines || !frames || !roles->of_stack || !roles->of_thread) {
		free(lines);
		free(frames);
		return -ENOMEM;
	}
	parse_all(film->info.roles ? film->info.roles : "", lines);
	if (lines->count)
		find(film, lines, frames);
	/* a parent comes before its children */
	for (uint32_t i = 1; lines->count && i < film->stack_count; i++)
		roles->of_stack[i] =
			roles->of_stack[film->stacks[i].parent] | frames[film->stacks[i].frame];
	for (uint32_t i = 1; lines->count && i < film->thread_count; i++)
		roles->of_thread[i] = roles_of(lines, FILM_ROLES_OF_THREAD, film->threads[i].comm);
	free(lines);
	free(frames);
	return 0;
}

void roles_free(struct roles *roles)
{
	free(roles->of_stack);
	free(roles->of_thread);
	*roles = (struct roles){0};
}
