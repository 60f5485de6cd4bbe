/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_REQUESTS_ABI_H
#define BPF_REQUESTS_ABI_H

/* The records of requests.bpf.c about the data that programs send and receive. */

#include "bpf/capture/abi.h"
#include "bpf/capture/tls_abi.h"

enum {
	/* A socket received or sent data: a struct requests_wire. */
	REQUESTS_DATA = CAPTURE_KIND(CAPTURE_SOURCE_REQUESTS, 0),
	/* A connection ended: the same, but only the connection is set. */
	REQUESTS_CLOSED = CAPTURE_KIND(CAPTURE_SOURCE_REQUESTS, 1),
	/* A thread connects: the same, but only the connection, the thread and the turn are set. */
	REQUESTS_OPENED = CAPTURE_KIND(CAPTURE_SOURCE_REQUESTS, 2),
	/* A thread wrote a marker to /dev/null: the same, with the text, without a connection. */
	REQUESTS_MARKED = CAPTURE_KIND(CAPTURE_SOURCE_REQUESTS, 3),
	/*
	 * Another goroutine started one that serves or makes requests: a struct requests_started.
	 */
	REQUESTS_STARTED = CAPTURE_KIND(CAPTURE_SOURCE_REQUESTS, 4),
	/* A goroutine begins to handle an HTTP/2 stream: the same. */
	REQUESTS_HANDLES = CAPTURE_KIND(CAPTURE_SOURCE_REQUESTS, 5),
	/*
	 * A goroutine got a stream for a request: the same; starter: the goroutine that reads from
	 * it.
	 */
	REQUESTS_ASKS = CAPTURE_KIND(CAPTURE_SOURCE_REQUESTS, 6),
	/* A Unix socket has a new name: a struct requests_unix_record. */
	REQUESTS_UNIX_NAME = CAPTURE_KIND(CAPTURE_SOURCE_REQUESTS, 7),
	/* Short forms of REQUESTS_DATA after a whole record: a struct requests_works, */
	REQUESTS_WORKS = CAPTURE_KIND(CAPTURE_SOURCE_REQUESTS, 8),
	/* and a struct requests_more. */
	REQUESTS_MORE = CAPTURE_KIND(CAPTURE_SOURCE_REQUESTS, 9),
};

/* Most bytes that are copied into one record, and the size that is tried first. Powers of two. */
#define REQUESTS_COPY_MAX   4096
#define REQUESTS_COPY_FIRST 512

/*
 * Most records of one call. If messages of the protocol can begin anywhere, everything that fits
 * into them is copied.
 */
#define REQUESTS_PIECES_MAX 16

/* Number of last bytes of a call's data that a record has if a part was not copied. */
#define REQUESTS_TAIL 8

/* Likely protocol of a connection, by the first bytes of a call. */
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
	REQUESTS_SENT = 1,     /* sent; else received */
	REQUESTS_UNIX = 2,     /* a Unix socket */
	REQUESTS_END = 4,      /* the other end has closed its direction: length is 0 */
	REQUESTS_UNREAD = 8,   /* the data could not be read */
	REQUESTS_NO_CALL = 16, /* no known system call moved the data: nothing is copied */
	REQUESTS_TLS = 32,     /* read at the TLS library, in plain text */
	REQUESTS_CONTEXT = 64, /* the thread has published its trace and span */
	REQUESTS_HAS_TAIL = 128,
};

/* The probed functions: those that encrypt and decrypt, */
enum requests_tls_place {
	REQUESTS_TLS_READ,     /* SSL_read(object, buffer, size) */
	REQUESTS_TLS_WRITE,    /* SSL_write(), the same */
	REQUESTS_TLS_READ_EX,  /* SSL_read_ex(object, buffer, size, &done) */
	REQUESTS_TLS_WRITE_EX, /* SSL_write_ex(), the same */
	REQUESTS_TLS_FREE,     /* SSL_free(object) */
	REQUESTS_TLS_GO_READ,  /* crypto/tls.(*Conn).Read(object, buffer, size, …) */
	REQUESTS_TLS_GO_WRITE, /* crypto/tls.(*Conn).Write(), the same */
	REQUESTS_TLS_GO_CLOSE, /* crypto/tls.(*Conn).Close(object) */
	/* those by which net/http makes requests (requests/go.h), encrypted or not */
	REQUESTS_GO_ASKS,   /* net/http.(*persistConn).roundTrip(object, …) */
	REQUESTS_GO_WRITES, /* net/http.persistConnWriter.Write(object, …) */
	/* and those that show which goroutine works for which */
	REQUESTS_GO_STARTS,	  /* runtime.newproc has created a goroutine: its second argument */
	REQUESTS_GO_HANDLES,	  /* net/http.(*http2serverConn).runHandler(object, writer, …) */
	REQUESTS_GO_HANDLES_GRPC, /* grpc.(*Server).handleStream(object, transport, stream, …) */
	REQUESTS_GO_SENDS_GRPC,	  /* grpc/internal/transport.(*loopyWriter).run(object) */
	REQUESTS_GO_READS_GRPC,	  /* grpc/internal/transport.(*http2Client).reader(object, …) */
	REQUESTS_GO_ASKS_GRPC,	  /* …(*http2Client).NewStream(object, …), which returns it */
	REQUESTS_TLS_PLACES
};

