/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_FILM_H
#define FILM_FILM_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * What a film holds: the words shared by its writer (recording half) and its reader (playing half).
 * doc/film.md describes how these lie in the file.
 *
 * Ids count from 1 within their table, in the order of writing; 0 means "none". Times are
 * nanoseconds of CLOCK_MONOTONIC of the filmed machine; struct film_info holds what must be added
 * to get nanoseconds since 1970. Strings are never null: an absent one is "".
 */

#define FILM_APPLICATION_ID 0x53434d46 /* "SCMF" */
#define FILM_SCHEMA_VERSION 2
#define FILM_BUILD_ID_MAX   64
#define FILM_GAP	    "[native frames without unwind information]"

struct film_info {
	const char *version; /* of the stackcam that wrote it */
	const char *hostname;
	const char *kernel;  /* uname -r */
	const char *arch;    /* uname -m */
	const char *command; /* the command line that recorded it */
	uint32_t cpus;	     /* online when recording began */
	uint64_t start, end; /* end: of the last commit */
	int64_t wall_offset; /* CLOCK_REALTIME - CLOCK_MONOTONIC at the start */
	const char *labels;  /* that a user gave: "env=prod,zone=a" (film/labels.h), "": none */
	const char *roles;   /* of functions (film/roles.h); "", or to write null: none is known */
};

/* What is counted or timed, e.g. {"on-cpu", "ns", 99}. */
struct film_event {
	const char *name;
	const char *unit;   /* "ns", "bytes", "count" */
	const char *source; /* where it came from: "cycles", "cpu-clock" … */
	uint32_t frequency; /* samples per second asked for; 0 where it means nothing */
};

struct film_process {
	uint32_t pid, parent; /* as numbers of the recorder's pid namespace */
	uint64_t start, end;  /* end 0: lived when the film ended, or not known */
	const char *comm;     /* name of the main thread */
	const char *command;  /* arguments joined by spaces */
	const char *exe;
	const char *cgroup;    /* path of the control group */
	const char *container; /* of which it is one (film/container.h), "" outside of one */
};

struct film_thread {
	uint32_t process; /* id of the process */
	uint32_t tid;
	uint64_t start;
	const char *comm;
};

/*
 * Whether two starts (ns of one clock) are of one thread, if its number is the same: /proc knows a
 * start to 10 ms, and the event that tells a start comes a bit later.
 */
static inline bool film_same_start(uint64_t a, uint64_t b)
{
	const uint64_t near = 20000000;

	return a < b ? b - a < near : a - b < near;
}

/* A file (or what stands for one) that code was mapped from. */
enum film_image_kind {
	FILM_IMAGE_FILE = 1,
	FILM_IMAGE_KERNEL, /* the kernel itself */
	FILM_IMAGE_MODULE, /* a kernel module, or BPF programs */
	FILM_IMAGE_VDSO,
	FILM_IMAGE_ANON,   /* memory without a file: JIT code */
	FILM_IMAGE_SCRIPT, /* the source of what an interpreter runs */
};

struct film_image {
	enum film_image_kind kind;
	const char *path; /* as the target saw it; "[kernel]", "[vdso]", "[anon]" */
	uint8_t build_id[FILM_BUILD_ID_MAX];
	uint32_t build_id_size; /* 0: it has none */
};

/* Kinds of frames; runtimes add theirs at the end. The names are film_frame_kind_name(). */
enum film_frame_kind {
	FILM_FRAME_NATIVE = 1,
	FILM_FRAME_KERNEL,
	FILM_FRAME_JIT, /* code without a file, named by a perf map or not at all */
	/*
	 * No code. At the root: says why a stack has no more frames, "[truncated: …]". FILM_GAP
	 * stands for frames that are missing between those beside it; others on top say more of
	 * what the stack stands for, "[chan receive]".
	 */
	FILM_FRAME_MARK,
	/* found by the structures of a language's runtime, whose addresses are just numbers: */
	FILM_FRAME_PYTHON,
	FILM_FRAME_JAVA,
	FILM_FRAME_LUA,
	FILM_FRAME_JAVASCRIPT,
	/* no code, at the root: what the program says of its work, "endpoint=/buy" */
	FILM_FRAME_LABEL,
};

