// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * requests: what programs receive and send by stream sockets. The kernel tells of each such call
 * after it is done, and of nothing else than sockets; what it moved is found by the arguments of
 * the system call, which the thread entered the kernel with. Only the beginnings of messages are
 * copied: user space finds the requests in them. Of a socket that speaks nothing that is known,
 * hardly more than the first bytes are looked at.
 */
#include "bpf/filter.h"
#include "bpf/requests/abi.h"
#include "bpf/requests/call.h"
#include "bpf/requests/process.h"
#include "bpf/requests/turn.h"
#include "bpf/requests/uring.h"
#include "bpf/requests/words.h"

#include <bpf/bpf_endian.h>

/* Bytes of a ring at which user space is woken; set before loading. */
const volatile __u32 requests_ring_full = 1 << 20;

#define SOCK_STREAM  1
#define AF_UNIX	     1
#define AF_INET	     2
#define AF_INET6     10
#define TCP_SYN_SENT 2
#define TCP_CLOSE    7
#define MSG_PEEK     2

/* What is copied of a request's head in all, and of an answer's. */
#define REQUEST_HEAD_MAX REQUESTS_COPY_MAX
#define ANSWER_HEAD_MAX	 REQUESTS_COPY_FIRST

/* Behind so long user space may have forgotten what a whole record says of a connection; ns. */
#define TOLD_FOR 30000000000ull

/* This many calls that are not understood, without one in the other direction: it is bulk data. */
#define STRANGE_CALLS_MAX 4

/* Bytes, of each direction, within which TLS begins, its first message included. */
#define TLS_WITHIN 4096

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr___requests {
	union {
		__u8 u6_addr8[16];
	} in6_u;
};

struct sock_common___requests {
	__u32 skc_daddr, skc_rcv_saddr;
	__u16 skc_dport, skc_num;
	unsigned short skc_family;
	struct in6_addr___requests skc_v6_daddr, skc_v6_rcv_saddr;
};

struct sock___requests {
	struct sock_common___requests __sk_common;
	__u16 sk_type;
};

struct sock {
	struct sock_common___requests __sk_common;
};

#pragma clang attribute pop

/* Threads that move the data of one socket in turn: a power of two. */
#define NAMED 4

/* What is known of a socket. What each call looks at comes first, in two lines of the cache. */
struct requests_socket {
	__u64 connection; /* 0: nothing yet */
	__u64 told;	  /* when a whole record was sent last; 0: not yet */
	__u64 process;	  /* requests_process_has() */
	__u64 moved[2];	  /* bytes received, bytes sent */
	__u32 room[2];	  /* bytes of the head at hand that may still be copied */
	__u8 protocol;	  /* enum requests_protocol */
	__u8 last;	  /* direction of the last call, */
	__u8 asks;	  /* and of the one by which the protocol was known */
	__u8 strange;	  /* calls that were not understood, one after the other */
	__u8 is_unix;
	__u8 is_tls; /* a socket: it moves what is encrypted; else: it is what a library decrypts */
	__u8 next_named;
	__u8 is_tied;	    /* a socket, with what a library decrypts there */
	__u64 named[NAMED]; /* threads whose names were sent */
	__u32 meant;	    /* the process that is known to be meant; 0: none */
	__u32 head;	    /* of REQUESTS_HEAD bytes alone, until it is known what it speaks */
	__u16 peer_port, own_port;
	__u8 head_of; /* its direction */
	__u8 peer[16], own[16];
	struct requests_goroutines goroutines;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct requests_socket);
} requests_sockets SEC(".maps");

/* -- sockets ----------------------------------------------------------------------------------- */

#include "bpf/requests/unix.h"

static __always_inline void map_address(__u8 to[16], __u32 address)
{
	to[10] = to[11] = 0xff;
	__builtin_memcpy(to + 12, &address, sizeof(address));
}

