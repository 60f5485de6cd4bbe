// SPDX-License-Identifier: Apache-2.0
#include "sources/calls/debuggers.h"

#include <errno.h>
#include <unistd.h>

#include "process/procfs.h"

/* They are looked at once a second. */
#define WATCHED_MAX	 64

#define STATUS_BYTES_MAX 16384

void debuggers_watch(struct debuggers *debuggers, pid_t pid)
{
	vec_foreach (&debuggers->watched, watched)
		if (*watched == pid)
			return;
	/* without memory it is not watched: nothing else depends on it */
	if (debuggers->watched.count < WATCHED_MAX && !vec_push(&debuggers->watched, pid))
		return;
}

void debuggers_free(struct debuggers *debuggers)
{
	vec_free(&debuggers->watched);
}

/*
 * A thread of this process, such as one that holds a program until its probes are set, is not a
 * debugger.
 */
static bool is_self(pid_t thread)
{
	struct buf text = {0};
	bool self = !procfs_read(thread, "status", STATUS_BYTES_MAX, &text) &&
		    procfs_parse_tgid((char *)text.at) == getpid();

	buf_free(&text);
	return self;
}

/* A negative errno: the process is gone. *debugger: 0: none. */
static int ask(pid_t pid, pid_t *debugger, bool *stopped)
{
	struct buf text = {0};
	int err = procfs_read(pid, "status", STATUS_BYTES_MAX, &text);

	if (!err)
		*debugger = procfs_parse_tracer((char *)text.at, stopped);
	if (!err && *debugger && is_self(*debugger))
		*debugger = 0;
	buf_free(&text);
	return err;
}

int debuggers_refuse(struct debuggers *debuggers, struct fail *why)
{
	struct procfs_stat stat = {.comm = "?"};
	bool stopped;
	pid_t tracer;

	vec_foreach (&debuggers->watched, pid) {
		if (ask(*pid, &tracer, &stopped) || !tracer)
			continue;
		procfs_read_stat(tracer, "stat", &stat);
		return fail(why, -EBUSY,
			    "end that first: a breakpoint and a probe in one place take each other "
			    "for their own",
			    "process %d is held by a debugger: process %d (%s)", (int)*pid,
			    (int)tracer, stat.comm);
	}
	return 0;
}

enum debugger_state debuggers_look(struct debuggers *debuggers)
{
	enum debugger_state state = DEBUGGER_NONE;
	size_t kept = 0;

	vec_foreach (&debuggers->watched, pid) {
		bool stopped = false;
		pid_t tracer = 0;

		if (ask(*pid, &tracer, &stopped))
			continue;
		debuggers->watched.at[kept++] = *pid;
		if (!tracer)
			continue;
		debuggers->process = *pid;
		debuggers->debugger = tracer;
		/* of several, one that runs decides: nothing may change under it */
		if (!stopped || state == DEBUGGER_NONE)
			state = stopped ? DEBUGGER_WAITS : DEBUGGER_RUNS;
	}
	debuggers->watched.count = kept;
	return state;
}
