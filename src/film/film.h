/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_FILM_H
#define FILM_FILM_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#include "film/frame_kinds.h"
#include "film/waits.h"

/*
 * The contents of a film, as shared by its writer (recording half) and its reader (playing half).
 * doc/film.md describes the layout of the file.
 *
 * Ids count from 1 within their table, in the order of writing; 0 means "none". Times are
 * nanoseconds of CLOCK_MONOTONIC on the filmed machine; adding film_info.wall_offset gives
 * nanoseconds since 1970. Strings are never null: an absent string is "".
 */

#define FILM_APPLICATION_ID 0x53434d46 /* "SCMF" */
#define FILM_SCHEMA_VERSION 3
#define FILM_BUILD_ID_MAX   64
#define FILM_GAP	    "[native frames without unwind information]"

struct film_info {
	const char *version; /* version of the stackcam that wrote the film */
	const char *hostname;
	const char *kernel;  /* uname -r */
	const char *arch;    /* uname -m */
	const char *command; /* the command line that recorded it */
	uint32_t cpus;	     /* CPUs online when recording began */
	uint64_t start, end; /* end: time of the last commit */
	int64_t wall_offset; /* CLOCK_REALTIME - CLOCK_MONOTONIC at the start */
	const char *labels;  /* set by the user: "env=prod,zone=a" (film/labels.h); "": none */
	/* of functions (film/roles.h); "": none known. The writer also accepts null */
	const char *roles;
};

/* A thing that is counted or timed, e.g. {"on-cpu", "ns", "cpu-clock", 99}. */
struct film_event {
	const char *name;
	const char *unit;   /* "ns", "bytes", "count" */
	const char *source; /* what triggered the samples: "cycles", "cpu-clock" … */
	uint32_t frequency; /* requested samples per second; 0 if the event has no rate */
};

struct film_process {
	uint32_t pid, parent; /* in the recorder's pid namespace */
	uint64_t start, end;  /* end 0: still running when the film ended, or not known */
	const char *comm;     /* name of the main thread */
	const char *command;  /* arguments joined by spaces */
	const char *exe;
	const char *cgroup;    /* path of the control group */
	const char *container; /* container that the process runs in (film/container.h); "": none */
	/*
	 * its user, a name or a number, when it was met or executed its program; "": not known.
	 * Writers take null for "", in the next one too
	 */
	const char *user;
	/* what the program says of itself, as labels (film/labels.h): "service.name=shop" */
	const char *resource;
};

struct film_thread {
	uint32_t process; /* id of a film_process */
	uint32_t tid;
	uint64_t start;
	const char *comm;
};

/*
 * Whether two start times (ns, same clock) with the same tid belong to the same thread. They may
 * differ: /proc rounds a start to 10 ms, and the event that reports a start arrives slightly later.
 */
static inline bool film_same_start(uint64_t a, uint64_t b)
{
	const uint64_t near = 20000000;

	return a < b ? b - a < near : a - b < near;
}

/* What code was mapped from: a file, or a substitute for one. */
enum film_image_kind {
	FILM_IMAGE_FILE = 1,
	FILM_IMAGE_KERNEL, /* the kernel itself */
	FILM_IMAGE_MODULE, /* a kernel module, or BPF programs */
	FILM_IMAGE_VDSO,
	FILM_IMAGE_ANON,   /* memory that no file backs: JIT code */
	FILM_IMAGE_SCRIPT, /* source file that an interpreter runs */
	FILM_IMAGE_DEVICE, /* code that a GPU executes */
};

struct film_image {
	enum film_image_kind kind;
	const char *path; /* in the target's file system; or "[kernel]", "[vdso]", "[anon]" */
	uint8_t build_id[FILM_BUILD_ID_MAX];
	uint32_t build_id_size; /* bytes; 0: the image has no build id */
};

/* "native", "kernel", "jit", "mark", "python" …; "unknown" for a kind from a later version */
const char *film_frame_kind_name(unsigned int kind);

