// SPDX-License-Identifier: Apache-2.0
#include "film/event_list.h"

#include <errno.h>
#include <string.h>

#include "base/nearest.h"

static const struct event_type *row(size_t id)
{
	return event_type((enum event_id)id);
}

static enum event_id id_of(const struct event_type *type)
{
	return (enum event_id)(type - row(0));
}

/* Null: there is none of that name, or no source records it. */
static const struct event_type *find_recordable(const char *name)
{
	for (size_t i = 0; i < EVENT_IDS; i++)
		if (row(i)->is_recordable && !strcmp(row(i)->name, name))
			return row(i);
	return NULL;
}

void event_list_choices(char *to, size_t size)
{
	size_t used = 0;

	*to = 0;
	for (size_t i = 0; i < EVENT_IDS && used < size; i++)
		if (row(i)->is_recordable)
			used += (size_t)snprintf(to + used, size - used, "%s%s", used ? ", " : "",
						 row(i)->name);
}

bool event_list_has(const struct event_list *list, enum event_id id)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->at[i] == event_type(id))
			return true;
	return false;
}

struct event_list event_list_common(const struct event_list *a, const struct event_list *b)
{
	struct event_list both = {0};

	for (size_t i = 0; b && i < a->count; i++)
		if (event_list_has(b, id_of(a->at[i])))
			both.at[both.count++] = a->at[i];
	return both;
}

struct event_list event_list_usual(void)
{
	return (struct event_list){.at = {event_usual()}, .count = 1};
}

bool event_list_is_same(const struct event_list *a, const struct event_list *b)
{
	for (size_t i = 0; i < a->count; i++)
		if (!event_list_has(b, id_of(a->at[i])))
			return false;
	return a->count == b->count;
}

struct event_list event_list_always(void)
{
	struct event_list list = event_list_usual();

	event_list_add(&list, EVENT_MEM_GROW);
	return list;
}

void event_list_help(FILE *out, int indent, const struct event_list *by_default)
{
	int width = 0;

	for (size_t i = 0; i < EVENT_IDS; i++)
		if (row(i)->is_recordable && (int)strlen(row(i)->name) > width)
			width = (int)strlen(row(i)->name);
	for (size_t i = 0; i < EVENT_IDS; i++)
		if (row(i)->is_recordable)
			fprintf(out, "%*s%-*s  %s%s\n", indent, "", width, row(i)->name,
				row(i)->about,
				event_list_has(by_default, (enum event_id)i) ? " (default)" : "");
}

static int refuse(const char *name, struct fail *why)
{
	struct nearest nearest = {.given = name};
	char choices[512];

	event_list_choices(choices, sizeof(choices));
	for (size_t i = 0; i < EVENT_IDS; i++)
		if (row(i)->is_recordable && strcmp(row(i)->name, name))
			nearest_offer(&nearest, row(i)->name);
	if (nearest.name)
		return fail(why, -EINVAL, NULL,
			    "there is no event '%s'; did you mean '%s'; there is: %s", name,
			    nearest.name, choices);
	return fail(why, -EINVAL, NULL, "there is no event '%s'; there is: %s", name, choices);
}

void event_list_add(struct event_list *list, enum event_id id)
{
	if (!event_list_has(list, id))
		list->at[list->count++] = event_type(id);
}

int event_list_parse(const char *text, struct event_list *list, struct fail *why)
{
	*list = (struct event_list){0};
	return event_list_parse_more(text, list, why);
}

int event_list_parse_more(const char *text, struct event_list *list, struct fail *why)
{
	char name[64];

	if (list->yields)
		*list = (struct event_list){0};
	for (;;) {
		size_t length = strcspn(text, ",");
		const struct event_type *type;

		snprintf(name, sizeof(name), "%.*s",
			 (int)(length < sizeof(name) ? length : sizeof(name)), text);
		type = find_recordable(name);
		if (!type)
			return refuse(name, why);
		event_list_add(list, id_of(type));
		if (!text[length])
			return 0;
		text += length + 1;
	}
}
