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
 *
 * grpc has two for each connection, one that reads and one that writes, whose object others call to
 * get a stream. It is known for which one that is once the call returns, which may be before or
 * after it is sent.
 *
 * A goroutine that was started by another one may work for that one. Each that the runtime makes is
 * noted here, with the goroutine that the thread works for; user space hears of one, and of those
 * that it descends from, once it asks others, or receives what streams carry. A goroutine that
 * writes what others want is left out: it works for all of them, whichever has started it.
 */
#include "bpf/capture/maps.h"
#include "bpf/requests/abi.h"

#define REQUESTS_GO_PROCESSES	4096
#define REQUESTS_GO_CONNECTIONS 16384
#define REQUESTS_GO_STARTED	32768 /* a power of two */

/* How far up user space hears which goroutine has started which. */
#define REQUESTS_GO_DEPTH 4

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
/* of grpc: the goroutine that reads, by the object; and the object, by the one that asks */
struct requests_go_map requests_go_reading SEC(".maps");
struct requests_go_map requests_go_calling SEC(".maps");

struct requests_go_start {
	__u64 goroutine, program; /* its number, and whose it is; 0: it is none */
	__u64 starter, since;	  /* number of the goroutine that has started it, and when */
	__u64 check;		  /* of all that: two may be written here at once */
	__u64 is_told;
};

/*
 * A place by number: goroutines have theirs one after the other, so that one is forgotten once that
 * many others were made. To note one in a hash with the least recently used ones at hand took
 * nearly half of what the probe did.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, REQUESTS_GO_STARTED);
	__type(key, __u32);
	__type(value, struct requests_go_start);
} requests_go_started SEC(".maps");

static __always_inline struct requests_go_key requests_go_key(__u64 what)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return (struct requests_go_key){
		.what = what,
		.pid = task->tgid,
		.exec_id = (__u32)task->self_exec_id,
	};
}

/* Which program the current process runs. */
static __always_inline __u64 requests_go_program(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return (__u64)task->tgid << 32 | (__u32)task->self_exec_id;
}

static __always_inline __u64 requests_go_check(__u64 goroutine, __u64 program, __u64 starter,
					       __u64 since)
{
	__u64 check = goroutine * 0x9e3779b97f4a7c15ull ^ program;

	check = check * 0x9e3779b97f4a7c15ull ^ starter;
	return check * 0x9e3779b97f4a7c15ull ^ since;
}

static __always_inline struct requests_go_start *requests_go_place(__u64 goroutine, __u64 program)
{
	__u32 place = (goroutine + (program >> 32) * 0x9e3779b9u) & (REQUESTS_GO_STARTED - 1);

	return bpf_map_lookup_elem(&requests_go_started, &place);
}

/* Which one has started a goroutine of the current process, and when. Null: not known. */
static __always_inline struct requests_go_start *requests_go_find(__u64 goroutine, __u64 *starter,
								  __u64 *since)
{
	__u64 program = requests_go_program();
	volatile struct requests_go_start *start = requests_go_place(goroutine, program);

	if (!start || !goroutine || start->goroutine != goroutine || start->program != program)
		return NULL;
	*starter = start->starter;
	*since = start->since;
	if (start->check != requests_go_check(goroutine, program, *starter, *since))
		return NULL;
	return (struct requests_go_start *)start;
}

static __always_inline void requests_go_note(__u64 goroutine, __u64 starter, __u64 since)
{
	__u64 program = requests_go_program();
	volatile struct requests_go_start *start = requests_go_place(goroutine, program);

	if (!start)
		return;
	start->goroutine = goroutine;
	start->program = program;
	start->starter = starter;
	start->since = since;
	start->is_told = 0;
	start->check = requests_go_check(goroutine, program, starter, since);
}

static __always_inline struct requests_go *requests_go_of_process(void)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;

	return bpf_map_lookup_elem(&requests_go_processes, &pid);
}

/* The number of a goroutine that lies there; 0: it cannot be read. */
static __always_inline __u64 requests_go_number_at(__u64 at)
{
	__u64 goid;

	return bpf_probe_read_user(&goid, sizeof(goid), (void *)at) ? 0 : goid;
}

/* The number of the goroutine whose record lies there; 0: it cannot be read. */
static __always_inline __u64 requests_go_number(const struct requests_go *where, __u64 g)
{
	return requests_go_number_at(g + where->goid);
}

/*
 * Goroutines' records that threads had, as Go never frees one: two, since a server of net/http
 * waits for the next request in another goroutine than it reads it; of which program they are, and
 * where the number is in them. Several may write here at once, so that each is kept with what it
 * belongs to.
 */
struct requests_goroutines {
	__u64 program;
	__u64 g[2]; /* each with program, and goid_at behind its bits, mixed in */
	__u32 goid_at, next;
};

static __always_inline __u64 requests_go_mixed(__u64 g, __u64 program, __u32 goid_at)
{
	return g ^ program ^ (__u64)goid_at << 48;
}