/* "native", "kernel", "jit", "mark", "python" …; "unknown" for a kind of a later version */
const char *film_frame_kind_name(unsigned int kind);

struct film_function {
	uint32_t image;
	enum film_frame_kind kind;
	const char *name; /* demangled, with parameters if the symbol had them */
};

/*
 * One place in the code. address is the virtual address inside the image's file (as objdump shows
 * it), so that it can be named later and elsewhere; for the kernel the address in memory; for a
 * mark
 * 0. For a caller's frame it is the return address minus one, which lies inside the call.
 */
/*
 * The source file of a frame without a name whose start was found by decoding code, which is a
 * guess.
 */
#define FILM_START_DECODED "[decoded]"

struct film_frame {
	uint32_t image;
	enum film_frame_kind kind;
	uint64_t address;
	uint64_t start;	   /* where its function begins, by unwind information; 0: not known */
	uint32_t function; /* 0: not named (yet) */
	const char *file;  /* source file, "" when not known */
	uint32_t line;
};

/*
 * Inlined calls of one frame: depth 1 is the function that the frame's own function was inlined
 * into.
 */
struct film_inline {
	uint32_t frame, depth, function;
	const char *file;
	uint32_t line;
};

/* How a frame was found. What is not exact is a guess, and is shown as one. */
enum film_how {
	FILM_HOW_EXACT = 0, /* the probe itself, or an unwind table */
	FILM_HOW_FRAME_POINTER =
		1, /* no table covered the callee: the frame pointer was followed */
	FILM_HOW_RUNTIME =
		2, /* exactly; it is a part of the interpreter, which runs the frame beside it */
};

/* Stacks are a tree: a stack is its parent's frames plus one. The root's parent is 0. */
struct film_stack {
	uint32_t parent; /* always smaller than its own id */
	uint32_t frame;
	enum film_how how;
};

/* What was lost, by reason. event 0: not bound to one event. */
struct film_loss {
	uint32_t event;
	const char *reason;
	uint64_t count;
};

/* One observation. value is in the event's unit. */
struct film_sample {
	uint64_t time, value;
	uint32_t thread, stack;
};

/* A block of samples, as columns. Sorted by time. */
struct film_samples {
	size_t count;
	const uint64_t *time;
	const uint32_t *thread; /* ids of film_thread */
	const uint32_t *stack;	/* ids of film_stack; 0: no frame is known */
	const uint64_t *value;
	const uint64_t
		*born; /* of memory in use (struct film_held); null: they have no such time */
	const uint32_t *count_of; /* the same: how many samples each row is; null: each is one */
};

/*
 * A call of a function that was traced. Calls are written when they end, so that those of one track
 * (a thread's stack) come in post-order: a call stands behind all that it called, and read
 * backwards, a call stands before them. depth tells which call made it: the next one of the same
 * track with a depth of one less. If that one was lost, the next one with this depth does not
 * contain it in time.
 */
struct film_call {
	uint64_t end;
	uint64_t duration; /* ns of wall time, the tracer's own cost included (struct film_probe) */
	uint64_t waited;   /* of duration: ns in which the thread was on no CPU */
	uint32_t thread;   /* id of a film_thread; 0: not known */
	uint32_t frame;	   /* where the function begins; its name is the frame's */
	uint32_t
		/*
		 * which of the thread's stacks: 0 its own; others: of signals, coroutines; or a
		 * goroutine
		 */
		lane;
	uint16_t depth; /* traced calls open below it on that stack; 0: the outermost */
	uint16_t cpu;	/* on which it ended */
	uint32_t flags; /* enum film_call_flag */
};

enum film_call_flag {
	FILM_CALL_GAP = 1, /* calls of this thread were lost between the one before it and this */
	FILM_CALL_INFERRED = 2, /* its return was not seen: it ended at end or before, a guess */
	FILM_CALL_OPEN = 4, /* it had not ended when the thread, its program or the recording did */
	FILM_CALL_UNKNOWN =
		/* of the calls around it, those whose return was not seen may have ended before */
		8,
	/* with OPEN: nothing but its beginning was looked at, and duration is 0 */
	FILM_CALL_BEGAN = 16,
};

