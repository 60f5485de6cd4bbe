/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_REQUESTS_GO_H
#define BPF_REQUESTS_GO_H

/*
 * Which goroutine receives and sends, and for which one. Go's net/http has a goroutine for each
 * connection to a server, which writes what others want to ask there. One at a time has the
 * connection: it calls roundTrip() with its object, and the one that writes calls Write() with the
 * same object next, and sends in that.
 *
 * What the one leaves for the next is taken by it, so that a call that was not seen leaves nothing
 * behind that a later one could be mistaken for: then it is not known for which one is sent.
 */
#include "capture_maps.h"
#include "requests_abi.h"

#define REQUESTS_GO_PROCESSES	4096
#define REQUESTS_GO_CONNECTIONS 16384

/* What a thread that runs Go code has of its goroutine: runtime.tlsg, for linux/amd64. */
#define GO_G_FROM_FS (-8)
/* In the record of a goroutine, in all versions: its thread's record. */
#define GO_M_FROM_G 48

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, REQUESTS_GO_PROCESSES);
	__type(key, __u32); /* process */
	__type(value, struct requests_go);
} requests_go_processes SEC(".maps");

struct requests_go_key {
	__u64 what; /* address of a connection's object, or number of a goroutine */
	__u32 pid, exec_id;
};

struct requests_go_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, REQUESTS_GO_CONNECTIONS);
	__type(key, struct requests_go_key);
	__type(value, __u64); /* number of the goroutine that asks */
};

struct requests_go_map requests_go_asking SEC(".maps");	 /* by the object */
struct requests_go_map requests_go_writing SEC(".maps"); /* by the goroutine that writes */

static __always_inline struct requests_go_key requests_go_key(__u64 what)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return (struct requests_go_key){
		.what = what,
		.pid = task->tgid,
		.exec_id = (__u32)task->self_exec_id,
	};
}

static __always_inline struct requests_go *requests_go_of_process(void)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;

	return bpf_map_lookup_elem(&requests_go_processes, &pid);
}

/* The number of the goroutine whose record lies there; 0: it cannot be read. */
static __always_inline __u64 requests_go_number(const struct requests_go *where, __u64 g)
{
	__u32 goid_at = where->goid;
	__u64 goid;

	return bpf_probe_read_user(&goid, sizeof(goid), (void *)(g + goid_at)) ? 0 : goid;
}

/* A goroutine's record that a thread had, as Go never frees one; and of which program it is. */
struct requests_goroutine {
	__u64 g, program;
};

/*
 * The number of the goroutine that the current thread works for; 0: none, or the thread and the
 * goroutine do not agree about that. *known: the last one's record, which others may change.
 */
static __always_inline __u64 requests_go_current(const struct requests_go *where,
						 struct requests_goroutine *known)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 base = task->thread.fsbase, g, m, current;
	__u64 program = (__u64)task->tgid << 32 | (__u32)task->self_exec_id;
	__u32 curg_at = where->curg;

	if (!base || bpf_probe_read_user(&g, sizeof(g), (void *)(base + GO_G_FROM_FS)) || !g)
		return 0;
	if (known->g == (g ^ program) && known->program == program)
		return requests_go_number(where, g);
	if (bpf_probe_read_user(&m, sizeof(m), (void *)(g + GO_M_FROM_G)) || !m ||
	    bpf_probe_read_user(&current, sizeof(current), (void *)(m + curg_at)) || current != g)
		return 0;
	known->g = g ^ program;
	known->program = program;
	return requests_go_number(where, g);
}

/* Puts the goroutines into a record, if the process has some. */
static __noinline int requests_go_take(struct requests_record *record,
				       struct requests_goroutine *known)
{
	const struct requests_go *where = requests_go_of_process();
	struct requests_go_key key;
	__u64 *asking;

	record->task = 0;
	record->works_for = 0;
	if (!where)
		return 0;
	record->task = requests_go_current(where, known);
	if (!where->asks || !(record->flags & REQUESTS_SENT) || !record->task)
		return 0;
	key = requests_go_key(record->task);
	asking = bpf_map_lookup_elem(&requests_go_writing, &key);
	if (!asking)
		return 0;
	record->works_for = *asking;
	bpf_map_delete_elem(&requests_go_writing, &key);
	return 0;
}

/* net/http.(*persistConn).roundTrip(object): the goroutine g asks there. */
static __always_inline void requests_go_asks(__u64 object, __u64 g)
{
	struct requests_go *where = requests_go_of_process();
	struct requests_go_key key = requests_go_key(object);
	__u64 goid = where ? requests_go_number(where, g) : 0;

	if (!goid)
		return;
	where->asks = 1;
	bpf_map_update_elem(&requests_go_asking, &key, &goid, BPF_ANY);
}

/*
 * net/http.persistConnWriter.Write(object): the goroutine g is about to send. Where its stack must
 * grow the function begins twice, and the second time finds nothing.
 */
static __always_inline void requests_go_writes(__u64 object, __u64 g)
{
	const struct requests_go *where = requests_go_of_process();
	struct requests_go_key key = requests_go_key(object);
	__u64 goid = where ? requests_go_number(where, g) : 0, asking;
	__u64 *found = goid ? bpf_map_lookup_elem(&requests_go_asking, &key) : NULL;

	if (!found)
		return;
	asking = *found;
	bpf_map_delete_elem(&requests_go_asking, &key);
	key.what = goid;
	bpf_map_update_elem(&requests_go_writing, &key, &asking, BPF_ANY);
}

#endif