struct film_function {
	uint32_t image;
	enum film_frame_kind kind;
	const char *name; /* demangled, with parameters if the symbol has them */
};

/* film_frame.file of an unnamed frame whose start was guessed by decoding instructions. */
#define FILM_START_DECODED "[decoded]"

/*
 * One place in the code. address is the virtual address in the image's file (as objdump shows it),
 * so that the frame can be named later and on another machine; for the kernel it is the address in
 * memory, for a mark 0. A caller's frame has the return address minus one, which lies within the
 * call instruction.
 */
struct film_frame {
	uint32_t image;
	enum film_frame_kind kind;
	uint64_t address;
	/* first address of its function, from unwind information; 0: not known */
	uint64_t start;
	uint32_t function; /* id of a film_function; 0: not named (yet) */
	const char *file;  /* source file; "": not known */
	uint32_t line;
};

/*
 * The inlined calls of a frame: depth 1 is the function into which the frame's own function was
 * inlined, depth 2 the function into which that one was inlined, and so on.
 */
struct film_inline {
	uint32_t frame, depth, function;
	const char *file;
	uint32_t line;
};

/* How a frame was found. Reports mark FILM_HOW_FRAME_POINTER as a guess. */
enum film_how {
	FILM_HOW_EXACT = 0, /* by the probe itself or an unwind table */
	/* a guess: by the frame pointer, because no table covers the callee */
	FILM_HOW_FRAME_POINTER = 1,
	/* exact: a function of the interpreter that runs the adjacent frame */
	FILM_HOW_RUNTIME = 2,
};

/* Stacks form a tree: a stack is its parent's frames plus one. The root's parent is 0. */
struct film_stack {
	uint32_t parent; /* always less than the stack's own id */
	uint32_t frame;
	enum film_how how;
};

/* How many of each a film has. */
struct film_counts {
	uint32_t processes, threads, functions, frames, stacks;
};

/* Usual bytes of a process's texts (command line, control group), and of a function's name. */
enum {
	FILM_PROCESS_BYTES = 256,
	FILM_NAME_BYTES = 48
};

/* About how many bytes of memory the reader of a film needs for these. */
static inline uint64_t film_tables_size(const struct film_counts *counts)
{
	return counts->processes * (sizeof(struct film_process) + FILM_PROCESS_BYTES) +
	       counts->threads * sizeof(struct film_thread) +
	       counts->functions * (sizeof(struct film_function) + FILM_NAME_BYTES) +
	       counts->frames * sizeof(struct film_frame) +
	       counts->stacks * sizeof(struct film_stack);
}

/* What was lost, by reason. event 0: the loss does not belong to one event. */
struct film_loss {
	uint32_t event;
	const char *reason;
	uint64_t count;
};

/* One observation of a thread. value is in the event's unit. */
struct film_sample {
	uint64_t time, value;
	uint32_t thread, stack;
	uint16_t cpu; /* number of the CPU that it was made on, and 1; 0: not known */
};

/* A block of samples as columns, sorted by time. */
struct film_samples {
	size_t count;
	const uint64_t *time;
	const uint32_t *thread; /* ids of film_thread */
	const uint32_t *stack;	/* ids of film_stack; 0: no frame known */
	const uint64_t *value;
	/* allocation times of memory in use (struct film_held); else null */
	const uint64_t *born;
	/* samples that each row stands for; null: one */
	const uint32_t *count_of;
	const uint32_t *cpu; /* as of struct film_sample; null: not known of any */
};

/*
 * A call of a traced function. Calls are written when they end, so the calls of one track (a thread
 * and a lane) are in post-order: a call follows all calls that it made, and precedes them if read
 * backwards. Its caller is the next call of the same track with depth - 1. If the caller was lost,
 * the next call with that depth does not span this one's time.
 */
