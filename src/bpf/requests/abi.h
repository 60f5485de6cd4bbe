/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_REQUESTS_ABI_H
#define BPF_REQUESTS_ABI_H

/* What requests.bpf.c tells of the data that programs send and receive. */

#include "bpf/capture/abi.h"

enum {
	/* A socket's data was received or sent: a struct requests_wire. */
	REQUESTS_DATA = CAPTURE_KIND(CAPTURE_SOURCE_REQUESTS, 0),
	/* A connection ended: the same, of which only the connection says something. */
	REQUESTS_CLOSED = CAPTURE_KIND(CAPTURE_SOURCE_REQUESTS, 1),
	/* A thread connects: the same, of which the connection, the thread and the turn are set. */
	REQUESTS_OPENED = CAPTURE_KIND(CAPTURE_SOURCE_REQUESTS, 2),
	/* A thread wrote a marker to /dev/null: the same, without a connection; its text. */
	REQUESTS_MARKED = CAPTURE_KIND(CAPTURE_SOURCE_REQUESTS, 3),
	/* A goroutine that asks, or is asked, was started by another: a struct requests_started. */
	REQUESTS_STARTED = CAPTURE_KIND(CAPTURE_SOURCE_REQUESTS, 4),
	/* A goroutine begins to handle a stream of HTTP/2: the same. */
	REQUESTS_HANDLES = CAPTURE_KIND(CAPTURE_SOURCE_REQUESTS, 5),
	/* A goroutine has got a stream to ask in: the same; starter: the one that reads there. */
	REQUESTS_ASKS = CAPTURE_KIND(CAPTURE_SOURCE_REQUESTS, 6),
	/* A Unix socket has a name that was not seen before: a struct requests_unix_record. */
	REQUESTS_UNIX_NAME = CAPTURE_KIND(CAPTURE_SOURCE_REQUESTS, 7),
	/* The same as REQUESTS_DATA, where that came before: a struct requests_works, */
	REQUESTS_WORKS = CAPTURE_KIND(CAPTURE_SOURCE_REQUESTS, 8),
	/* and a struct requests_more. */
	REQUESTS_MORE = CAPTURE_KIND(CAPTURE_SOURCE_REQUESTS, 9),
};

/* The most bytes that are copied into one record, and what is tried first. Powers of two. */
#define REQUESTS_COPY_MAX   4096
#define REQUESTS_COPY_FIRST 512

/*
 * The most records of one call. Of protocols whose messages can begin anywhere, all that fits into
 * them is copied.
 */
#define REQUESTS_PIECES_MAX 16

/* The last bytes of what a call received or sent, where a part was not copied. */
#define REQUESTS_TAIL 8

/* What a connection seems to speak, by the first bytes of a call. */
enum requests_protocol {
	REQUESTS_UNKNOWN,
	REQUESTS_HTTP,
	REQUESTS_REDIS,
	REQUESTS_POSTGRESQL,
	REQUESTS_HTTP2,
	REQUESTS_MYSQL,
	REQUESTS_FASTCGI,
};

enum requests_flag {
	REQUESTS_SENT = 1,     /* else received */
	REQUESTS_UNIX = 2,     /* a socket of the machine */
	REQUESTS_END = 4,      /* the other end will not send any more: length is 0 */
	REQUESTS_UNREAD = 8,   /* what should have been copied could not be read */
	REQUESTS_NO_CALL = 16, /* no system call that is known has moved it: nothing is copied */
	REQUESTS_TLS = 32,     /* read where a library encrypts or decrypts it */
	REQUESTS_CONTEXT = 64, /* the thread has published what it works for: trace and span */
	REQUESTS_HAS_TAIL = 128,
};

/* Functions that encrypt and decrypt, in whose calls data is looked at. */
enum requests_tls_place {
	REQUESTS_TLS_READ,     /* SSL_read(object, buffer, size) */
	REQUESTS_TLS_WRITE,    /* SSL_write(), the same */
	REQUESTS_TLS_READ_EX,  /* SSL_read_ex(object, buffer, size, &done) */
	REQUESTS_TLS_WRITE_EX, /* SSL_write_ex(), the same */
	REQUESTS_TLS_FREE,     /* SSL_free(object) */
	REQUESTS_TLS_GO_READ,  /* crypto/tls.(*Conn).Read(object, buffer, size, …) */
	REQUESTS_TLS_GO_WRITE, /* crypto/tls.(*Conn).Write(), the same */
	REQUESTS_TLS_GO_CLOSE, /* crypto/tls.(*Conn).Close(object) */
	/* what is asked of others by net/http (requests/go.h), encrypted or not: */
	REQUESTS_GO_ASKS,   /* net/http.(*persistConn).roundTrip(object, …) */
	REQUESTS_GO_WRITES, /* net/http.persistConnWriter.Write(object, …) */
	/* which goroutines work for which: */
	REQUESTS_GO_STARTS,	  /* runtime.newproc has made a goroutine: its second argument */
	REQUESTS_GO_HANDLES,	  /* net/http.(*http2serverConn).runHandler(object, writer, …) */
	REQUESTS_GO_HANDLES_GRPC, /* grpc.(*Server).handleStream(object, transport, stream, …) */
	REQUESTS_GO_SENDS_GRPC,	  /* grpc/internal/transport.(*loopyWriter).run(object) */
	REQUESTS_GO_READS_GRPC,	  /* grpc/internal/transport.(*http2Client).reader(object, …) */
	REQUESTS_GO_ASKS_GRPC,	  /* …(*http2Client).NewStream(object, …), which returns it */
	REQUESTS_TLS_PLACES
};

