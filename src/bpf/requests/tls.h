/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_REQUESTS_TLS_H
#define BPF_REQUESTS_TLS_H

/*
 * What programs encrypt and decrypt: looked at in the calls of the library that does it, OpenSSL or
 * Go's crypto/tls. To the rest, the library's object of a connection is a socket of its own. Which
 * socket it has is seen where a thread, or a goroutine, moves what is encrypted within such a call;
 * programs that do that elsewhere have no addresses.
 *
 * The ends of calls are seen at their "ret" instructions: nothing changes in the stack of a
 * program.
 */

#define REQUESTS_TLS_OBJECTS 16384

struct requests_tls_key {
	__u64 object;
	__u32 pid, unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, REQUESTS_TLS_OBJECTS);
	__type(key, struct requests_tls_key);
	__type(value, struct requests_socket);
} requests_tls_objects SEC(".maps");

/* A call that goes on: of a thread, or of a goroutine, which can change its thread meanwhile. */
struct requests_tls_call {
	__u64 object, buffer, done_at;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, REQUESTS_TLS_OBJECTS);
	__type(key, struct requests_tls_key);
	__type(value, struct requests_tls_call);
} requests_tls_calls SEC(".maps");

static __always_inline struct requests_tls_key requests_tls_key(__u64 object)
{
	return (struct requests_tls_key){.object = object, .pid = bpf_get_current_pid_tgid() >> 32};
}

/* Numbers of threads are at most that (PID_MAX_LIMIT), and addresses of goroutines are above it. */
#define THREADS_MOST (1u << 22)

/*
 * The call of the current thread, or else of its goroutine, which the thread may just have taken.
 */
static __always_inline struct requests_tls_call *requests_tls_current(void)
{
	struct requests_tls_key key = requests_tls_key((__u32)bpf_get_current_pid_tgid());
	struct requests_tls_call *call = bpf_map_lookup_elem(&requests_tls_calls, &key);
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 base = TASK_THREAD_POINTER(task);

	if (call || !base ||
	    bpf_probe_read_user(&key.object, sizeof(key.object), (void *)(base + GO_G_FROM_FS)) ||
	    key.object <= THREADS_MOST)
		return call;
	return bpf_map_lookup_elem(&requests_tls_calls, &key);
}

/* The socket whose data the current thread's call encrypts or decrypts. */
static __always_inline void requests_tls_tie(struct requests_socket *socket)
{
	struct requests_tls_key key = requests_tls_key(0);
	struct requests_tls_call *call = requests_tls_current();
	struct requests_socket *object;

	if (!call)
		return;
	key.object = call->object;
	object = bpf_map_lookup_elem(&requests_tls_objects, &key);
	if (!object)
		return;
	__builtin_memcpy(object->peer, socket->peer, sizeof(object->peer));
	__builtin_memcpy(object->own, socket->own, sizeof(object->own));
	object->peer_port = socket->peer_port;
	object->own_port = socket->own_port;
	object->is_unix = socket->is_unix;
	object->told = 0;
	socket->is_tied = 1;
}

/* By itself: before Linux 6.13 all that call each other share 512 bytes of stack. */
static __noinline int requests_tls_add(__u64 at)
{
	struct requests_tls_key key = requests_tls_key(at);
	struct requests_socket fresh = {};

	/* no socket's number, and no other object's: of one CPU at one time */
	fresh.connection =
		1ull << 63 | bpf_ktime_get_ns() << 8 | (bpf_get_smp_processor_id() & 255);
	fresh.last = 2;
	fresh.is_tls = 1;
	return bpf_map_update_elem(&requests_tls_objects, &key, &fresh, BPF_ANY);
}

static __always_inline struct requests_socket *requests_tls_meet(__u64 at)
{
	struct requests_tls_key key = requests_tls_key(at);
	struct requests_socket *object;

	object = bpf_map_lookup_elem(&requests_tls_objects, &key);
	if (object)
		return object;
	requests_tls_add(at);
	return bpf_map_lookup_elem(&requests_tls_objects, &key);
}

/*
 * Not static, so that the verifier looks at it once, and not once for each way that leads here,
 * which took it ten times as long. Returns 0.
 */
__weak __noinline int requests_tls_moved(__u64 at, __u64 buffer, __u64 length, __u32 direction,
					 enum filter_answer answer)
{
	struct requests_socket *object = requests_tls_meet(at);
	struct requests_call *call;
	bool turned;

	direction = direction != 0;
	if (!object || length > 1u << 30 || !follow(object, direction, length, &turned))
		return 0;
	call = requests_call_begin(direction);
	if (!call)
		return 0;
	call->vectors.window = 0;
	call->of_file = 0;
	call->number = 0;
	call->vectors.count = 1;
	call->vectors.held[0].base = buffer;
	call->vectors.held[0].size = length;
	call->wire.works.more.turn.receives = requests_turn_receives();
	call->has = requests_process_has(&object->process, bpf_get_current_pid_tgid() >> 32);
	look(call, object, direction, length, turned, answer);
	requests_call_end(call);
	return 0;
}

