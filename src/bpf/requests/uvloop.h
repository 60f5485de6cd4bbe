/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_REQUESTS_UVLOOP_H
#define BPF_REQUESTS_UVLOOP_H

/*
 * Which task of uvloop sends. Its transports send what was written to them at the end of a turn of
 * the loop, when no task runs. So the task is looked for where it calls write() of a transport
 * (sources/requests/uvloop.c finds that), and kept for what is sent next by the transport's
 * descriptor in that thread. What several tasks have written by then is of none.
 *
 * The transport, an object of Python, has a pointer to libuv's record of the stream, where the
 * descriptor is, and which has a pointer back: nothing else has both.
 */
#include "bpf/capture/maps.h"
#include "bpf/requests/abi.h"
#include "bpf/requests/python.h"
#include "bpf/lanes/tasks_running.h"
#include "bpf/user_vectors.h"

#define REQUESTS_UVLOOP_WRITTEN 16384

/* uvloop/handles/handle.pxd: behind the object's head and its table of methods */
#define UVLOOP_HANDLE 24

/* uv.h: uv_stream_t of Linux, 64 bit, in all versions 1.x */
#define LIBUV_DATA 0
#define LIBUV_TYPE 16
#define LIBUV_FD   184

/* enum uv_handle_type */
#define LIBUV_NAMED_PIPE 7
#define LIBUV_TCP	 12

struct requests_uvloop_key {
	__u32 pid, fd;
};

struct requests_uvloop_written {
	__u64 task; /* 0: none, or several */
	__u64 lane; /* the number of its lane; 0: it has none, or there are several */
	__u32 tid, unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, REQUESTS_UVLOOP_WRITTEN);
	__type(key, struct requests_uvloop_key);
	__type(value, struct requests_uvloop_written);
} requests_uvloop_written SEC(".maps");

/* Set once a process of uvloop has written. */
__u32 requests_has_uvloop;

/* The descriptor of a transport; -1: it is none. */
static __always_inline int requests_uvloop_fd(__u64 transport)
{
	__u64 stream, back;
	__u32 type;
	int fd;

	if (!requests_python_read(&stream, sizeof(stream), transport + UVLOOP_HANDLE) || !stream ||
	    !requests_python_read(&back, sizeof(back), stream + LIBUV_DATA) || back != transport ||
	    !requests_python_read(&type, sizeof(type), stream + LIBUV_TYPE) ||
	    (type != LIBUV_TCP && type != LIBUV_NAMED_PIPE) ||
	    !requests_python_read(&fd, sizeof(fd), stream + LIBUV_FD))
		return -1;
	return fd;
}

/* A task, or what is none, calls write() of a transport. */
static __always_inline int requests_uvloop_writes(__u64 transport)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct requests_uvloop_key key = {.pid = id >> 32};
	struct requests_uvloop_written written = {.tid = (__u32)id}, *before;
	int fd = requests_uvloop_fd(transport);

	if (fd < 0)
		return 0;
	requests_has_uvloop = 1;
	key.fd = fd;
	written.task = requests_python_task();
	written.lane = tasks_running();
	before = bpf_map_lookup_elem(&requests_uvloop_written, &key);
	if (before && (before->task != written.task || before->tid != written.tid))
		written.task = written.lane = 0;
	bpf_map_update_elem(&requests_uvloop_written, &key, &written, BPF_ANY);
	return 0;
}

/*
 * The task that wrote what the current thread's system call sends, and the number of its lane,
 * where it is none yet; 0: none, or not known.
 */
static __noinline int requests_uvloop_read(struct requests_works *works)
{
	struct pt_regs___call *regs = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	__u64 id = bpf_get_current_pid_tgid();
	struct requests_uvloop_key key = {.pid = id >> 32, .fd = (__u32)REGS_CALL_ARG1(regs)};
	struct requests_uvloop_written *written;

	written = bpf_map_lookup_elem(&requests_uvloop_written, &key);
	if (!written || !works)
		return 0;
	if (written->tid == (__u32)id && !works->task) {
		works->task = written->task;
		works->works_for = written->lane;
	}
	bpf_map_delete_elem(&requests_uvloop_written, &key);
	return 0;
}

SEC("uprobe")
int requests_uvloop_site(struct probe_regs *ctx)
{
	capture_on_own_stack(ctx);
	return filter_current() == FILTER_NO ? 0 : requests_uvloop_writes(REGS_ARG1(ctx));
}

#endif
