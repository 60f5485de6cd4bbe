/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_REQUESTS_PYTHON_H
#define BPF_REQUESTS_PYTHON_H

/*
 * Which task of an event loop of Python sends: asyncio's, uvloop's (requests/uvloop.h), or trio's.
 * The loop calls the task's coroutine, which calls others that it awaits; so the outermost
 * coroutine among the frames of the thread stands for the task, for as long as that lasts. It is
 * taken where the frames have one such chain. Where coroutines lie behind functions that are none,
 * something runs an event loop within another one, or calls coroutines by hand, and it is not known
 * which one stands for what.
 *
 * The thread is in a system call, or at a probe, so that its frames stay as they are. In a call,
 * Python has given up its global lock: the thread's state is found by the thread's own key alone.
 */
#include "bpf/capture/maps.h"
#include "bpf/requests/abi.h"

#define REQUESTS_PYTHON_PROCESSES 4096

/* With more frames, the task is not known. */
#define REQUESTS_PYTHON_FRAMES 256

/* Include/cpython/code.h (3.8: Include/code.h): flags of functions. */
#define PYTHON_CO_GENERATOR 0x20
/* coroutines, those that were generators, asynchronous generators */
#define PYTHON_CO_COROUTINE (0x80 | 0x100 | 0x200)

/* enum _frameowner (Include/internal/pycore_frame.h) */
#define PYTHON_OF_GENERATOR 1
#define PYTHON_OF_C	    3 /* from here on */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, REQUESTS_PYTHON_PROCESSES);
	__type(key, __u32); /* process */
	__type(value, struct requests_python);
} requests_python_processes SEC(".maps");

/* A way along the frames, from the innermost one outwards. */
struct requests_python_way {
	const struct requests_python *where;
	__u64 at, coroutine, code;
	__u32 chains; /* of coroutines */
	__u8 in_chain, is_cut;
};

static __always_inline bool requests_python_read(void *to, __u32 size, __u64 at)
{
	return !bpf_probe_read_user(to, size, (void *)at);
}

/* The flags of what a frame runs; false: they cannot be read. */
static __always_inline bool requests_python_flags(struct requests_python_way *way, __u64 *code,
						  __u32 *flags)
{
	const struct requests_python *where = way->where;

	if (!requests_python_read(code, sizeof(*code), way->at + where->frame_code))
		return false;
	/* references have tags since 3.14 */
	*code &= ~7ull;
	return requests_python_read(flags, sizeof(*flags), *code + where->code_flags);
}

static long requests_python_frame(__u32 i, void *context)
{
	struct requests_python_way *way = context;
	const struct requests_python *where = way->where;
	__u64 previous, code = 0;
	__u32 flags = 0;
	__u8 owner = PYTHON_OF_GENERATOR;

	way->is_cut = 1;
	if (!requests_python_read(&previous, sizeof(previous), way->at + where->frame_previous))
		return 1;
	if (where->has_owners &&
	    !requests_python_read(&owner, sizeof(owner), way->at + where->frame_owner))
		return 1;
	/* up to 3.10 a frame does not say what it is of, but its code does */
	if (owner == PYTHON_OF_GENERATOR && !requests_python_flags(way, &code, &flags))
		return 1;
	way->is_cut = 0;
	if (flags & PYTHON_CO_COROUTINE) {
		way->chains += !way->in_chain;
		way->in_chain = 1;
		way->coroutine = way->at;
		way->code = code;
	} else if (owner < PYTHON_OF_C && !(flags & PYTHON_CO_GENERATOR)) {
		/* a generator may stand between two that await each other, as in __await__() */
		way->in_chain = 0;
	}
	way->at = previous;
	return !previous;
}

/* The innermost frame of the current thread; 0: there is none, or it is not found. */
static __always_inline __u64 requests_python_innermost(const struct requests_python *where)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 base = TASK_THREAD_POINTER(task), thread, id, frame;

	if (!base || !requests_python_read(&thread, sizeof(thread), base + where->key) || !thread)
		return 0;
	if (where->values &&
	    (!requests_python_read(&thread, sizeof(thread), thread + where->values - 1) || !thread))
		return 0;
	if (!requests_python_read(&id, sizeof(id), thread + where->thread_id) || id != base ||
	    !requests_python_read(&frame, sizeof(frame), thread + where->thread_frame) || !frame)
		return 0;
	if (!where->has_cframes)
		return frame;
	return requests_python_read(&frame, sizeof(frame), frame + where->cframe_current) ? frame
											  : 0;
}

/*
 * The task that the current thread runs; 0: none, or it is not known, or this is not Python. Not
 * static, so that the verifier looks at it once, and not once for each way that leads here, which
 * took it seconds.
 */
__weak __noinline __u64 requests_python_task(void)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct requests_python_way way = {.is_cut = 1};

	way.where = bpf_map_lookup_elem(&requests_python_processes, &pid);
	if (!way.where)
		return 0;
	way.at = requests_python_innermost(way.where);
	if (!way.at)
		return 0;
	bpf_loop(REQUESTS_PYTHON_FRAMES, requests_python_frame, &way, 0);
	/* its place alone may be that of another one soon */
	if (way.is_cut || way.at || way.chains != 1)
		return 0;
	return (way.coroutine ^ way.code * 0x9e3779b97f4a7c15ull) | 1;
}

#endif
