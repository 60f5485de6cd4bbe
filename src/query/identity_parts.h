/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_IDENTITY_PARTS_H
#define QUERY_IDENTITY_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "film/film.h"

/* A piece of a string that lives elsewhere; length 0: there is none. */
struct part {
	const char *at;
	size_t length;
};

/* What a path of a control group says of who runs in it. */
struct group_parts {
	struct part pod;       /* the UID of a Kubernetes pod, with '-' or '_' in it */
	struct part container; /* its id, or its name where it has one */
	struct part
		/*
		 * the innermost unit of systemd that is a service, "nginx.service", or a scope of
		 * one
		 */
		unit;
};
struct group_parts identity_group(const char *cgroup);

/*
 * The name that a unit has as a service: "nginx" of "nginx.service", "firefox" of
 * "app-gnome-firefox-1234.scope", its escapes taken back. False: it says nothing: a login session,
 * a command that systemd-run gave a number.
 */
bool identity_unit_name(struct part unit, char *to, size_t size);

/*
 * The name of the program, or of the script, class or module that it interprets. At least one
 * character.
 */
void identity_program(const struct film_process *process, char *to, size_t size);

/*
 * Copies a part; cut, and ended by "…", if it does not fit. Never within a character of valid
 * UTF-8.
 */
void identity_put(struct part part, char *to, size_t size);

static inline bool part_is(struct part part, const char *text)
{
	size_t i = 0;

	while (i < part.length && text[i] && part.at[i] == text[i])
		i++;
	return i == part.length && !text[i];
}

#endif