static __always_inline void introduce(struct requests_socket *socket, struct sock *sk)
{
	struct sock___requests *more = (void *)sk;
	__u16 family = BPF_CORE_READ(more, __sk_common.skc_family);

	socket->connection = bpf_get_socket_cookie(sk);
	socket->is_unix = family == AF_UNIX;
	socket->last = 2;
	if (family == AF_INET) {
		map_address(socket->peer, BPF_CORE_READ(more, __sk_common.skc_daddr));
		map_address(socket->own, BPF_CORE_READ(more, __sk_common.skc_rcv_saddr));
	} else if (family == AF_INET6) {
		BPF_CORE_READ_INTO(&socket->peer, more, __sk_common.skc_v6_daddr.in6_u.u6_addr8);
		BPF_CORE_READ_INTO(&socket->own, more, __sk_common.skc_v6_rcv_saddr.in6_u.u6_addr8);
	}
	if (family == AF_UNIX) {
		requests_unix_ends(sk, socket->connection, socket->own, socket->peer);
	} else {
		socket->peer_port = bpf_ntohs(BPF_CORE_READ(more, __sk_common.skc_dport));
		socket->own_port = BPF_CORE_READ(more, __sk_common.skc_num);
	}
}

static __always_inline bool is_stream(struct sock *sk)
{
	struct sock___requests *more = (void *)sk;
	__u16 family;

	if (BPF_CORE_READ(more, sk_type) != SOCK_STREAM)
		return false;
	family = BPF_CORE_READ(more, __sk_common.skc_family);
	return family == AF_INET || family == AF_INET6 || family == AF_UNIX;
}