/* Whether that one is known: then *goid_at is where its number is. */
static __always_inline bool requests_go_is_known(const struct requests_goroutines *known, __u64 g,
						 __u64 program, __u32 *goid_at)
{
	__u64 mixed;

	*goid_at = *(volatile __u32 *)&known->goid_at;
	mixed = requests_go_mixed(g, program, *goid_at);
	return known->program == program && (known->g[0] == mixed || known->g[1] == mixed);
}

static __always_inline void requests_go_know(struct requests_goroutines *known, __u64 g,
					     __u64 program, __u32 goid_at)
{
	known->goid_at = goid_at;
	known->program = program;
	known->g[known->next++ & 1] = requests_go_mixed(g, program, goid_at);
}

/*
 * The number of the goroutine that the current thread works for; 0: none, or the thread and the
 * goroutine do not agree about that, or this is not Go. Of those that are known, nothing is looked
 * up.
 */
static __always_inline __u64 requests_go_current(struct requests_goroutines *known)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 base = TASK_THREAD_POINTER(task), g, m, current;
	__u64 program = requests_go_program();
	const struct requests_go *where;
	__u32 goid_at, curg_at;

	if (!base || bpf_probe_read_user(&g, sizeof(g), (void *)(base + GO_G_FROM_FS)) || !g)
		return 0;
	if (requests_go_is_known(known, g, program, &goid_at))
		return requests_go_number_at(g + goid_at);
	where = requests_go_of_process();
	if (!where)
		return 0;
	curg_at = where->curg;
	goid_at = where->goid;
	if (bpf_probe_read_user(&m, sizeof(m), (void *)(g + GO_M_FROM_G)) || !m ||
	    bpf_probe_read_user(&current, sizeof(current), (void *)(m + curg_at)) || current != g)
		return 0;
	requests_go_know(known, g, program, goid_at);
	return requests_go_number_at(g + goid_at);
}

/* Puts the goroutines into a record, if the process has some. */
static __noinline int requests_go_read(struct requests_works *works,
				       struct requests_goroutines *known)
{
	const struct requests_go *where;
	struct requests_go_key key;
	__u64 *asking;