/* A block of calls, as columns, sorted by end. */
struct film_calls {
	size_t count;
	const uint64_t *end, *duration, *waited;
	const uint32_t *thread, *frame, *lane, *depth, *cpu, *flags;
};

/*
 * A time in which a thread did not run, and the evidence of what for. What it was for is decided by
 * the reader (film/wait_rules.h), so that a rule that is put right is right for films that are
 * there.
 */
#define FILM_WAIT_ARGUMENTS 4
struct film_wait {
	uint64_t end;
	uint64_t duration; /* ns, at most end */
	/*
	 * of the system call, as they were in registers; 0 where they say nothing. Of a goroutine,
	 * its number and the address of the runtime's record
	 */
	uint64_t arguments[FILM_WAIT_ARGUMENTS];
	uint32_t thread, stack; /* as of a sample */
	uint32_t waker,
		waker_stack; /* the thread that ended it, and its stack then; 0: not known */
	uint32_t count;	     /* of waits that it stands for: 1, or of FILM_WAIT_SAMPLED more */
	/*
	 * number of the system call, and 1; 0: in none, as in a page fault. Of a goroutine, enum
	 * film_go_reason and 1
	 */
	uint16_t call;
	uint8_t context;    /* enum film_wait_context */
	uint8_t state;	    /* enum film_wait_state */
	uint8_t descriptor; /* enum film_descriptor: of the system call's */
	uint32_t flags;	    /* enum film_wait_flag */
};

/* Where the waker ran when it ended the wait. */
enum film_wait_context {
	FILM_WAIT_BY_NONE, /* not known */
	FILM_WAIT_BY_THREAD,
	/* In these the current thread, which is the waker, is mostly an innocent one. */
	FILM_WAIT_BY_SOFTIRQ,
	FILM_WAIT_BY_INTERRUPT,
	FILM_WAIT_BY_TIMER,
	FILM_WAIT_BY_EITHER, /* a thread or an interrupt */
};

/* What the thread's state was, as /proc/PID/status has it. */
enum film_wait_state {
	FILM_WAIT_RUNS = 'O',  /* it is on a CPU: of the event dump only */
	FILM_WAIT_READY = 'R', /* it could have run */
	FILM_WAIT_SLEEPS = 'S',
	FILM_WAIT_BLOCKED = 'D',
	FILM_WAIT_IDLE = 'I', /* a thread of the kernel without work */
	FILM_WAIT_STOPPED = 'T',
	FILM_WAIT_TRACED = 't',
	FILM_WAIT_FROZEN = 'F',
	FILM_WAIT_GOROUTINE = 'G', /* a goroutine waits; no thread does with it */
};

/* What a descriptor is of. */
enum film_descriptor {
	FILM_FD_NONE, /* there is none, or it is not known */
	FILM_FD_FILE,
	FILM_FD_DIRECTORY,
	FILM_FD_BLOCK_DEVICE,
	FILM_FD_DEVICE, /* of characters: a terminal, say */
	FILM_FD_PIPE,
	FILM_FD_SOCKET, /* of the network */
	FILM_FD_UNIX_SOCKET,
	FILM_FD_EVENT,
	FILM_FD_TIMER,
	FILM_FD_SIGNAL,
	FILM_FD_EPOLL,
	FILM_FD_NOTIFY,
	FILM_FD_PROCESS,
	FILM_FD_IO_URING,
	FILM_FD_OTHER,
	FILM_FD_PATH, /* no descriptor, but a path that the system call is given */
};

enum film_wait_flag {
	FILM_WAIT_SAMPLED =
		1, /* stands for count waits, each too short to be told of; duration is of all */
	FILM_WAIT_OPEN = 2,    /* a part of one that went on */
	FILM_WAIT_BEFORE = 4,  /* it began before it was seen: a part, or all, of what it took */
	FILM_WAIT_IOWAIT = 8,  /* the kernel counted it as waiting for a disk */
	FILM_WAIT_KERNEL = 16, /* of a thread of the kernel */
};