struct film_call {
	uint64_t end;
	/* ns of wall time, including the tracer's own cost (struct film_probe) */
	uint64_t duration;
	uint64_t waited; /* ns of duration that the thread was off CPU */
	uint32_t thread; /* id of a film_thread; 0: not known */
	/* id of the film_frame at the function's first instruction, which has its name */
	uint32_t frame;
	/*
	 * stack on which the thread ran: 0 its own; other numbers: a signal stack, a
	 * coroutine, a goroutine
	 */
	uint32_t lane;
	uint16_t depth; /* number of traced calls open around it in its lane; 0: the outermost */
	uint16_t cpu;	/* CPU on which it ended */
	uint32_t flags; /* enum film_call_flag */
};

enum film_call_flag {
	/* calls of this thread were lost between the previous call and this one */
	FILM_CALL_GAP = 1,
	FILM_CALL_INFERRED = 2, /* a guess: its return was not seen; it ended at end or earlier */
	/* it was still open when the thread, its program or the recording ended */
	FILM_CALL_OPEN = 4,
	/* enclosing calls of unseen return may have ended before this one */
	FILM_CALL_UNKNOWN = 8,
	/* with OPEN: only its entry was recorded; duration is 0 */
	FILM_CALL_BEGAN = 16,
};

/* A block of calls as columns, sorted by end. */
struct film_calls {
	size_t count;
	const uint64_t *end, *duration, *waited;
	const uint32_t *thread, *frame, *lane, *depth, *cpu, *flags;
};

/*
 * Memory that a process holds at one moment: what one thread allocated with one stack at about the
 * same time and has not freed. All rows of a process with the same time form one snapshot; do not
 * add snapshots up. A row with value 0 says that the process holds nothing.
 */
struct film_held {
	uint64_t time;
	uint64_t value; /* bytes */
	uint64_t born;	/* time of the allocation, at most time; 0: not known, or long before */
	uint32_t thread, stack;
	uint32_t count; /* number of allocations, as far as known; 0: not known */
};

/* A block of them, as columns, sorted by time. */
struct film_helds {
	size_t count;
	const uint64_t *time, *value, *born;
	const uint32_t *thread, *stack, *count_of;
};

/* Protocol of a request. */
enum film_protocol {
	FILM_PROTOCOL_UNKNOWN,
	FILM_PROTOCOL_HTTP,
	FILM_PROTOCOL_REDIS,
	FILM_PROTOCOL_POSTGRESQL,
	FILM_PROTOCOL_MYSQL,
	FILM_PROTOCOL_HTTP2,
	FILM_PROTOCOL_GRPC,
	FILM_PROTOCOL_MARKER, /* lines that the program writes to /dev/null */
	FILM_PROTOCOL_FASTCGI,
};

/* "http", "redis", "postgresql" …; "unknown" for a protocol from a later version */
const char *film_protocol_name(unsigned int protocol);

enum film_request_role {
	FILM_REQUEST_SERVED = 1, /* the process received the request */
	FILM_REQUEST_MADE = 2,	 /* the process sent the request to another one */
};

/* Source of a request's id. */
enum film_request_id_kind {
	FILM_REQUEST_ID_NONE,	     /* no id: the request has only its number */
	FILM_REQUEST_ID_TRACEPARENT, /* the trace id of that header, as with the next three */
	FILM_REQUEST_ID_B3,
	FILM_REQUEST_ID_SW8,
	FILM_REQUEST_ID_UBER,
	FILM_REQUEST_ID_REQUEST_ID, /* x-request-id */
	FILM_REQUEST_ID_CONTEXT,    /* a trace id that its thread published */
	FILM_REQUEST_ID_MARKER,	    /* the text of the program's marker */
};