/* Makes what is to be known of a socket; null: it is not followed, or there is no memory. */
static __always_inline struct requests_socket *meet(struct sock *sk)
{
	struct requests_socket *socket;

	if (!is_stream(sk))
		return NULL;
	socket = bpf_sk_storage_get(&requests_sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (socket)
		introduce(socket, sk);
	else
		capture_count_loss(CAPTURE_SOURCE_REQUESTS, CAPTURE_LOSS_REQUEST_NO_MEMORY);
	return socket;
}

/* -- what is copied ---------------------------------------------------------------------------- */

/* Whether what is not HTTP/1 has to be known. */
static __always_inline bool may_begin(const struct requests_socket *socket,
				      const struct requests_call *call)
{
	return !socket->protocol ||
	       (call->copied >= REQUESTS_LEAST && requests_begins_http2(call->data));
}

/*
 * Whether a connection that was not encrypted is from now on. It has said little before: a packet
 * of MySQL that begins so has 64 KiB.
 */
static __always_inline bool goes_over_to_tls(const struct requests_socket *socket,
					     const struct requests_call *call)
{
	return requests_may_encrypt(socket->protocol) && socket->moved[0] < TLS_WITHIN &&
	       socket->moved[1] < TLS_WITHIN && requests_is_tls(call->data, call->copied) &&
	       call->data[2];
}

/* Of what wanted() returns: the call is worth a record. */
#define WANTED_RECORD (1u << 31)

/*
 * How much of a call is wanted, of whose first bytes that many were copied; and WANTED_RECORD. Not
 * static, so that the verifier looks at it once.
 */
__weak __noinline __u32 wanted(struct requests_call *call, struct requests_socket *socket,
			       __u32 direction, __u32 length, __u32 turned)
{
	__u32 seems = 0, room, record = WANTED_RECORD;

	if (!call || !socket || direction > 1)
		return 0;
	if (!socket->protocol || socket->protocol == REQUESTS_HTTP)
		seems = usually(requests_is_http(call->data, call->copied)) ? REQUESTS_HTTP
			: may_begin(socket, call)
				? requests_protocol_of(call->data, call->copied, length)
				: REQUESTS_UNKNOWN;
	if (rarely(!socket->protocol)) {
		socket->protocol = seems;
		socket->asks = direction ^ requests_seems_answered(seems, call->data);
		socket->strange = seems ? 0 : socket->strange + 1;
		socket->head =
			length == REQUESTS_HEAD && call->copied == length ? word_at(call->data) : 0;
		socket->head_of = direction;
		if (!seems)
			record = 0;
		socket->is_tls |= !seems && requests_is_tls(call->data, call->copied);
	} else if (seems == REQUESTS_HTTP2 && requests_begins_http2(call->data)) {
		/* a connection of HTTP/1 has gone over to HTTP/2 */
		socket->protocol = seems;
	} else if (rarely(goes_over_to_tls(socket, call))) {
		socket->is_tls = 1;
		return 0;
	}
	if (requests_wants_all(socket->protocol))
		return record | REQUESTS_COPY_MAX;
	if (socket->protocol != REQUESTS_HTTP)
		return record |
		       (direction == socket->asks ? REQUESTS_COPY_MAX : REQUESTS_COPY_FIRST);
	if (seems == REQUESTS_HTTP)
		room = requests_is_answer(call->data) && !requests_is_switch(call->data)
			       ? ANSWER_HEAD_MAX
			       : REQUEST_HEAD_MAX;
	else if (turned && length < REQUESTS_LEAST)
		/* Go's servers wait for the next request by reading one of its bytes */
		room = REQUEST_HEAD_MAX;
	else
		room = turned ? 0 : socket->room[direction];
	socket->room[direction] = room > length ? room - length : 0;
	return record | (room < length ? room : length);
}

static __always_inline void fill(struct requests_more *more, struct requests_socket *socket,
				 __u32 direction, __u32 length)
{
	more->connection = socket->connection;
	more->offset = socket->moved[direction] - length;
	more->length = length;
	more->protocol = socket->protocol;
	more->flags = (direction ? REQUESTS_SENT : 0) | (socket->is_unix ? REQUESTS_UNIX : 0) |
		      (socket->is_tls ? REQUESTS_TLS : 0) | (length ? 0 : REQUESTS_END);
}

/* What records of a connection have now and then. */
static __always_inline void fill_addresses(struct requests_wire *wire,
					   const struct requests_socket *socket)
{
	wire->peer_port = socket->peer_port;
	wire->own_port = socket->own_port;
	__builtin_memcpy(wire->peer, socket->peer, sizeof(wire->peer));
	__builtin_memcpy(wire->own, socket->own, sizeof(wire->own));
}

/* Whether the name of a thread was sent with a socket; if not, it is now. */
static __always_inline bool is_named(struct requests_socket *socket, __u64 thread, __u32 exec_id)
{
	/* what it runs then has its own name */
	__u64 id = thread + exec_id * 0x9e3779b97f4a7c15ull;

	for (int i = 0; i < NAMED; i++)
		if (usually(socket->named[i] == id))
			return true;
	socket->named[socket->next_named++ & (NAMED - 1)] = id;
	return false;
}

/* Whether the next record of a socket must be a whole one. */
static __always_inline bool is_due(const struct requests_socket *socket, __u64 now)
{
	return !socket->told || now - socket->told > TOLD_FOR;
}

/* socket: null: there is none. Names are sent now and then: to copy one takes a tenth of all. */
static __always_inline void identify(struct requests_wire *wire, struct requests_socket *socket,
				     enum filter_answer answer)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct requests_more *more = &wire->works.more;

	wire->head.kind = REQUESTS_DATA;
	wire->head.time = bpf_ktime_get_ns();
	more->pid = task->tgid;
	more->tid = task->pid;
	more->thread_start = task->start_time;
	more->exec_id = (__u32)task->self_exec_id;
	wire->undecided = answer == FILTER_ASK;
	if (usually(socket && is_named(socket, (__u64)more->pid << 32 | more->tid, more->exec_id) &&
		    answer != FILTER_ASK && !is_due(socket, wire->head.time)))
		wire->comm[0] = 0;
	else
		bpf_get_current_comm(wire->comm, sizeof(wire->comm));
}

/* Sends that much of a record, from its head on, and what was copied. False: it is lost. */
static __always_inline bool send(struct requests_call *call, void *from, __u32 size)
{
	struct capture_head *head = from;
	void *ring = capture_ring();
	__u32 copied = call->wire.works.more.copied;
	__u64 wake = BPF_RB_NO_WAKEUP;

	if (rarely(!ring)) {
		capture_count_loss(CAPTURE_SOURCE_REQUESTS, CAPTURE_LOSS_NO_RING);
		return false;
	}
	if (copied > REQUESTS_COPY_MAX)
		copied = REQUESTS_COPY_MAX;
	head->size = size + copied;
	/* what is copied may fill a ring sooner than it is looked at by itself */
	if (rarely(!(call->sent++ & 15)) &&
	    bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) > requests_ring_full)
		wake = BPF_RB_FORCE_WAKEUP;
	if (usually(!capture_output(ring, CAPTURE_SOURCE_REQUESTS, from, size + copied, wake)))
		return true;
	capture_count_loss(CAPTURE_SOURCE_REQUESTS, CAPTURE_LOSS_RING_FULL);
	return false;
}

