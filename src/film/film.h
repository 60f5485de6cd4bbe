/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_FILM_H
#define FILM_FILM_H

#include <stddef.h>
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
	const char *container; /* id of the container, "" outside of one */
};

struct film_thread {
	uint32_t process; /* id of the process */
	uint32_t tid;
	uint64_t start;
	const char *comm;
};

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
	 * No code. At the root: says why a stack has no more frames, "[truncated: …]". Elsewhere: stands for frames
	 * that are missing between those beside it, "[native frames without unwind information]".
	 */
	FILM_FRAME_MARK,
	/* found by the structures of a language's runtime, whose addresses are just numbers: */
	FILM_FRAME_PYTHON,
	FILM_FRAME_JAVA,
	FILM_FRAME_LUA,
	FILM_FRAME_JAVASCRIPT,
	FILM_FRAME_LABEL, /* no code, at the root: what the program says of its work, "endpoint=/buy" */
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
 * it), so that it can be named later and elsewhere; for the kernel the address in memory; for a mark
 * 0. For a caller's frame it is the return address minus one, which lies inside the call.
 */
/* The source file of a frame without a name whose start was found by decoding code, which is a guess. */
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

/* Inlined calls of one frame: depth 1 is the function that the frame's own function was inlined into. */
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
};

/*
 * A call of a function that was traced. Calls are written when they end, so that those of one track (a
 * thread's stack) come in post-order: a call stands behind all that it called, and read backwards, a
 * call stands before them. depth tells which call made it: the next one of the same track with a depth
 * of one less. If that one was lost, the next one with this depth does not contain it in time.
 */
struct film_call {
	uint64_t end;
	uint64_t duration; /* ns of wall time, the tracer's own cost included (struct film_probe) */
	uint64_t waited;   /* of duration: ns in which the thread was on no CPU */
	uint32_t thread;   /* id of a film_thread; 0: not known */
	uint32_t frame;	   /* where the function begins; its name is the frame's */
	uint32_t
		lane; /* which of the thread's stacks: 0 its own; others: of signals, coroutines; or a
			  goroutine */
	uint16_t depth; /* traced calls open below it on that stack; 0: the outermost */
	uint16_t cpu;	/* on which it ended */
	uint32_t flags; /* enum film_call_flag */
};

enum film_call_flag {
	FILM_CALL_GAP = 1, /* calls of this thread were lost between the one before it and this */
	FILM_CALL_INFERRED = 2, /* its return was not seen: it ended at end or before, a guess */
	FILM_CALL_OPEN = 4, /* it had not ended when the thread, its program or the recording did */
	FILM_CALL_UNKNOWN =
		8, /* of the calls around it, those whose return was not seen may have ended before */
};

/* A block of calls, as columns, sorted by end. */
struct film_calls {
	size_t count;
	const uint64_t *end, *duration, *waited;
	const uint32_t *thread, *frame, *lane, *depth, *cpu, *flags;
};

/* What tracing a function costs, as measured where it was traced; to be subtracted from durations. */
struct film_probe {
	uint32_t frame;
	uint32_t own; /* ns of each call's cost that lie within its own duration */
	uint32_t
		outer; /* ns by which each call makes its callers' durations longer: own and the rest */
	uint32_t
		error; /* ns: a duration less own is known to this; 0: films of earlier versions do not say it */
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
	/* calls by duration: bucket b holds [2^b, 2^(b+1)) ns, the first also 0, the last all longer */
	uint64_t buckets[FILM_SUM_BUCKETS];
};

#endif
