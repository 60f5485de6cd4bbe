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
#define FILM_SCHEMA_VERSION 1
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
	FILM_IMAGE_ANON, /* memory without a file: JIT code */
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
	FILM_FRAME_JIT,	 /* code without a file, named by a perf map or not at all */
	FILM_FRAME_MARK, /* no code: says why a stack has no more frames, "[truncated: …]" */
};

/* "native", "kernel", "jit", "mark"; "unknown" for a kind of a later version */
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

/* A block of samples, as columns. Sorted by time. value is in the event's unit. */
struct film_samples {
	size_t count;
	const uint64_t *time;
	const uint32_t *thread; /* ids of film_thread */
	const uint32_t *stack;	/* ids of film_stack; 0: no frame is known */
	const uint64_t *value;
};

#endif
