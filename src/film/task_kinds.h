/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_TASK_KINDS_H
#define FILM_TASK_KINDS_H

/* Kinds of tasks that share threads. New ones come at the end. */
enum film_task_kind {
	FILM_TASKS_ASYNCIO,
	FILM_TASKS_NODE,
	FILM_TASKS_JAVA,
	FILM_TASKS_TOKIO,
	FILM_TASKS_GO,
	FILM_TASK_KINDS
};

/* "tasks of asyncio", "virtual threads of Java" */
const char *film_task_kind_text(unsigned int kind);

/* The event that records lanes of them: "go-lanes"; null: none does. */
const char *film_task_kind_event(unsigned int kind);

/* The name of the role of a function that runs them (film/roles.h): "runs-asyncio". */
const char *film_task_kind_role(unsigned int kind);

#endif