enum film_request_flag {
	/* an error by the rules of its protocol: HTTP status 500 or more */
	FILM_REQUEST_FAILED = 1,
	/*
	 * the answer was not complete when the film or the connection ended: end is the time of the
	 * last byte of the answer, or, if there was none, of that end
	 */
	FILM_REQUEST_OPEN = 2,
	FILM_REQUEST_UNANSWERED = 4, /* no byte of an answer was seen */
	/* the answer's length was not known: end is its last byte so far */
	FILM_REQUEST_END_GUESSED = 8,
	FILM_REQUEST_PATH_CUT = 16, /* path is truncated */
	FILM_REQUEST_ID_CUT = 32,
	FILM_REQUEST_TLS = 64,	 /* read in plain text, at the TLS library */
	FILM_REQUEST_UNIX = 128, /* over a Unix socket: see peer and own */
	/*
	 * How parent is known; without any of these flags: by the thread. Here: both have the same
	 * id
	 */
	FILM_REQUEST_PARENT_BY_ID = 256,
	/* by the order in which a thread that serves several requests at once received and sent */
	FILM_REQUEST_PARENT_BY_ORDER = 2048,
	/*
	 * by the goroutine: it received the parent and sent this request, itself or through
	 * net/http
	 */
	FILM_REQUEST_PARENT_BY_GOROUTINE = 4096,
	/* by the task of an event loop: it sent this request and answered the parent */
	FILM_REQUEST_PARENT_BY_TASK = 8192,
	/* by a marker: the thread named the request it works on, or the request named its parent */
	FILM_REQUEST_PARENT_BY_MARKER = 16384,
	/*
	 * by the start of a goroutine: the one that served the parent started the one that sent
	 * this request
	 */
	FILM_REQUEST_PARENT_BY_START = 32768,
	/* by content: a proxy forwarded the parent as this request */
	FILM_REQUEST_PARENT_BY_CONTENT = 65536,
	FILM_REQUEST_COPY_LOST = 512, /* a part of the data was not seen: sizes are too small */
	/*
	 * the request continues in the next film, which has a row for it, too; end is the end of
	 * this film
	 */
	FILM_REQUEST_GOES_ON = 1024,
};

/*
 * A request that a process served or made. It begins when the process has received (served) or sent
 * (made) the first bytes, and ends when it has sent or received the last byte of the answer. Texts
 * end at their first zero byte, or fill their array.
 */
#define FILM_REQUEST_PATH     64
#define FILM_REQUEST_ID	      40
#define FILM_REQUEST_NOT_OVER ", not over yet" /* ends the role of a request that continues */
struct film_request {
	uint64_t end;
	uint64_t duration; /* ns, at most end */
	uint64_t first;	   /* ns from its beginning to the first byte of the answer; 0: no answer */
	uint64_t received, sent; /* bytes that the process received and sent */
	uint64_t connection;	 /* number of the connection, unique in this film */
	uint64_t number;	 /* number of the request, unique on this machine */
	uint64_t parent; /* number of the served request that it was made for; 0: not known */
	/*
	 * Go: number of the goroutine that serves it, or for which it is made; uvloop: number of
	 * the task that wrote its answer; 0: not known
	 */
	uint64_t goroutine;
	/*
	 * Addresses of the other end and of this one: IPv6, or IPv4 mapped into it, in network byte
	 * order. For a Unix socket: [0] is a number that is unique to this socket on all machines
	 * (0: not known), [1] a hash of the name that it is bound to (0: none)
	 */
	uint64_t peer[2], own[2];
	char path[FILM_REQUEST_PATH]; /* as the request has it */
	char id[FILM_REQUEST_ID];
	uint32_t thread; /* thread that received or sent its first bytes */
	uint32_t stack;	 /* of marks: "served" or "made", the protocol, the endpoint */
	/* a mark, e.g. "GET /orders/" and a star; 0: the table of frames was full */
	uint32_t endpoint;
	uint32_t answerer; /* thread that sent or received the first byte of the answer */
	uint32_t status;   /* status code of HTTP and gRPC; else 0 */
	/* a mark: the address on which the server of a Unix socket listens; 0: not known */
	uint32_t place;
	uint32_t flags;	 /* enum film_request_flag */
	uint32_t stream; /* HTTP/2: id of the stream, the same at both ends; else 0 */
	uint16_t peer_port, own_port;
	uint8_t protocol; /* enum film_protocol */
	uint8_t role;	  /* enum film_request_role */
	uint8_t id_kind;  /* enum film_request_id_kind */
};

