// SPDX-License-Identifier: Apache-2.0
/*
 * What the processes of a service say of themselves beside its name (OpenTelemetry's process
 * context): their versions and environments. Only processes count of which there are samples.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "film/labels.h"
#include "query/groups.h"

/* Of more, the text ends with "…". */
#define VALUES_MAX 8

/* The values of a label that were seen, in the order of the film's processes: "1.4.2, 1.4.3". */
struct values {
	struct buf text;
	unsigned int count;
};

struct service {
	const char *name;
	struct values versions, environments;
};

struct services {
	struct service *at;
	size_t count, room;
};

static int by_name(const void *x, const void *y)
{
	const struct service *a = x, *b = y;

	return strcmp(a->name, b->name);
}

static struct service *find(const struct services *services, const char *name)
{
	struct service wanted = {.name = name};

	return services->count
		       ? bsearch(&wanted, services->at, services->count, sizeof(wanted), by_name)
		       : NULL;
}

/* Each name of the groups once, sorted. */
static int list(const struct groups *groups, struct services *services)
{
	size_t kept = 0;

	vec_foreach (groups, group)
		if (group->processes &&
		    !vec_push(services, (struct service){.name = group->processes}))
			return -ENOMEM;
	if (services->count)
		qsort(services->at, services->count, sizeof(*services->at), by_name);
	for (size_t i = 0; i < services->count; i++)
		if (!kept || strcmp(services->at[i].name, services->at[kept - 1].name))
			services->at[kept++] = services->at[i];
	services->count = kept;
	return 0;
}

/* Values have no commas (film/labels.h), so that a whole value stands between two. */
static bool has(const struct values *values, const char *value)
{
	const char *at = (const char *)values->text.at;
	const size_t length = strlen(value);
	size_t left = values->text.count;

	while (left) {
		const char *end = memchr(at, ',', left);
		size_t size = end ? (size_t)(end - at) : left;

		if (size == length && !memcmp(at, value, length))
			return true;
		/* the comma and a blank */
		size = end ? size + 2 : size;
		at += size;
		left -= size;
	}
	return false;
}

static void add(struct values *values, const char *value)
{
	if (!*value || values->count > VALUES_MAX || has(values, value))
		return;
	if (values->count++)
		buf_put_text(&values->text, ", ");
	buf_put_text(&values->text, values->count > VALUES_MAX ? "…" : value);
}

static void add_process(struct services *services, const struct shape *shape,
			const struct film_process *process)
{
	char name[SHAPE_SERVICE_SIZE], value[FILM_LABEL_VALUE_MAX + 1];
	struct service *service;

	if (!process->resource || !*process->resource)
		return;
	service = find(services, shape_process_group(shape, process, name));
	if (!service)
		return;
	film_labels_value(process->resource, "service.version", value);
	add(&service->versions, value);
	film_labels_value(process->resource, "deployment.environment.name", value);
	/* as it was called before OpenTelemetry's conventions 1.27 */
	if (!*value)
		film_labels_value(process->resource, "deployment.environment", value);
	add(&service->environments, value);
}

static void add_processes(struct services *services, const struct shape *shape,
			  const struct view *view)
{
	const struct film *film = view->film;
	uint32_t before = UINT32_MAX;

	vec_foreach (&view->weights, weight) {
		uint32_t process = view->group == VIEW_THREAD ? film->threads[weight->group].process
							      : weight->group;

		if (process != before)
			add_process(services, shape, &film->processes[process]);
		before = process;
	}
}

/* *to: a copy, null where there is none. */
static int copy(const struct values *values, char **to)
{
	if (values->text.failed)
		return -ENOMEM;
	if (!values->text.count)
		return 0;
	*to = strndup((const char *)values->text.at, values->text.count);
	return *to ? 0 : -ENOMEM;
}

int groups_add_services(struct groups *groups, const struct tree *tree, const struct view *view)
{
	struct services services = {0};
	int err;

	if (!tree->shape.by_service)
		return 0;
	err = list(groups, &services);
	if (!err)
		add_processes(&services, &tree->shape, view);
	vec_foreach (groups, group) {
		const struct service *service =
			!err && group->processes ? find(&services, group->processes) : NULL;

		if (service)
			err = copy(&service->versions, &group->versions);
		if (service && !err)
			err = copy(&service->environments, &group->environments);
	}
	vec_foreach (&services, service) {
		buf_free(&service->versions.text);
		buf_free(&service->environments.text);
	}
	vec_free(&services);
	return err;
}