/* The cookie of a probe: the function, and whether the probe is at an exit. */
#define REQUESTS_TLS_COOKIE(place, is_exit) ((__u64)(place) << 1 | (is_exit))

/*
 * Where a process publishes the trace context of its threads: a pointer, and offsets in its target.
 */
struct requests_context {
	struct tls_place at;
	__u8 trace_at, span_at, valid_at, unused[5];
};

/* Offsets in the structures of a Go process, and counts of the kernel side. */
struct requests_go {
	__u32 goid; /* offset of the number in the runtime's g */
	__u32 curg; /* offset of the current goroutine in its m */
	/*
	 * The kernel side sets these: the process has made requests by net/http (asks) or otherwise
	 * (calls); the number of goroutines created (starts).
	 */
	__u32 asks, calls, starts, unused;
};

/* The numbers of a goroutine and of the one that started it. */
struct requests_started {
	struct capture_head head;
	__u32 pid, exec_id;
	__u64 goroutine, starter;
	__u64 since;  /* time of its start */
	__u32 stream; /* number of the stream in its connection; 0 in a REQUESTS_STARTED */
	__u32 unused;
};

/* Offsets in the structures of a CPython process for requests/python.h, in bytes. */
struct requests_python {
	__s32 key;    /* of the thread state, from the thread pointer */
	__s32 values; /* not 0: key leads to memory that has it at offset values - 1 */
	__u16 thread_id, thread_frame, cframe_current;
	__u16 frame_code, frame_previous, frame_owner;
	__u16 code_flags;
	__u8 has_cframes, has_owners;
};

/*
 * A thread's progress. Between two calls with equal values, the thread received nothing from a
 * socket or by read(), except the end of the last data, and did not wait.
 */
struct requests_turn {
	__u32 receives, read, waits;
};

/* Longest name of a Unix socket; a name that is not a path begins with a zero byte. */
#define REQUESTS_UNIX_NAME_MAX 108

struct requests_unix_record {
	struct capture_head head;
	__u64 hash; /* as in the addresses of a struct requests_wire */
	__u32 size, unused;
	union {
		__u8 name[112];
		__u64 words[14]; /* zero after the name */
	};
};

/*
 * The shortest record (REQUESTS_MORE): an earlier record had the connection's addresses and the
 * thread's name.
 */
struct requests_more {
	struct capture_head head;
	__u64 connection; /* unique number of this socket */
	__u64 offset;	  /* bytes moved in this direction before, since the connection is known */
	/* the thread that made the call, as in a struct capture_identity */
	__u64 thread_start;
	__u8 tail[REQUESTS_TAIL]; /* with REQUESTS_HAS_TAIL */
	__u32 pid, tid, exec_id;
	__u32 length;  /* bytes of this call */
	__u16 copied;  /* bytes that follow */
	__u8 flags;    /* enum requests_flag */
	__u8 protocol; /* enum requests_protocol */
	struct requests_turn turn;
};

/* A record with the task (REQUESTS_WORKS), which ends like a struct requests_more. */
struct requests_works {
	struct capture_head head;
	/*
	 * task: number of the goroutine that made the call, or of the event loop's task that sends.
	 * works_for: number of the goroutine that it sends for, or of the task's lane if another
	 * task or none runs meanwhile. 0: none, or not known
	 */
	__u64 task, works_for;
	struct requests_more more;
};

/*
 * A whole record. The common members come last, so that a shorter record is the end of this one:
 * writing to the ring is the largest cost for a recorded program.
 */
struct requests_wire {
	struct capture_head head;
	char comm[16]; /* of the thread; "": the same as in its last record on this connection */
	/*
	 * addresses: IPv6, or IPv4 mapped into it; for a Unix socket: the number of each end's
	 * socket (0: not known) and a hash of its name (0: none), eight bytes each
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