/* A block of waits, as columns, sorted by end. */
struct film_waits {
	size_t count;
	const uint64_t *end, *duration;
	const uint64_t *arguments[FILM_WAIT_ARGUMENTS];
	const uint32_t *thread, *stack, *waker, *waker_stack, *count_of, *call, *context, *state,
		*descriptor, *flags;
};

/*
 * A turn of a thread: a stay on a CPU, and the time off it until the next one begins. The turns of
 * a thread follow each other without a gap, so that they are all of its life; each is the times
 * below in this order, and ends at its end. A goroutine has turns, too: it stands in the film as a
 * thread of its process, with the lowest bits of its number, and its waits are as those of a
 * film_wait of one. A reader need not look far behind a moment for what
 * covers it: the writer cuts a turn into parts of at most FILM_TURN_MAX.
 */
#define FILM_TURN_MAX 1000000000ull /* ns */
/* No power of two: the writer sorts and copies rows, and those of 128 bytes take it 5 % longer. */
struct film_turn {
	uint64_t end;
	uint64_t unseen; /* of which nothing is known: records were lost */
	uint64_t ran;	 /* on the CPU */
	uint64_t waited; /* until it was woken, */
	uint64_t ready;	 /* and then until it ran, or all the time, if it could have run on */
	/* evidence of what it waited for, as of a film_wait */
	uint64_t arguments[FILM_WAIT_ARGUMENTS];
	uint64_t lock; /* address of the lock that it waited for; 0: it did not, or not known */
	uint32_t thread, stack, waker;
	/*
	 * A frame, a mark, whose name says what the system call's descriptor is of: a path, the
	 * addresses of a socket; or the path that it is given. Of a lock: the variable that it is,
	 * or its file.
	 * 0: there is none, or not known
	 */
	uint32_t object;
	/*
	 * Where that is an epoll: what of the first descriptor that was ready; where it waited for
	 * several descriptors, and object is 0: what of the one that woke it; 0: as above
	 */
	uint32_t ready_object;
	uint32_t on; /* of a goroutine: the thread that it ran on; 0: not known */
	/*
	 * Of the lock, as of a film_lock; FILM_TURN_SURE: how it is known. Without a lock: the
	 * thread of the process that has the other end of the pipe that it waited for
	 */
	uint32_t holder;
	uint16_t call;
	uint16_t cpu;  /* on which it ran */
	uint8_t state; /* FILM_WAIT_READY: it was preempted, or gave way; 0: a thread begins */
	uint8_t context, descriptor;
	uint8_t lock_kind; /* enum film_lock_kind */
	uint32_t flags;	   /* enum film_wait_flag, enum film_turn_flag */
};

/* Beside those of a wait. FILM_WAIT_OPEN: what it ends with goes on in the thread's next turn. */
enum film_turn_flag {
	FILM_TURN_ENDS = 32,	/* the thread ended at its end */
	FILM_TURN_UNWOKEN = 64, /* not known when it was woken: waited has ready in it */
	FILM_TURN_BEGINS = 128, /* the thread, or its recording, begins with it */
	/* of a goroutine, or a task: its waker is a thread that ran none */
	FILM_TURN_BY_THREAD = 256,
	/* it waited for a lock, which the thread that woke it did not release: a signal, say */
	FILM_TURN_UNRELEASED = 512,
	FILM_TURN_SURE = 1024, /* times an enum film_lock_holder, of which there are four */
	FILM_TURN_EXITS = 4096 /* with FILM_TURN_ENDS: it asked for its end, by exit(2) */
};

/* How the holder of a turn's lock is known: an enum film_lock_holder. */
static inline uint8_t film_turn_sure(uint32_t flags)
{
	return flags / FILM_TURN_SURE & 3;
}

/* A block of turns, as columns, sorted by end. */
struct film_turns {
	size_t count;
	const uint64_t *end, *unseen, *ran, *waited, *ready;
	const uint64_t *arguments[FILM_WAIT_ARGUMENTS], *lock;
	const uint32_t *thread, *stack, *waker, *call, *cpu, *state, *context, *descriptor, *flags,
		*object, *ready_object, *on, *holder, *lock_kind;
};

