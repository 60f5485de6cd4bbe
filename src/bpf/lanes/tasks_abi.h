/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_LANES_TASKS_ABI_H
#define BPF_LANES_TASKS_ABI_H

/* What tasks.bpf.c tells of the tasks of asyncio. */

#include "bpf/lanes/lanes_abi.h"

enum {
	/* A turn that is over: a struct lane_record. Its reason: enum tasks_reason. */
	TASKS_TURN = CAPTURE_KIND(CAPTURE_SOURCE_TASKS, 0),
	/* What a task is called: a struct tasks_named, before its first turn. */
	TASKS_NAMED = CAPTURE_KIND(CAPTURE_SOURCE_TASKS, 1),
};

/* What happens at a probe: the lowest bits of its cookie. */
enum tasks_place {
	TASKS_MADE,    /* Task.__init__() begins: its first argument is a task */
	TASKS_STEP,    /* a step begins: of the task that the first argument has behind its head */
	TASKS_WAKEUP,  /* the same, of the first argument */
	TASKS_DONE,    /* a future, the first argument, gets its result, or is cancelled */
	TASKS_STEPPED, /* a function returns in which steps end */
	TASKS_RAN,     /* or this instead: right behind the part of a step that runs the task */
	TASKS_EAGER,   /* a task, the first or the second argument, may be run as it is made */
	TASKS_BEGUN,   /* without that: the same as TASKS_STEPPED, in which Task.__init__() does */
	TASKS_PLACES,
};

/* The other bits are the number of the image. */
#define TASKS_COOKIE(image, place) ((__u64)(image) << 4 | (place))
#define TASKS_IMAGE(cookie)	   ((__u32)((cookie) >> 4))
#define TASKS_PLACE(cookie)	   ((cookie)&15)

#define TASKS_IMAGES_MAX	   256	  /* files that have asyncio's C part */
#define TASKS_MAX		   262144 /* tasks, and futures that are waited for */
#define TASKS_RAN_MAX		   65536  /* six for each thread that ran one as the probes came */

/* Where a version of CPython has what; offsets in bytes. */
struct tasks_image {
	__u16 state, waiter, coroutine, name; /* TaskObj (Modules/_asynciomodule.c) */
	__u16 qualified;		      /* PyCoroObject: its qualified name */
	__u16 text;			      /* PyASCIIObject: its characters */
	__u16 item;			      /* PyTupleObject: the first one */
	__u16 unused;
	__u64 since; /* when its probes were set; until they are: when that began */
};

/* A task. The kernel side's own numbers, as addresses are used again. */
struct tasks_state {
	struct lane_turn turn;
	__u64 waits_for; /* the future that it awaits; 0: none */
	__u64 next;	 /* another task that awaits the same */
	__u64 outer;	 /* what the thread ran before it: a task, */
	__u64 outer_sp;	 /* and where that one's step returns */
	__u64 qualified; /* the qualified name of the coroutine that it was made of */
	__u64 name;	 /* the object of its name that was reported; 0: none was */
	__u32 image;
	__u8 missed; /* of one that user space has found: it was not as it was when looked at */
	__u8 unused[3];
};

/* What a task waits for. */
enum tasks_reason {
	TASKS_FOR_NOTHING, /* it gave way */
	TASKS_FOR_FUTURE,
	TASKS_FOR_TASK,
	TASKS_REASONS,
};

#define TASKS_NAME_MAX	    32
#define TASKS_QUALIFIED_MAX 64

struct tasks_named {
	struct capture_head head;
	__u32 pid;
	__u32 counted; /* its name is "Task-", and that number; 0: it is name */
	__u64 number;
	/* bytes of the process, cut, without a zero byte behind if they are as long as that */
	char name[TASKS_NAME_MAX];
	char qualified[TASKS_QUALIFIED_MAX]; /* of its coroutine */
};

#endif
