/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_WAIT_RULES_H
#define FILM_WAIT_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"
#include "film/film.h"

/*
 * What waits were for, decided from the evidence that a film has: by a table of rules in order, of
 * which the first one that holds counts. Both halves decide by it: the recorder whether a wait is
 * idle, so that each event of a film has its own waits and its own sums; the reader of a film what
 * it was for, so that a better rule also holds for films that are there.
 */
enum wait_class {
	WAIT_OTHER, /* none of these: named by its system call and what the kernel did */
	WAIT_READY, /* it could have run: for a CPU */
	WAIT_STOPPED,
	WAIT_FAULT,
	WAIT_DISK,
	WAIT_NO_WORK, /* a thread that has nothing to do: of the kernel, of a pool, of a runtime */
	WAIT_IO_URING,
	WAIT_CHILD,
	WAIT_SLEEP,
	WAIT_POLL,
	WAIT_LOCK,
	WAIT_ACCEPT,
	WAIT_CONNECT,
	WAIT_RECEIVE,
	WAIT_SEND,
	WAIT_IPC,
	WAIT_SIGNAL,
	WAIT_FILE,
	/* of goroutines: */
	WAIT_CHANNEL,
	WAIT_SELECT,
	WAIT_SYNC, /* semaphores, conditions, wait groups: what others do must be done */
	WAIT_NETWORK,
	WAIT_GC,
	WAIT_CLASSES,
};

/* "lock", "page-fault" …, as a user gives it. */
const char *wait_class_name(enum wait_class class);
/* WAIT_CLASSES: there is none of that name. */
enum wait_class wait_class_named(const char *name, size_t length);

/* What frames a stack has. */
enum wait_frames {
	/* of the kernel: */
	WAIT_HAS_FAULT = 1, /* it brings in a page, or makes room for one */
	WAIT_HAS_DISK = 2,  /* it waits for a block device */
	/* of a language's runtime, whose sleep is a condition that nothing signals: */
	WAIT_HAS_SLEEP = 4,
	/* of a pool's worker, or a runtime's thread, that waits for a condition: for work, */
	WAIT_HAS_NO_WORK = 32,
	/* and where that it is a condition shows by the time that the wait has: none */
	WAIT_HAS_NO_WORK_UNTIMED = 64,
	/* and, beside its frames, what the arguments of its call say: */
	WAIT_HAS_NO_POLL = 8,	 /* poll(2) of no descriptor, for a time */
	WAIT_HAS_NO_SELECT = 16, /* select(2) of none */
};

/* What a rule looks at. */
struct wait_evidence {
	const char *call; /* the system call's name; "": in none; "?": one without a known name */
	uint8_t state, descriptor; /* as in struct film_wait */
	uint32_t flags;
	unsigned int frames; /* of enum wait_frames */
};

/* The number of the first rule that holds; the number of all rules: none does. */
unsigned int wait_rule_of(const struct wait_evidence *evidence);
enum wait_class wait_rule_class(unsigned int rule);

/* A thread that waits for new work, or is stopped, is not slow: its waits are the event idle. */
bool wait_class_is_idle(enum wait_class class);

/*
 * Whether a thread that waits for a lock, in such a state and with these arguments of futex(2),
 * waits for a condition variable, a semaphore, or a lock that is made of these (a Java monitor,
 * Python's GIL), and not for a mutex.
 */
bool wait_is_for_condition(uint8_t state, uint64_t operation, uint64_t value);

/* Decides for many waits of one machine, each kind of evidence once. */
struct wait_decider {
	const char *arch; /* of the machine: uname -m */
	struct map known; /* evidence: its class */
};

void wait_decider_free(struct wait_decider *decider);

/*
 * The class of a wait: of its row the call, state, descriptor and flags count, and of the arguments
 * whether futex(2) has a time, and poll(2) and select(2) have a descriptor. frames: enum
 * wait_frames, of its stack; 0: the stack is not known.
 */
enum wait_class wait_decide(struct wait_decider *decider, const struct film_wait *wait,
			    unsigned int frames);

/* Whether only its stack says that a thread sleeps, or waits for work. */
bool wait_is_by_stack(enum wait_class class, const char *call);

/*
 * The name of its system call; "": it was in none; "?": it has no name here. Of a goroutine, that
 * of its reason.
 */
const char *wait_call_name(const char *arch, uint8_t state, uint32_t call);

#endif