/* What a lock is, as far as its waiters show it. */
enum film_lock_kind {
	FILM_LOCK_WORD, /* a futex word of which nothing else is known */
	FILM_LOCK_MUTEX,
	FILM_LOCK_MUTEX_PI,	/* with priority inheritance */
	FILM_LOCK_MUTEX_ROBUST, /* whose holder's end is noticed */
	FILM_LOCK_RWLOCK_READ,	/* to read under it */
	FILM_LOCK_RWLOCK_WRITE,
	FILM_LOCK_RUST_MUTEX, /* of Rust's std */
	FILM_LOCK_RUST_RWLOCK,
	FILM_LOCK_PARKING_LOT, /* of the crate: the address is that of the waiter's own word */
	FILM_LOCK_GIL,	       /* Python's */
	FILM_LOCK_PYTHON,      /* threading.Lock and what is built on that */
	FILM_LOCK_MONITOR,     /* of a Java object, synchronized */
	FILM_LOCK_JAVA, /* of java.util.concurrent.locks; the address is as for parking_lot */
	FILM_LOCK_GO,	/* of Go's runtime itself */
	FILM_LOCK_JAVA_OBJECT, /* FILM_LOCK_JAVA with the lock's own address, until it moves */
	/* of a file: the address is its inode's number, the place a mark with its path */
	FILM_LOCK_FLOCK,     /* flock(2) */
	FILM_LOCK_RECORD,    /* of fcntl(2): a process has it */
	FILM_LOCK_OPEN_FILE, /* of fcntl(2): the file as it was opened has it */
};

/* Whether it is of a file, and not a word in a process's memory. */
static inline bool film_lock_is_of_file(uint32_t kind)
{
	return kind >= FILM_LOCK_FLOCK && kind <= FILM_LOCK_OPEN_FILE;
}

/* What is known of a lock's holder. */
enum film_lock_holder {
	FILM_HOLDER_NONE,     /* nothing: holder is 0 */
	FILM_HOLDER_OWNER,    /* read from the lock when the wait began */
	FILM_HOLDER_LAST,     /* the same, of a lock that only tells who held it last */
	FILM_HOLDER_RELEASER, /* not read: the thread that ended the wait, by a call that does */
};

/* A wait for a lock. Its event is one of time, beside those of all waits. */
struct film_lock {
	uint64_t end;
	uint64_t duration;			    /* ns, at most end */
	uint64_t address;			    /* of the lock */
	uint64_t value;				    /* of its word when the wait began */
	uint32_t thread, stack, waker, waker_stack; /* as of a wait */
	uint32_t holder;			    /* id of a film_thread; 0: not known */
	uint32_t place;	 /* frame that names its variable, if an image has that, or its file; 0 */
	uint32_t flags;	 /* enum film_wait_flag */
	uint8_t kind;	 /* enum film_lock_kind */
	uint8_t sure;	 /* enum film_lock_holder */
	uint8_t context; /* enum film_wait_context */
};

/* A block of them, as columns, sorted by end. */
struct film_locks {
	size_t count;
	const uint64_t *end, *duration, *address, *value;
	const uint32_t *thread, *stack, *waker, *waker_stack, *holder, *place, *flags, *kind, *sure,
		*context;
};

/*
 * Memory that a process holds at a moment: what is in use there that one thread has allocated with
 * one stack, about at one time. All rows of a process and a moment are one state of a level. One
 * with a value of 0 says that it holds nothing.
 */
struct film_held {
	uint64_t time;
	uint64_t value; /* bytes */
	uint64_t born;	/* when it was allocated, ns; at most time; 0: not known, or long before */
	uint32_t thread, stack;
	uint32_t count; /* of allocations, as far as they are known; 0: they are not */
};

/* A block of them, as columns, sorted by time. */
struct film_helds {
	size_t count;
	const uint64_t *time, *value, *born;
	const uint32_t *thread, *stack, *count_of;
};