	works->works_for = 0;
	works->task = requests_go_current(known);
	if (!(works->more.flags & REQUESTS_SENT) || !works->task)
		return 0;
	where = requests_go_of_process();
	if (!where || !where->asks)
		return 0;
	key = requests_go_key(works->task);
	asking = bpf_map_lookup_elem(&requests_go_writing, &key);
	if (!asking)
		return 0;
	works->works_for = *asking;
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

/* What a goroutine sends is not of what the one works for that has started it. */
static __always_inline void requests_go_forget_start(__u64 goroutine)
{
	__u64 starter, since;
	struct requests_go_start *start = requests_go_find(goroutine, &starter, &since);

	if (start)
		start->goroutine = 0;
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

	requests_go_forget_start(goid);
	if (!found)
		return;
	asking = *found;
	bpf_map_delete_elem(&requests_go_asking, &key);
	key.what = goid;
	bpf_map_update_elem(&requests_go_writing, &key, &asking, BPF_ANY);
}

/* grpc's loopyWriter.run(): the goroutine g sends for all of its connection. */
static __always_inline void requests_go_sends_for_all(__u64 g)
{
	const struct requests_go *where = requests_go_of_process();

	if (where)
		requests_go_forget_start(requests_go_number(where, g));
}

/*
 * The runtime has made a goroutine, and is about to put it into a queue, on the stack of the thread
 * whose g is given. What a timer has started (time.AfterFunc) was started by no goroutine.
 */
static __always_inline void requests_go_starts(__u64 fresh, __u64 g)
{
	struct requests_go *where = requests_go_of_process();
	__u64 m, current, goroutine, starter;
	__u32 curg_at;

	if (!where)
		return;
	/* one that another CPU adds at the same time may be missing */
	where->starts++;
	curg_at = where->curg;
	if (bpf_probe_read_user(&m, sizeof(m), (void *)(g + GO_M_FROM_G)) || !m ||
	    bpf_probe_read_user(&current, sizeof(current), (void *)(m + curg_at)) || !current)
		return;
	starter = requests_go_number(where, current);
	goroutine = requests_go_number(where, fresh);
	if (goroutine && starter)
		requests_go_note(goroutine, starter, bpf_ktime_get_ns());
}

/* Sends which goroutine has started that one. Returns its number; 0: that is not known, or sent. */
static __always_inline __u64 requests_go_send_start(__u64 goroutine, __u64 time, __u32 kind,
						    __u32 stream)
{
	__u64 program = requests_go_program();
	struct requests_started told = {
		.head = {.kind = kind, .size = sizeof(told), .time = time},
		.pid = program >> 32,
		.exec_id = (__u32)program,
		.goroutine = goroutine,
		.stream = stream,
	};
	struct requests_go_start *start = requests_go_find(goroutine, &told.starter, &told.since);
	void *ring = capture_ring();

	if (!start || (start->is_told && kind == REQUESTS_STARTED) || !ring)
		return 0;
	if (capture_output(ring, CAPTURE_SOURCE_REQUESTS, &told, sizeof(told), BPF_RB_NO_WAKEUP)) {
		capture_count_loss(CAPTURE_SOURCE_REQUESTS, CAPTURE_LOSS_RING_FULL);
		return 0;
	}
	start->is_told = 1;
	return told.starter;
}

/* The process asks others: which goroutine has started which may tell for what. */
static __always_inline void requests_go_calls_others(void)
{
	struct requests_go *where = requests_go_of_process();

	if (where)
		where->calls = 1;
}

/* Of a goroutine, before it is in a record of that time. */
static __noinline int requests_go_send_starts(__u64 goroutine, __u64 time)
{
	for (int i = 0; i < REQUESTS_GO_DEPTH && goroutine; i++)
		goroutine = requests_go_send_start(goroutine, time, REQUESTS_STARTED, 0);
	return 0;
}

/* The goroutine g begins to handle that stream, which one above it has received. */
static __always_inline void requests_go_handles(__u32 stream, __u64 g)
{
	const struct requests_go *where = requests_go_of_process();
	__u64 goroutine = where ? requests_go_number(where, g) : 0;
	__u64 now = bpf_ktime_get_ns(), starter, since;

	if (!stream || !requests_go_find(goroutine, &starter, &since))
		return;
	requests_go_send_starts(starter, now);
	requests_go_send_start(goroutine, now, REQUESTS_HANDLES, stream);
}

/*
 * net/http's runHandler(object, writer): the writer leads to its state, that to the stream, which
 * has the object again, and behind it its number. 0: it does not.
 */
static __always_inline __u32 requests_go_stream_of(__u64 object, __u64 writer)
{
	__u64 state, stream, again;
	__u32 number;

	if (bpf_probe_read_user(&state, sizeof(state), (void *)writer) ||
	    bpf_probe_read_user(&stream, sizeof(stream), (void *)state) ||
	    bpf_probe_read_user(&again, sizeof(again), (void *)stream) || again != object ||
	    bpf_probe_read_user(&number, sizeof(number), (void *)(stream + sizeof(again))))
		return 0;
	return number;
}

/*
 * grpc's streams, of both sides: the first word is the number, which a client has chosen and so is
 * odd; since 1.69 it may be the address of what has that first. 0: neither.
 */
static __always_inline __u32 requests_go_stream_of_grpc(__u64 stream)
{
	__u64 word;

	if (bpf_probe_read_user(&word, sizeof(word), (void *)stream) ||
	    (word >> 32 && bpf_probe_read_user(&word, sizeof(word), (void *)word)))
		return 0;
	return word >> 32 || !(word & 1) ? 0 : (__u32)word;
}

/* grpc's reader(object): the goroutine g reads that object's connection. */
static __always_inline void requests_go_reads(__u64 object, __u64 g)
{
	const struct requests_go *where = requests_go_of_process();
	struct requests_go_key key = requests_go_key(object);
	__u64 goid = where ? requests_go_number(where, g) : 0;

	if (goid)
		bpf_map_update_elem(&requests_go_reading, &key, &goid, BPF_ANY);
}

/* grpc's NewStream(object): the goroutine g asks there. */
static __always_inline void requests_go_calls(__u64 object, __u64 g)
{
	const struct requests_go *where = requests_go_of_process();
	struct requests_go_key key = requests_go_key(where ? requests_go_number(where, g) : 0);

	if (key.what)
		bpf_map_update_elem(&requests_go_calling, &key, &object, BPF_ANY);
}

/* And it has that stream; 0: none. */
static __noinline int requests_go_called(__u64 stream, __u64 g)
{
	const struct requests_go *where = requests_go_of_process();
	struct requests_go_key key = requests_go_key(where ? requests_go_number(where, g) : 0);
	struct requests_started told = {
		.head = {.kind = REQUESTS_ASKS, .size = sizeof(told)},
		.pid = key.pid,
		.exec_id = key.exec_id,
		.goroutine = key.what,
	};
	__u64 *object = key.what ? bpf_map_lookup_elem(&requests_go_calling, &key) : NULL, *reader;
	void *ring = capture_ring();

	if (!object || !ring)
		return 0;
	key.what = *object;
	reader = bpf_map_lookup_elem(&requests_go_reading, &key);
	key.what = told.goroutine;
	bpf_map_delete_elem(&requests_go_calling, &key);
	told.stream = requests_go_stream_of_grpc(stream);
	if (!reader || !told.stream)
		return 0;
	told.starter = *reader;
	told.head.time = told.since = bpf_ktime_get_ns();
	requests_go_send_starts(told.goroutine, told.head.time);
	if (capture_output(ring, CAPTURE_SOURCE_REQUESTS, &told, sizeof(told), BPF_RB_NO_WAKEUP))
		capture_count_loss(CAPTURE_SOURCE_REQUESTS, CAPTURE_LOSS_RING_FULL);
	return 0;
}

#endif
