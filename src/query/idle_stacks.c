// SPDX-License-Identifier: Apache-2.0
#include "query/idle_stacks.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "film/wait_rules.h"

/* What a function says of the waits below it. */
enum trait {
	/* it takes the next piece of work, and does none: a condition that it awaits is for work */
	TAKES = 1,
	/* it takes work and does it: what it awaits itself is for work, not what it calls does */
	LOOPS = 2,
	/* it awaits a condition, and no lock */
	AWAITS = 4,
	/* of Python: as LOOPS, but what awaits is code without a name */
	PYTHON_LOOPS = 8,
};

struct function {
	const char *glob;    /* begins with a letter of the name */
	unsigned int traits; /* enum trait */
	const char *file;    /* how the name of its source file ends; null: any */
};

/* Of java.util.concurrent, and what the JDK has for itself (17 to 25). */
static const struct function java[] = {
	{"java.util.concurrent.ThreadPoolExecutor.getTask", TAKES, NULL},
	{"java.util.concurrent.ForkJoinPool.awaitWork", TAKES | AWAITS, NULL},
	{"java.lang.ref.*ReferenceQueue.remove", TAKES, NULL}, /* 21 on: Native… */
	{"java.lang.ref.Reference.waitForReferencePendingList", TAKES | AWAITS, NULL},
	{"java.lang.VirtualThread.takeVirtualThreadListToUnblock", TAKES | AWAITS, NULL},
	{"java.util.TimerThread.mainLoop", LOOPS, NULL},
	{"java.lang.Object.wait*", AWAITS, NULL},
	{"java.util.concurrent.locks.Abstract*Synchronizer$ConditionObject.await*", AWAITS, NULL},
	{"java.util.concurrent.SynchronousQueue$*.transfer", AWAITS, NULL},
	{"java.util.concurrent.LinkedTransferQueue*.await*", AWAITS, NULL},
};

/* Of HotSpot's own threads (17 to 25), of V8 as Node has it, libuv, tokio and nginx. */
static const struct function native[] = {
	{"GangWorker::loop*", LOOPS, NULL},
	{"WorkerThread::run*", LOOPS, NULL},
	{"CompileQueue::get*", LOOPS, NULL},
	{"VMThread::wait_for_*", LOOPS, NULL},
	{"WatcherThread::sleep*", LOOPS, NULL},
	{"ServiceThread::service_thread_entry*", LOOPS, NULL},
	{"NotificationThread::notification_thread_entry*", LOOPS, NULL},
	{"MonitorDeflationThread::monitor_deflation_thread_entry*", LOOPS, NULL},
	{"NMethodSweeper::sweeper_loop*", LOOPS, NULL},
	{"G1ConcurrentMarkThread::run_service*", LOOPS, NULL},
	{"G1ConcurrentRefineThread::run_service*", LOOPS, NULL},
	{"G1*Thread::wait_for_*", LOOPS, NULL},
	{"G1ServiceThread::*", LOOPS, NULL},
	{"os::signal_wait*", LOOPS, NULL},
	{"Monitor::wait*", AWAITS, NULL},
	{"PosixSemaphore::wait*", AWAITS, NULL},
	{"node::*TaskQueue<*>::BlockingPop*", LOOPS, NULL},
	{"worker", LOOPS, NULL},
	{"uv_cond_wait", AWAITS, NULL},
	{"tokio::runtime::blocking::pool::Inner::run*", TAKES, NULL},
	{"ngx_thread_pool_cycle", LOOPS, NULL},
	{"ngx_thread_cond_wait", AWAITS, NULL},
};

static const struct function python[] = {
	{"_worker", PYTHON_LOOPS, "concurrent/futures/thread.py"},
};

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), of_end = strlen(end);

	return length >= of_end && !strcmp(text + length - of_end, end);
}

static uint8_t find(const struct function *all, size_t count, const char *name, const char *file)
{
	for (size_t i = 0; i < count; i++)
		/* most names differ there already, and a film has many */
		if (*all[i].glob == *name && !fnmatch(all[i].glob, name, 0) &&
		    (!all[i].file || ends_with(file, all[i].file)))
			return (uint8_t)all[i].traits;
	return 0;
}

#define FIND(all, name, file) find(all, sizeof(all) / sizeof((all)[0]), name, file)

static uint8_t traits_of(const struct film *film, enum film_frame_kind kind, uint32_t function,
			 const char *file)
{
	const char *name = film->functions[function].name;

	switch (kind) {
	case FILM_FRAME_JAVA:
		return FIND(java, name, file);
	case FILM_FRAME_NATIVE:
		return FIND(native, name, file);
	case FILM_FRAME_PYTHON:
		return FIND(python, name, file);
	default:
		return 0;
	}
}

/*
 * Adds to *has what a stack has that ends with a frame. below: the traits of the frame that called
 * it; before: what this returned for the stack that ends with that one. Returns the traits that go
 * on to what the frame calls.
 */
static uint8_t go_on(const struct film *film, uint32_t frame, uint8_t traits, uint8_t below,
		     uint8_t before, uint8_t *has)
{
	uint8_t on = (before | traits) & (TAKES | PYTHON_LOOPS);

	/* another function of Python does work */
	if (film->frames[frame].kind == FILM_FRAME_PYTHON && !(traits & PYTHON_LOOPS))
		on &= (uint8_t)~PYTHON_LOOPS;
	if (traits & AWAITS && (on & TAKES || (traits | below) & LOOPS))
		*has |= WAIT_HAS_NO_WORK;
	if (on & PYTHON_LOOPS)
		*has |= WAIT_HAS_NO_WORK_UNTIMED;
	else
		*has &= (uint8_t)~WAIT_HAS_NO_WORK_UNTIMED;
	return on;
}

int idle_stacks_find(const struct film *film, uint8_t *frames)
{
	uint8_t *traits = calloc(film->frame_count + 1ull, 1);
	uint8_t *on = calloc(film->stack_count + 1ull, 1);
	bool are_any = false;

	if (!traits || !on) {
		free(traits);
		free(on);
		return -ENOMEM;
	}
	for (uint32_t i = 1; i < film->frame_count; i++)
		traits[i] = traits_of(film, film->frames[i].kind, film->frames[i].function,
				      film->frames[i].file);
	for (size_t i = 0; i < film->inline_count; i++) {
		const struct film_inline *outer = &film->inlines[i];

		traits[outer->frame] |= traits_of(film, film->frames[outer->frame].kind,
						  outer->function, outer->file);
	}
	for (uint32_t i = 1; i < film->frame_count && !are_any; i++)
		are_any = traits[i];
	/* a parent comes before its children */
	for (uint32_t i = 1; i < film->stack_count && are_any; i++) {
		const struct film_stack *stack = &film->stacks[i];
		uint8_t below = traits[film->stacks[stack->parent].frame];

		frames[i] |= frames[stack->parent] & WAIT_HAS_NO_WORK;
		on[i] = go_on(film, stack->frame, traits[stack->frame], below, on[stack->parent],
			      &frames[i]);
	}
	free(traits);
	free(on);
	return 0;
}