/* What a request was made in. */
enum film_protocol {
	FILM_PROTOCOL_UNKNOWN,
	FILM_PROTOCOL_HTTP,
	FILM_PROTOCOL_REDIS,
	FILM_PROTOCOL_POSTGRESQL,
	FILM_PROTOCOL_MYSQL,
	FILM_PROTOCOL_HTTP2,
	FILM_PROTOCOL_GRPC,
	FILM_PROTOCOL_MARKER, /* lines that the program wrote to /dev/null */
	FILM_PROTOCOL_FASTCGI,
};

/* "http", "redis", "postgresql" …; "unknown" for one of a later version */
const char *film_protocol_name(unsigned int protocol);

enum film_request_role {
	FILM_REQUEST_SERVED = 1, /* the process was asked */
	FILM_REQUEST_MADE = 2,	 /* the process asked another one */
};

/* Where a request's id is from. */
enum film_request_id_kind {
	FILM_REQUEST_ID_NONE,	     /* none was there: the request has its number alone */
	FILM_REQUEST_ID_TRACEPARENT, /* its trace id; of the next ones, too: */
	FILM_REQUEST_ID_B3,
	FILM_REQUEST_ID_SW8,
	FILM_REQUEST_ID_UBER,
	FILM_REQUEST_ID_REQUEST_ID, /* x-request-id */
	FILM_REQUEST_ID_CONTEXT,    /* its trace id, which its thread published */
	FILM_REQUEST_ID_MARKER,	    /* what the program marked it by */
};

enum film_request_flag {
	FILM_REQUEST_FAILED = 1, /* by its protocol's own rules: HTTP 500 and above, an error */
	/*
	 * it had no complete answer when the film, or the connection, ended: end is the last byte
	 * that was seen, or, without a byte of an answer, when that was
	 */
	FILM_REQUEST_OPEN = 2,
	FILM_REQUEST_UNANSWERED = 4,  /* not a byte of an answer was seen */
	FILM_REQUEST_END_GUESSED = 8, /* its length was not told: end is its last byte so far */
	FILM_REQUEST_PATH_CUT = 16,   /* path was cut */
	FILM_REQUEST_ID_CUT = 32,
	FILM_REQUEST_TLS = 64,	 /* it was read before it was encrypted */
	FILM_REQUEST_UNIX = 128, /* by a socket of the machine, whose ends have other numbers */
	/* parent is known by the id of both; without one of these flags, by the thread */
	FILM_REQUEST_PARENT_BY_ID = 256,
	/* by the order in which a thread that served several at once received and sent */
	FILM_REQUEST_PARENT_BY_ORDER = 2048,
	/* by the goroutine: it received the one, and made the other, or had it made by net/http */
	FILM_REQUEST_PARENT_BY_GOROUTINE = 4096,
	/* by the task of an event loop that made it, and answered the other one */
	FILM_REQUEST_PARENT_BY_TASK = 8192,
	/* by a marker: the thread said what it works for, or the request what it is within */
	FILM_REQUEST_PARENT_BY_MARKER = 16384,
	/* by the goroutine that made it: the one that received the other started it meanwhile */
	FILM_REQUEST_PARENT_BY_START = 32768,
	/* by what both say: a proxy has passed the one on as the other */
	FILM_REQUEST_PARENT_BY_CONTENT = 65536,
	FILM_REQUEST_COPY_LOST =
		512, /* a part of what was sent was not seen: sizes are too small */
	/*
	 * the film ended, and another one followed, which has a row for the same request; end is
	 * that end
	 */
	FILM_REQUEST_GOES_ON = 1024,
};

/*
 * A request: from when the process had received, or had sent, its first bytes, to when it had sent,
 * or had received, the last byte of the answer. Texts end at their first zero, if they have one.
 */