/* What a probe's cookie says: the function, and whether it ends there. */
#define REQUESTS_TLS_COOKIE(place, is_exit) ((__u64)(place) << 1 | (is_exit))

/* Where a process publishes what its threads work for: a pointer, and what stands behind it. */
struct requests_context {
	__s64 offset; /* of the pointer, from the thread pointer or from the module's block on */
	__u32 module; /* 0: it has a fixed place beside the thread pointer */
	__u8 trace_at, span_at, valid_at, unused;
};

/* Where a process that runs Go has the number of a goroutine, and in a thread the goroutine. */
struct requests_go {
	__u32 goid; /* offset in the runtime's g */
	__u32 curg; /* in its m */
	/*
	 * The kernel's side sets these: it has asked others by net/http, or by anything, and how
	 * many goroutines were made.
	 */
	__u32 asks, calls, starts, unused;
};

/* A goroutine, and the one that has started it; numbers. */
struct requests_started {
	struct capture_head head;
	__u32 pid, exec_id;
	__u64 goroutine, starter;
	__u64 since;  /* when it was started */
	__u32 stream; /* but of a REQUESTS_STARTED: its number in its connection; else 0 */
	__u32 unused;
};

/* Where a process that runs CPython has what requests/python.h looks for. Offsets in bytes. */
struct requests_python {
	__s32 key;    /* from the thread pointer: of the thread's state, */
	__s32 values; /* or, if this is not 0, of memory that has it there, plus 1 */
	__u16 thread_id, thread_frame, cframe_current;
	__u16 frame_code, frame_previous, frame_owner;
	__u16 code_flags;
	__u8 has_cframes, has_owners;
};

/*
 * Where a thread stood: two calls with the same have nothing between them that it received from a
 * socket, or by read(), but the end of what it received last; and it did not wait.
 */
struct requests_turn {
	__u32 receives, read, waits;
};

/* The longest name of a Unix socket; one that does not lead to a file begins with a zero. */
#define REQUESTS_UNIX_NAME_MAX 108

struct requests_unix_record {
	struct capture_head head;
	__u64 hash; /* as the addresses of a struct requests_record have it */
	__u32 size, unused;
	union {
		__u8 name[112];
		__u64 words[14]; /* what is behind the name is zero */
	};
};

/*
 * What a record says at least: of a connection, and a thread, whose addresses and name came with
 * one before (REQUESTS_MORE).
 */
struct requests_more {
	struct capture_head head;
	__u64 connection; /* a number of this socket alone */
	__u64 offset;	  /* bytes that were moved in this direction before, since it is known */
	/* of the thread that made the call, as in a struct capture_identity */
	__u64 thread_start;
	__u8 tail[REQUESTS_TAIL]; /* with REQUESTS_HAS_TAIL */
	__u32 pid, tid, exec_id;
	__u32 length;  /* bytes of this call, */
	__u16 copied;  /* and those of them that are here */
	__u8 flags;    /* enum requests_flag */
	__u8 protocol; /* enum requests_protocol */
	struct requests_turn turn;
};

/* And for whom (REQUESTS_WORKS): what comes last is the same as there. */
struct requests_works {
	struct capture_head head;
	/*
	 * numbers: the goroutine that made the call, or the task of an event loop that sends, and
	 * the goroutine that it sends for, or the lane of the task, if another one, or none, runs
	 * meanwhile; 0: none, or not known
	 */
	__u64 task, works_for;
	struct requests_more more;
};

/*
 * A whole record. What all have comes last, so that a shorter one is the end of this: what is
 * written to a ring is what filming costs a program most.
 */
struct requests_wire {
	struct capture_head head;
	char comm[16]; /* the thread's; without a name: the one it had there last */
	/*
	 * addresses: IPv6, or IPv4 mapped into it; of a Unix socket: the number of each end's
	 * socket (0: not known) and a hash of its name (0: it has none), eight bytes each
	 */
	__u8 peer[16], own[16];
	__u16 peer_port, own_port;
	__u8 undecided; /* as in a struct capture_identity */
	__u8 unused[3];
	__u8 trace[16], span[8];
	struct requests_works works;
	/* copied bytes */
};

#endif
