/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_HAPPENING_H
#define SOURCES_HAPPENING_H

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
	HAPPENING_REQUEST,  /* a request was served slowly, or failed */
	HAPPENINGS,
};

/* What a process had that the kernel has killed to get memory, in bytes, about. */
struct happening_oom {
	uint64_t anonymous, files, shared, swapped;
	uint64_t limit, used; /* of the control group that was full; 0: the machine was */
	char group[32];	      /* its name, cut; hostile */
};

struct happening {
	enum happening_kind kind;
	uint64_t time; /* ns, of the monotonic clock */
	pid_t pid, tid;
	char process[16], thread[16];	 /* their names; hostile */
	int signal;			 /* of a death; 0: none */
	const struct happening_oom *oom; /* it was killed to get memory; null: it was not */
	bool is_own;			 /* the thread was delivered it */
	bool of_pipe;			 /* SIGPIPE, as the reader of a pipe has gone */
	bool has_address;		 /* of a fault: */
	uint64_t address;
	pid_t sender;		  /* of the signal; 0: not known */
	uint64_t waited;	  /* ns, of a hang, or that a queue has been full; … */
	const char *what;	  /* … and what for; static */
	uint32_t queued, backlog; /* of an accept queue: connections, */
	char address_text[64];	  /* and where its program listens */
	uint32_t percent, usual;  /* of a CPU, or of the time: now, and before */
	/* of a request, which took `waited` ns: */
	bool is_open; /* it is not over, and has taken so long already */
	bool has_failed;
	uint32_t status;	   /* 0: its protocol has none */
	uint64_t usual_ns;	   /* the p99 of its endpoint; 0: it did not matter */
	char endpoint[64], id[40]; /* hostile; id: "" without one */
};

/* Which waits and requests happen (below), in ns; 0 and false: none do. */
struct happening_limits {
	uint64_t hang;		/* a wait that long, of what should be short */
	uint64_t slow;		/* a request that was served in more than that */
	bool slower_than_usual; /* one that took more than twice the p99 of its endpoint */
	bool failed;		/* one that failed */
};

/* Hears of what happens. The thread that records calls it, so it must not take long. */
struct happening_listener {
	/* null: it goes unheard */
	void (*happened)(void *context, const struct happening *happening);
	void *context;
};

#endif