/* Whether a record has more than what each must have. */
static __always_inline bool is_whole(const struct requests_wire *wire,
				     const struct requests_socket *socket)
{
	return wire->comm[0] || wire->undecided || wire->works.more.flags & REQUESTS_CONTEXT ||
	       is_due(socket, wire->head.time);
}

/* Sends as little of a record as will do. */
static __always_inline void send_needed(struct requests_call *call, struct requests_socket *socket)
{
	struct requests_wire *wire = &call->wire;
	struct requests_works *works = &wire->works;

	if (rarely(is_whole(wire, socket))) {
		fill_addresses(wire, socket);
		/* user space may find that the process is not meant, and drop it */
		if (send(call, wire, sizeof(*wire)) && !wire->undecided)
			socket->told = wire->head.time;
	} else if (works->task || works->works_for) {
		works->head.kind = REQUESTS_WORKS;
		works->head.time = wire->head.time;
		send(call, works, sizeof(*works));
	} else {
		works->more.head.kind = REQUESTS_MORE;
		works->more.head.time = wire->head.time;
		send(call, &works->more, sizeof(works->more));
	}
}

/* A call whose data goes into several records. */
struct pieces {
	struct requests_call *call;
	__u32 at, length;
};

static long send_piece(__u32 i, void *context)
{
	struct pieces *pieces = context;
	struct requests_call *call = pieces->call;
	struct requests_more *more = &call->wire.works.more;
	__u32 rest = pieces->length - pieces->at;

	if (!rest)
		return 1;
	requests_call_copy(call, pieces->at, rest < REQUESTS_COPY_MAX ? rest : REQUESTS_COPY_MAX);
	more->offset += more->length;
	more->length =
		rest > REQUESTS_COPY_MAX && i + 2 < REQUESTS_PIECES_MAX ? REQUESTS_COPY_MAX : rest;
	more->copied = call->copied < more->length ? call->copied : more->length;
	send(call, &call->wire, sizeof(call->wire));
	pieces->at += more->length;
	return 0;
}

static __always_inline void send_pieces(struct requests_call *call, struct requests_socket *socket)
{
	struct requests_more *more = &call->wire.works.more;
	struct pieces pieces = {call, more->copied, more->length};

	more->length = more->copied;
	fill_addresses(&call->wire, socket);
	send(call, &call->wire, sizeof(call->wire));
	bpf_loop(REQUESTS_PIECES_MAX - 1, send_piece, &pieces, 0);
}

/* Whether a call begins with an answer: of Go, the goroutine that sends that says nothing. */
static __always_inline bool is_http_answer(const struct requests_socket *socket,
					   const struct requests_call *call)
{
	return socket->protocol == REQUESTS_HTTP && call->copied >= REQUESTS_LEAST &&
	       requests_is_answer(call->data);
}

/*
 * Whether it matters which goroutine has started the one that a call is of: that asks others, or
 * receives what may be asked for in streams, of which a server can be the first to send.
 */
static __always_inline bool wants_starts(const struct requests_socket *socket, __u32 direction)
{
	return direction ? socket->asks : socket->protocol == REQUESTS_HTTP2;
}

/* The task that sends. is_call: by a system call, and not to what encrypts it. */
static __always_inline void python_task(struct requests_works *works, bool is_call)
{
	works->task = requests_python_task();
	if (is_call && requests_has_uvloop)
		requests_uvloop_read(works);
}

/*
 * For whom the current thread works. Not static, so that the verifier looks at it once, and not
 * once for each protocol that leads here. Returns 0.
 */
