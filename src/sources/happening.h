/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_HAPPENING_H
#define SOURCES_HAPPENING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * An incident: something that a user wants to know at once, and a reason to keep the last minutes
 * of a flight recorder.
 */
enum happening_kind {
	HAPPENING_DEATH,    /* a signal kills a process */
	HAPPENING_HANG,	    /* a thread waits long for something that should be short */
	HAPPENING_QUEUE,    /* an accept queue stays full */
	HAPPENING_CPU,	    /* a process takes much more CPU than usual */
	HAPPENING_PRESSURE, /* threads wait for memory or disks much more than usual */
	HAPPENING_REQUEST,  /* a request was served slowly, or failed */
	HAPPENINGS,
};

/* Memory of a process that the OOM killer has killed, in bytes, approximately. */
struct happening_oom {
	uint64_t anonymous, files, shared, swapped;
	uint64_t limit, used; /* of the control group that was full; 0: the whole machine was */
	char group[32];	      /* its name, truncated; hostile */
};

struct happening {
	enum happening_kind kind;
	uint64_t time; /* ns, of the monotonic clock */
	pid_t pid, tid;
	char process[16], thread[16];	 /* their names; hostile */
	int signal;			 /* signal that killed the process; 0: none */
	const struct happening_oom *oom; /* killed by the OOM killer; null: it was not */
	bool is_own;			 /* the signal was delivered to this thread */
	bool of_pipe;			 /* SIGPIPE, because the reader of a pipe has gone */
	bool has_address;		 /* the signal is a fault, at address */
	uint64_t address;
	pid_t sender;		  /* process that sent the signal; 0: not known */
	uint64_t waited;	  /* ns of a hang, or for which a queue has been full */
	const char *what;	  /* what the thread waits for; a static string */
	uint32_t queued, backlog; /* connections in an accept queue, and its limit */
	char address_text[64];	  /* address on which the queue's program listens */
	uint32_t percent, usual;  /* percent of a CPU, or of the time: now, and before */
	/* the rest is for a request, which took `waited` ns */
	bool is_open; /* it has not ended yet */
	bool has_failed;
	uint32_t status;	   /* 0: its protocol has none */
	uint64_t usual_ns;	   /* p99 of its endpoint; 0: not the reason for the report */
	char endpoint[64], id[40]; /* hostile; id "": none */
};

/* Thresholds for waits and requests, in ns; 0 and false: report none. */
struct happening_limits {
	uint64_t hang;		/* a wait of at least that time that should be short */
	uint64_t slow;		/* a served request that took longer */
	bool slower_than_usual; /* a request that took more than twice the p99 of its endpoint */
	bool failed;		/* a request that failed */
};

/* Is called for each incident, by the recording thread, so it must return soon. */
struct happening_listener {
	/* null: incidents are ignored */
	void (*happened)(void *context, const struct happening *happening);
	void *context;
};

#endif
