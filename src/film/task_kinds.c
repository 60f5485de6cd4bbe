// SPDX-License-Identifier: Apache-2.0
#include "film/task_kinds.h"

#include <stddef.h>

#include "film/events.h"

static const struct task_kind {
	const char *text, *role;
	enum event_id lanes; /* 0: none */
} kinds[FILM_TASK_KINDS] = {
	[FILM_TASKS_ASYNCIO] = {"tasks of asyncio", "runs-asyncio", EVENT_TASK_LANES},
	[FILM_TASKS_NODE] = {"asynchronous calls of Node.js", "runs-node", 0},
	[FILM_TASKS_JAVA] = {"virtual threads of Java", "runs-vthreads", EVENT_VTHREAD_LANES},
	[FILM_TASKS_TOKIO] = {"tasks of Tokio", "runs-tokio", 0},
	[FILM_TASKS_GO] = {"goroutines", "runs-goroutines", EVENT_GO_LANES},
};

const char *film_task_kind_text(unsigned int kind)
{
	return kinds[kind].text;
}

const char *film_task_kind_event(unsigned int kind)
{
	return kinds[kind].lanes ? event_type(kinds[kind].lanes)->name : NULL;
}

const char *film_task_kind_role(unsigned int kind)
{
	return kinds[kind].role;
}