__weak __noinline int read_workers(struct requests_call *call, struct requests_socket *socket,
				   __u32 direction, __u32 length)
{
	struct requests_works *works;
	struct requests_wire *wire;

	if (!call || !socket)
		return 0;
	wire = &call->wire;
	works = &wire->works;
	works->task = 0;
	works->works_for = 0;
	if (rarely(call->has & REQUESTS_HAS_CONTEXT))
		requests_context_read(wire);
	if (rarely(call->has & REQUESTS_HAS_GO)) {
		/* a thread of Go is none of an event loop */
		__builtin_memset(&works->more.turn, 0, sizeof(works->more.turn));
		if (!is_http_answer(socket, call))
			requests_go_read(works, &socket->goroutines);
		if (direction && socket->asks)
			requests_go_calls_others();
		if (wants_starts(socket, direction))
			requests_go_send_starts(works->works_for ? works->works_for : works->task,
						wire->head.time);
		return 0;
	}
	/* what a library has decrypted was read before */
	requests_turn_read(&works->more.turn, direction || socket->is_tls ? 0 : length,
			   call->number);
	if (rarely(call->by_uring))
		requests_turn_is_its_own(&works->more.turn, wire->head.time);
	if (rarely(call->has & REQUESTS_HAS_PYTHON && direction))
		python_task(works, !socket->is_tls);
	return 0;
}

/*
 * Puts the head of a message, which came by itself in the call before, in front of this one. Of a
 * connection of which it is not known what it speaks. Returns how many bytes that are.
 */
static __always_inline __u32 put_in_front(struct requests_call *call,
					  const struct requests_socket *socket, __u32 direction,
					  __u32 length)
{
	if (usually(socket->protocol || socket->head_of != direction ||
		    !requests_is_behind(socket->head, length)))
		return 0;
	__builtin_memcpy(call->data, &socket->head, REQUESTS_HEAD);
	return REQUESTS_HEAD;
}

/* Of a connection whose beginning of messages are to be found. */
static __always_inline void look(struct requests_call *call, struct requests_socket *socket,
				 __u32 direction, __u32 length, bool turned,
				 enum filter_answer answer)
{
	struct requests_more *more = &call->wire.works.more;
	__u32 want = WANTED_RECORD;

	call->copied = 0;
	call->before = put_in_front(call, socket, direction, length);
	length += call->before;
	if (length) {
		requests_call_copy_first(call, length < REQUESTS_COPY_FIRST ? length
									    : REQUESTS_COPY_FIRST);
		want = wanted(call, socket, direction, length, turned);
	}
	if (!(want & WANTED_RECORD) || !socket->protocol)
		return;
	want &= ~WANTED_RECORD;
	/* behind what was moved, a buffer's pages need not be there */
	if (want > length)
		want = length;
	if (rarely(want > REQUESTS_COPY_FIRST) && call->copied == REQUESTS_COPY_FIRST)
		requests_call_copy(call, 0, want);
	fill(more, socket, direction, length);
	identify(&call->wire, socket, answer);
	read_workers(call, socket, direction, length - call->before);
	more->copied = call->copied < want ? call->copied : want;
	if (!call->vectors.count && !call->of_file)
		more->flags |= REQUESTS_NO_CALL;
	else if (call->vectors.count && call->copied < want && call->copied < REQUESTS_COPY_MAX)
		more->flags |= REQUESTS_UNREAD;
	if (rarely(requests_wants_all(socket->protocol)) && length > REQUESTS_COPY_MAX &&
	    call->copied == REQUESTS_COPY_MAX) {
		send_pieces(call, socket);
		return;
	}
	if (rarely(more->copied < length) && length >= REQUESTS_TAIL && call->vectors.count &&
	    requests_call_tail(call, length))
		more->flags |= REQUESTS_HAS_TAIL;
	send_needed(call, socket);
}

/* Whether the current process is meant; that it is, is remembered with the socket. */
static __always_inline enum filter_answer ask(struct requests_socket *socket, __u32 pid)
{
	enum filter_answer answer;

	if (usually(socket->meant == pid && !filter_by_thread))
		return FILTER_YES;
	answer = filter_current();
	socket->meant = answer == FILTER_YES ? pid : 0;
	return answer;
}

static __always_inline void send_closed(const struct requests_socket *socket)
{
	struct requests_wire wire;
	void *ring = capture_ring();

	if (!ring)
		return;
	__builtin_memset(&wire, 0, sizeof(wire));
	wire.head.kind = REQUESTS_CLOSED;
	wire.head.size = sizeof(wire);
	wire.head.time = bpf_ktime_get_ns();
	wire.works.more.connection = socket->connection;
	if (capture_output(ring, CAPTURE_SOURCE_REQUESTS, &wire, sizeof(wire), BPF_RB_NO_WAKEUP))
		capture_count_loss(CAPTURE_SOURCE_REQUESTS, CAPTURE_LOSS_RING_FULL);
}