/* By itself, too, for the record that it has on the stack. */
static __noinline int requests_tls_closed(__u64 at)
{
	struct requests_tls_key key = requests_tls_key(at);
	struct requests_socket *object = bpf_map_lookup_elem(&requests_tls_objects, &key);

	if (!object)
		return 0;
	if (object->protocol)
		send_closed(object);
	bpf_map_delete_elem(&requests_tls_objects, &key);
	return 0;
}

/* What says which goroutine works for which. */
static __noinline int requests_tls_enter_go(struct probe_regs *regs, __u32 place)
{
	__u64 first = REGS_LOAD(REGS_GO_ARG1(regs)), second = REGS_LOAD(REGS_GO_ARG2(regs));
	__u64 fourth = REGS_LOAD(REGS_GO_ARG4(regs)), g = REGS_LOAD(REGS_GO_G(regs));

	switch (place) {
	case REQUESTS_GO_ASKS:
		requests_go_asks(first, g);
		break;
	case REQUESTS_GO_WRITES:
		requests_go_writes(first, g);
		break;
	case REQUESTS_GO_STARTS:
		requests_go_starts(second, g);
		break;
	case REQUESTS_GO_HANDLES:
		requests_go_handles(requests_go_stream_of(first, second), g);
		break;
	case REQUESTS_GO_HANDLES_GRPC:
		requests_go_handles(requests_go_stream_of_grpc(fourth), g);
		break;
	case REQUESTS_GO_SENDS_GRPC:
		requests_go_sends_for_all(g);
		break;
	case REQUESTS_GO_READS_GRPC:
		requests_go_reads(first, g);
		break;
	case REQUESTS_GO_ASKS_GRPC:
		requests_go_calls(first, g);
		break;
	}
	return 0;
}

/* A call begins. Of Go's, what is written is there, and will be sent. */
static __always_inline void requests_tls_enter(struct probe_regs *regs, __u32 place,
					       enum filter_answer answer)
{
	bool is_go = place >= REQUESTS_TLS_GO_READ;
	__u64 go_first = REGS_LOAD(REGS_GO_ARG1(regs)), first = REGS_LOAD(REGS_ARG1(regs));
	__u64 go_second = REGS_LOAD(REGS_GO_ARG2(regs)), second = REGS_LOAD(REGS_ARG2(regs));
	__u64 go_third = REGS_LOAD(REGS_GO_ARG3(regs)), fourth = REGS_LOAD(REGS_ARG4(regs));
	__u64 g = REGS_LOAD(REGS_GO_G(regs));
	bool is_ex = place == REQUESTS_TLS_READ_EX || place == REQUESTS_TLS_WRITE_EX;
	struct requests_tls_call call = {
		.object = is_go ? go_first : first,
		.buffer = is_go ? go_second : second,
		.done_at = is_ex ? fourth : 0,
	};
	struct requests_tls_key key;

	if (place == REQUESTS_TLS_FREE || place == REQUESTS_TLS_GO_CLOSE) {
		requests_tls_closed(call.object);
		return;
	}
	if (place == REQUESTS_TLS_GO_WRITE) {
		requests_tls_moved(call.object, call.buffer, go_third, 1, answer);
		return;
	}
	/* (numbers of threads are small, where a goroutine is an address) */
	key = requests_tls_key(is_go ? g : (__u32)bpf_get_current_pid_tgid());
	if (requests_tls_meet(call.object))
		bpf_map_update_elem(&requests_tls_calls, &key, &call, BPF_ANY);
}

/* And ends: with that many bytes, or with a success whose bytes are written elsewhere. */
static __always_inline void requests_tls_leave(struct probe_regs *regs, __u32 place,
					       enum filter_answer answer)
{
	bool is_go = place >= REQUESTS_TLS_GO_READ;
	/* Go's first result is where C's is */
	__u64 result = REGS_LOAD(REGS_RESULT(regs)), g = REGS_LOAD(REGS_GO_G(regs));
	struct requests_tls_key key =
		requests_tls_key(is_go ? g : (__u32)bpf_get_current_pid_tgid());
	struct requests_tls_call *found = bpf_map_lookup_elem(&requests_tls_calls, &key), call;
	__u64 done = is_go ? result : (__u64)(int)result;

	if (!found)
		return;
	call = *found;
	bpf_map_delete_elem(&requests_tls_calls, &key);
	if ((__s64)done <= 0)
		return;
	if (call.done_at && bpf_probe_read_user(&done, sizeof(done), (void *)call.done_at))
		return;
	requests_tls_moved(call.object, call.buffer, done,
			   place == REQUESTS_TLS_WRITE || place == REQUESTS_TLS_WRITE_EX, answer);
}

SEC("uprobe")
int requests_tls_site(struct probe_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	enum filter_answer answer = filter_current();

	capture_on_own_stack(ctx);
	if (answer == FILTER_NO)
		return 0;
	if (cookie >> 1 >= REQUESTS_GO_ASKS && cookie & 1)
		requests_go_called(REGS_LOAD(REGS_GO_ARG1(ctx)), REGS_LOAD(REGS_GO_G(ctx)));
	else if (cookie >> 1 >= REQUESTS_GO_ASKS)
		requests_tls_enter_go(ctx, cookie >> 1);
	else if (cookie & 1)
		requests_tls_leave(ctx, cookie >> 1, answer);
	else
		requests_tls_enter(ctx, cookie >> 1, answer);
	return 0;
}

#endif