/* A block of requests as columns, sorted by end; each 8 bytes of a text are a column. */
struct film_requests {
	size_t count;
	const uint64_t *end, *duration, *first, *received, *sent, *connection, *number, *parent;
	const uint64_t *goroutine;
	const uint32_t *place;
	const uint64_t *peer[2], *own[2];
	const uint64_t *path[FILM_REQUEST_PATH / 8], *id[FILM_REQUEST_ID / 8];
	const uint32_t *thread, *stack, *endpoint, *answerer, *status, *flags, *peer_port,
		*own_port, *protocol, *role, *id_kind, *stream;
};

/* Role of a row among a call's values. */
enum film_value_part {
	FILM_VALUE_NONE,     /* the only row of a call without values */
	FILM_VALUE_ARGUMENT, /* an argument, or a variable of a probed line */
	FILM_VALUE_RESULT,
	FILM_VALUE_MORE, /* more bytes of the previous row's text */
};

/*
 * An argument or a result of a traced call: a node of a tree. The rows of a tree follow each other,
 * parents before children, arguments before results. end, duration, thread and frame identify the
 * call: they are equal in all of its rows and in its struct film_call. Names of parameters and
 * types are marks.
 */
#define FILM_VALUE_TEXT 32
struct film_value {
	uint64_t end, duration; /* of the call */
	uint64_t goroutine;	/* 0: none */
	/* as in struct shown; a real number as the bits of a double; 0 for an object */
	uint64_t number;
	uint64_t length;
	char text[FILM_VALUE_TEXT]; /* the rest follows in rows of FILM_VALUE_MORE */
	uint32_t thread, frame;	    /* of the call */
	uint32_t name, type;	    /* marks; 0: none */
	uint32_t place;		    /* index in the tree: 0 is the call's first row */
	uint32_t children;	    /* number of direct children */
	uint32_t size;		    /* bytes of text that the film has */
	uint8_t part;		    /* enum film_value_part */
	uint8_t kind, status;	    /* enum shown_kind, enum shown_status (base/shown.h) */
	uint8_t flags;		    /* enum film_call_flag of the call: OPEN, INFERRED */
};

/* A block of them, as columns, sorted by end. */
struct film_values {
	size_t count;
	const uint64_t *end, *duration, *goroutine, *number, *length, *text[FILM_VALUE_TEXT / 8];
	const uint32_t *thread, *frame, *name, *type, *place, *children, *size, *part, *kind,
		*status, *flags;
};

/*
 * Cost of tracing a function, measured on the filmed machine. Readers subtract it from durations.
 */
struct film_probe {
	uint32_t frame;
	uint32_t own; /* ns of each call's cost within its own duration */
	/* ns that each call adds to its callers' durations; includes own */
	uint32_t outer;
	/*
	 * accuracy of a duration less own, in ns; 0: not known, in films of earlier
	 * versions
	 */
	uint32_t error;
};

/*
 * Sums of a function's calls over some time, where the calls were not kept one by one. Rows of the
 * same frame add up, except min and max, of which the extreme counts. Times are in ns.
 */
#define FILM_SUM_BUCKETS 40
struct film_sum {
	uint32_t frame;
	uint64_t calls, total, self, waited, min, max;
	uint64_t recursive; /* ns of total in calls within a call of the same function */
	uint64_t inferred;  /* number of calls as with FILM_CALL_INFERRED */
	/*
	 * calls by duration: bucket b counts [2^b, 2^(b+1)) ns; the first also counts 0, the last
	 * all longer calls
	 */
	uint64_t buckets[FILM_SUM_BUCKETS];
};

#endif