/* Whether a call of a connection is worth a look. */
static __always_inline bool follow(struct requests_socket *socket, __u32 direction, __u32 length,
				   bool *turned)
{
	*turned = socket->last != direction;
	socket->last = direction;
	socket->moved[direction] += length;
	if (rarely(*turned && socket->strange > 1))
		socket->strange = 1;
	return socket->protocol || (length && socket->strange < STRANGE_CALLS_MAX);
}

#include "bpf/requests/tls.h"

/*
 * frames: the functions that have moved it have theirs from there on: what a program is called with
 * lies on the stack, below them.
 */
static __always_inline int moved(struct sock *sk, int length, __u32 direction, const void *frames)
{
	struct task_struct *task;
	enum filter_answer answer;
	struct requests_socket *socket;
	struct requests_call *call;
	__u32 receives = 0, has = 0;
	bool turned;

	if (length < 0)
		return 0;
	socket = bpf_sk_storage_get(&requests_sockets, sk, 0, 0);
	task = bpf_get_current_task_btf();
	answer = usually(socket) ? ask(socket, task->tgid) : filter_current();
	if (answer == FILTER_NO)
		return 0;
	if (usually(socket))
		has = requests_process_has(&socket->process, task->tgid);
	/* a thread of Go is none of an event loop */
	if (!direction && !(has & REQUESTS_HAS_GO))
		receives = requests_turn_receive(requests_address(sk), length);
	if (rarely(!socket)) {
		socket = meet(sk);
		if (!socket)
			return 0;
		has = requests_process_has(&socket->process, task->tgid);
	}
	if (rarely(socket->is_tls)) {
		if (!socket->is_tied)
			requests_tls_tie(socket);
		return 0;
	}
	if (!follow(socket, direction, length, &turned))
		return 0;
	call = requests_call_of_socket(direction);
	if (!call)
		return 0;
	call->has = has;
	call->by_uring = 0;
	requests_call_find(call, task);
	if (rarely(requests_uring_may(call, task)))
		requests_uring_find(call, requests_address(frames), requests_address(sk), direction,
				    length);
	if (direction && !(has & REQUESTS_HAS_GO))
		receives = requests_turn_receives();
	call->wire.works.more.turn.receives = receives;
	look(call, socket, direction, length, turned, answer);
	if (rarely(socket->is_tls))
		requests_tls_tie(socket);
	return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(requests_received, struct sock *sk, int length, int flags)
{
	return flags & MSG_PEEK ? 0 : moved(sk, length, 0, ctx);
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(requests_sent, struct sock *sk, int length, int flags)
{
	return moved(sk, length, 1, ctx);
}

/* The current thread connects: for whom, what it did before may say. */
static __always_inline void send_opened(struct sock *sk)
{
	struct requests_wire wire;
	struct requests_more *more = &wire.works.more;
	enum filter_answer answer = filter_current();
	void *ring = capture_ring();

	if (answer == FILTER_NO || !ring)
		return;
	__builtin_memset(&wire, 0, sizeof(wire));
	identify(&wire, NULL, answer);
	wire.head.kind = REQUESTS_OPENED;
	wire.head.size = sizeof(wire);
	more->connection = bpf_get_socket_cookie(sk);
	more->turn.receives = requests_turn_receives();
	requests_turn_read(&more->turn, 0, 0);
	if (capture_output(ring, CAPTURE_SOURCE_REQUESTS, &wire, sizeof(wire), BPF_RB_NO_WAKEUP))
		capture_count_loss(CAPTURE_SOURCE_REQUESTS, CAPTURE_LOSS_RING_FULL);
}

/* Where one is closed, the current thread need not have anything to do with it. */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(requests_state, struct sock *sk, int before, int now)
{
	struct requests_socket *socket;

	if (now == TCP_SYN_SENT)
		send_opened(sk);
	if (now != TCP_CLOSE)
		return 0;
	socket = bpf_sk_storage_get(&requests_sockets, sk, 0, 0);
	if (socket && socket->protocol)
		send_closed(socket);
	return 0;
}

#include "bpf/requests/marker.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