#define FILM_REQUEST_PATH     64
#define FILM_REQUEST_ID	      40
#define FILM_REQUEST_NOT_OVER ", not over yet" /* behind the role, of those that go on */
struct film_request {
	uint64_t end;
	uint64_t duration; /* ns, at most end */
	uint64_t first; /* ns of duration until the first byte of the answer; of one without: 0 */
	uint64_t received, sent; /* bytes that the process received and sent */
	uint64_t connection;	 /* a number that this connection alone has in this film */
	uint64_t number;	 /* the request's own: no other one of this machine has it */
	uint64_t parent; /* number of the request served that it was made for; 0: not known */
	/*
	 * of Go, the number of the one that serves it, or for which it is made; of uvloop, that of
	 * the task that wrote its answer; 0: not known
	 */
	uint64_t goroutine;
	/*
	 * the other end, and ours: IPv6, or IPv4 mapped into it, in the order of the network; of a
	 * Unix socket: a number that this socket alone has, of all machines (0: not known), and a
	 * hash of the name that it is bound to (0: none)
	 */
	uint64_t peer[2], own[2];
	char path[FILM_REQUEST_PATH]; /* as it stood in the request */
	char id[FILM_REQUEST_ID];
	uint32_t thread;   /* that received or sent its first bytes */
	uint32_t stack;	   /* of marks: "served" or "made", the protocol, the endpoint */
	uint32_t endpoint; /* a mark: "GET /orders/" and a star, say; 0: the film had no room */
	uint32_t answerer; /* the thread that sent, or received, the first byte of the answer */
	uint32_t status;   /* of HTTP and gRPC; else 0 */
	uint32_t place;	   /* a mark: where the server of a Unix socket listens; 0: not known */
	uint32_t flags;	   /* enum film_request_flag */
	uint32_t stream;   /* of HTTP/2, of its connection: the same at both ends; else 0 */
	uint16_t peer_port, own_port;
	uint8_t protocol; /* enum film_protocol */
	uint8_t role;	  /* enum film_request_role */
	uint8_t id_kind;  /* enum film_request_id_kind */
};

/* A block of them, as columns, sorted by end; texts in words of eight bytes. */
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

/* What a row of a call's values is. */
enum film_value_part {
	FILM_VALUE_NONE,     /* the call has no values: its only row */
	FILM_VALUE_ARGUMENT, /* or a variable of a line */
	FILM_VALUE_RESULT,
	FILM_VALUE_MORE, /* further bytes of the text of the row before */
};

/*
 * A value that a traced function was called with, or has returned: a node of a tree, whose rows
 * follow each other, parents before their children, arguments before results. The first columns say
 * which call it is: they are the same in all of its rows, and in its struct film_call. Names of
 * parameters and of types are marks.
 */
#define FILM_VALUE_TEXT 32
struct film_value {
	uint64_t end, duration; /* of the call */
	uint64_t goroutine;	/* 0: none */
	/* as in struct shown; real ones as the bits of a double. Of an object: 0 */
	uint64_t number;
	uint64_t length;
	char text[FILM_VALUE_TEXT]; /* what does not fit stands in rows of FILM_VALUE_MORE */
	uint32_t thread, frame;	    /* of the call */
	uint32_t name, type;	    /* marks; 0: none */
	uint32_t place;		    /* in the tree: 0 is the first row of the call */
	uint32_t children;	    /* nodes right below it */
	uint32_t size;		    /* bytes of its text in the film */
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
 * What tracing a function costs, as measured where it was traced; to be subtracted from durations.
 */
struct film_probe {
	uint32_t frame;
	uint32_t own; /* ns of each call's cost that lie within its own duration */
	uint32_t
		/* ns by which each call makes its callers' durations longer: own and the rest */
		outer;
	uint32_t
		/*
		 * ns: a duration less own is known to this; 0: films of earlier versions do not say
		 * it
		 */
		error;
};

/*
 * Sums of a function over some time, where calls were not kept one by one. What a film says of one
 * frame in several blocks adds up (min and max: the least and the largest).
 */
#define FILM_SUM_BUCKETS 40
struct film_sum {
	uint32_t frame;
	uint64_t calls, total, self, waited, min, max;
	uint64_t recursive; /* of total: calls within a call of the same function */
	uint64_t inferred;  /* of calls: as FILM_CALL_INFERRED */
	/*
	 * calls by duration: bucket b holds [2^b, 2^(b+1)) ns, the first also 0, the last all
	 * longer
	 */
	uint64_t buckets[FILM_SUM_BUCKETS];
};

#endif
