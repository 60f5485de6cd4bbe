// SPDX-License-Identifier: Apache-2.0
#include "query/roles.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "film/names.h"

/*
 * What comparing names with patterns may cost, in bytes of the one times bytes of the other. A film
 * may have been made to cost hours: what is not literal matches nothing from then on.
 */
#define COST_MAX (1ull << 30)

struct lines {
	struct film_role_line all[FILM_ROLE_LINES_MAX];
	/* bytes of the pattern for the name that stand for themselves */
	size_t literal[FILM_ROLE_LINES_MAX];
	size_t count;
	uint64_t cost;
};

static size_t literal_of(const char *glob)
{
	return strcspn(glob, "*?[\\");
}

/* Adds the lines of a text whose roles are in the set; returns the roles that it has. */
static uint32_t parse_all(const char *text, uint32_t roles, struct lines *lines)
{
	uint32_t has = 0;

	for (size_t length; *text && lines->count < FILM_ROLE_LINES_MAX;
	     text += length + (text[length] != 0)) {
		struct film_role_line *line = &lines->all[lines->count];

		length = strcspn(text, "\n");
		if (!film_role_parse(text, length, line) || !(roles >> line->role & 1))
			continue;
		has |= 1u << line->role;
		lines->literal[lines->count++] = literal_of(line->glob);
	}
	return has;
}

/* Whether a pattern matches; most names differ in what is literal, and a film has many. */
static bool matches(struct lines *lines, const char *glob, size_t literal, const char *text)
{
	const char *rest = glob + literal;

	if (strncmp(glob, text, literal) != 0)
		return false;
	text += literal;
	if (!*rest || !strcmp(rest, "*"))
		return *rest || !*text;
	lines->cost += strlen(rest) * strlen(text);
	return lines->cost < COST_MAX && !fnmatch(rest, text, 0);
}

static uint32_t roles_of(struct lines *lines, unsigned int kind, const char *name, const char *file)
{
	const bool is_frame = kind != FILM_ROLES_OF_THREAD && kind < FILM_ROLES_OF_ANY;
	uint32_t roles = 0;

	for (size_t i = 0; i < lines->count; i++) {
		const struct film_role_line *line = &lines->all[i];

		if ((line->kind == kind || (line->kind == FILM_ROLES_OF_ANY && is_frame)) &&
		    matches(lines, line->glob, lines->literal[i], name) &&
		    (!*line->file || matches(lines, line->file, literal_of(line->file), file)))
			roles |= 1u << line->role;
	}
	return roles;
}

static void find(const struct film *film, struct lines *lines, uint32_t *frames)
{
	for (uint32_t i = 1; i < film->frame_count; i++)
		frames[i] = roles_of(lines, film->frames[i].kind,
				     film->functions[film->frames[i].function].name,
				     film->frames[i].file);
	for (size_t i = 0; i < film->inline_count; i++) {
		const struct film_inline *outer = &film->inlines[i];

		frames[outer->frame] |=
			roles_of(lines, film->frames[outer->frame].kind,
				 film->functions[outer->function].name, outer->file);
	}
}

/* The lines of a film, to be freed; null: no memory. */
static struct lines *lines_of(const struct film *film, uint32_t roles)
{
	struct lines *lines = calloc(1, sizeof(*lines));
	const char *text = film->info.roles ? film->info.roles : "";

	if (lines)
		parse_all(film_roles_before, roles & ~parse_all(text, roles, lines), lines);
	return lines;
}

/* Makes room for count rows. 0, or -ENOMEM: both are null. */
static int begin(const struct film *film, uint32_t roles, size_t count, struct lines **lines,
		 uint32_t **rows)
{
	*lines = lines_of(film, roles);
	*rows = calloc(count + 1, sizeof(**rows));
	if (*lines && *rows)
		return 0;
	free(*lines);
	free(*rows);
	*lines = NULL;
	*rows = NULL;
	return -ENOMEM;
}

int roles_of_frames(const struct film *film, uint32_t roles, uint32_t **frames)
{
	struct lines *lines;

	if (begin(film, roles, film->frame_count, &lines, frames))
		return -ENOMEM;
	if (lines->count)
		find(film, lines, *frames);
	free(lines);
	return 0;
}

int roles_of_functions(const struct film *film, uint32_t roles, uint32_t **functions)
{
	struct lines *lines;

	if (begin(film, roles, film->function_count, &lines, functions))
		return -ENOMEM;
	for (uint32_t i = 1; i < film->function_count; i++)
		(*functions)[i] =
			roles_of(lines, film->functions[i].kind, film->functions[i].name, "");
	free(lines);
	return 0;
}

int roles_of_images(const struct film *film, uint32_t roles, uint32_t **images)
{
	struct lines *lines;

	if (begin(film, roles, film->image_count, &lines, images))
		return -ENOMEM;
	for (uint32_t i = 1; i < film->image_count; i++) {
		const struct film_image *image = &film->images[i];

		(*images)[i] = image->kind == FILM_IMAGE_SCRIPT
				       ? roles_of(lines, FILM_ROLES_OF_SCRIPT, image->path, "")
				       : roles_of(lines, FILM_ROLES_OF_FILE,
						  name_of_image(image->path), "");
	}
	free(lines);
	return 0;
}

int roles_of_threads(const struct film *film, uint32_t roles, uint32_t **threads)
{
	struct lines *lines;

	if (begin(film, roles, film->thread_count, &lines, threads))
		return -ENOMEM;
	for (uint32_t i = 1; i < film->thread_count; i++)
		(*threads)[i] = roles_of(lines, FILM_ROLES_OF_THREAD, film->threads[i].comm, "");
	free(lines);
	return 0;
}

int roles_init(struct roles *roles, const struct film *film)
{
	uint32_t *frames = NULL;

	*roles = (struct roles){.of_stack =
					calloc(film->stack_count + 1ull, sizeof(*roles->of_stack))};
	if (!roles->of_stack || roles_of_frames(film, ROLES_ALL, &frames) ||
	    roles_of_threads(film, ROLES_ALL, &roles->of_thread)) {
		free(frames);
		return -ENOMEM;
	}
	/* a parent comes before its children */
	for (uint32_t i = 1; i < film->stack_count; i++)
		roles->of_stack[i] =
			roles->of_stack[film->stacks[i].parent] | frames[film->stacks[i].frame];
	free(frames);
	return 0;
}

void roles_free(struct roles *roles)
{
	free(roles->of_stack);
	free(roles->of_thread);
	*roles = (struct roles){0};
}
