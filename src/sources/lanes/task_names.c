// SPDX-License-Identifier: Apache-2.0
#include "sources/lanes/task_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/owned.h"

struct name {
	pid_t pid;
	char text[TASK_NAME_MAX];
};

void task_names_free(struct task_names *names)
{
	owned_free(&names->all);
}

/*
 * How many bytes a text has; 0: it cannot be shown. One with other characters than those of ASCII
 * lies elsewhere, and what was read is something else.
 */
static int length_of(const char *text, size_t size)
{
	size_t length = strnlen(text, size);

	for (size_t i = 0; i < length; i++)
		if (text[i] < ' ' || text[i] > '~')
			return 0;
	return (int)length;
}

void task_names_add(struct task_names *names, const struct tasks_named *named)
{
	int called = length_of(named->name, sizeof(named->name));
	int qualified = length_of(named->qualified, sizeof(named->qualified));
	struct name *name;
	char counted[24] = "";

	if (!called && !qualified && !named->counted)
		return;
	name = owned_make(&names->all, named->number, sizeof(*name), TASKS_MAX);
	if (!name) {
		names->refused++;
		return;
	}
	if (named->counted)
		snprintf(counted, sizeof(counted), "Task-%u", named->counted);
	name->pid = (pid_t)named->pid;
	snprintf(name->text, sizeof(name->text), "%s%.*s%s%.*s", counted, called, named->name,
		 (called || *counted) && qualified ? " " : "", qualified, named->qualified);
}

void task_names_get(const struct task_names *names, uint64_t number, char to[TASK_NAME_MAX])
{
	const struct name *name = owned_get(&names->all, number);

	if (name)
		memcpy(to, name->text, sizeof(name->text));
	else
		snprintf(to, TASK_NAME_MAX, "task %" PRIu64, number);
}

void task_names_remove(struct task_names *names, uint64_t number)
{
	owned_remove(&names->all, number);
}

void task_names_ended(struct task_names *names, pid_t pid)
{
	struct map kept = {0};
	uint64_t key, value;

	for (size_t i = 0; map_next(&names->all, &i, &key, &value);) {
		struct name *name = (struct name *)(uintptr_t)value;

		if (name->pid != pid && map_put(&kept, key, value))
			continue;
		names->refused += name->pid != pid;
		free(name);
	}
	map_free(&names->all);
	names->all = kept;
}
