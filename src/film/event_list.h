/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_EVENT_LIST_H
#define FILM_EVENT_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/fail.h"
#include "film/events.h"

/* Events to record, without duplicates, in the order of the user's request. */
struct event_list {
	const struct event_type *at[EVENT_IDS];
	size_t count;
	/* a default: event_list_parse_more() replaces the events instead of adding to them */
	bool yields;
};

/*
 * Parses "on-cpu,off-cpu" and replaces *list. Returns 0, or -EINVAL with *why filled: there is no
 * such event, or no source records it.
 */
int event_list_parse(const char *text, struct event_list *list, struct fail *why);
/* The same, but adds to *list: for an option that may be repeated. */
int event_list_parse_more(const char *text, struct event_list *list, struct fail *why);

/* Adds an event unless the list has it. */
void event_list_add(struct event_list *list, enum event_id id);

/* A list of the default event alone. */
struct event_list event_list_usual(void);

/* The events of a continuous recording: those that cost next to nothing. */
struct event_list event_list_always(void);

/* Whether both have the same events, in any order. */
bool event_list_is_same(const struct event_list *a, const struct event_list *b);

bool event_list_has(const struct event_list *list, enum event_id id);

/* The events that are in a and in b; b may be null. */
struct event_list event_list_common(const struct event_list *a, const struct event_list *b);

/*
 * Prints the lines of --help for the events that -e accepts, indented by that many columns, and
 * marks the defaults.
 */
void event_list_help(FILE *out, int indent, const struct event_list *by_default);

/* Formats the names that -e accepts: "on-cpu, off-cpu". */
void event_list_choices(char *to, size_t size);

#endif
