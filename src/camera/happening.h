/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAMERA_HAPPENING_H
#define CAMERA_HAPPENING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Something that was seen while filming, and that is worth to be known at once: a reason to keep
 * what was filmed.
 */
enum happening_kind {
	HAPPENING_DEATH,    /* a process dies of a signal */
	HAPPENING_HANG,	    /* a thread waits for long, for what should not take long */
	HAPPENING_QUEUE,    /* an accept queue stays full */
	HAPPENING_CPU,	    /* a process takes much more CPU than usual */
	HAPPENING_PRESSURE, /* threads wait for memory or disks much more than usual */
	HAPPENINGS,
};

struct happening {
	enum happening_kind kind;
	uint64_t time; /* ns, of the monotonic clock */
	pid_t pid, tid;
	char process[16], thread[16]; /* their names; hostile */
	int signal;		      /* of a death; 0: none */
	bool is_own;		      /* the thread was delivered it */
	bool has_address;	      /* of a fault: */
	uint64_t address;
	pid_t sender;		  /* of the signal; 0: not known */
	uint64_t waited;	  /* ns, of a hang, or that a queue has been full; … */
	const char *what;	  /* … and what for; static */
	uint32_t queued, backlog; /* of an accept queue: connections, */
	char address_text[64];	  /* and where its program listens */
	uint32_t percent, usual;  /* of a CPU, or of the time: now, and before */
};

/* Hears of what happens. The thread that records calls it, so it must not take long. */
struct happening_listener {
	/* null: it goes unheard */
	void (*happened)(void *context, const struct happening *happening);
	void *context;
};

#endif
