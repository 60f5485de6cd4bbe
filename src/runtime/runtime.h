/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_RUNTIME_H
#define RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/budget.h"
#include "base/fail.h"
#include "base/vec.h"
#include "bpf/sched/lock_abi.h"
#include "bpf/unwind/abi.h"
#include "bpf/lanes/vthreads_abi.h"
#include "film/film.h"
#include "film/roles.h"
#include "process/targets.h"

/*
 * Language runtimes: how the frames of an interpreter or a JIT compiler are found and what they are
 * called. A runtime is a folder here, which finds the facts of a process and names what was found,
 * and one in src/bpf/runtime/ with the step that finds it. This header is what a runtime fills in
 * (struct runtime_type) and may use.
 *
 * All that is read of a process is hostile, and changes while it is read: sizes and loops are
 * bounded, an object is what it seems only if its checks say so, and what cannot be true is
 * refused, not repaired.
 */

/* The memory of a process, a living one or a stored one. */
struct runtime_memory {
	/*
	 * Reads size bytes at address. 0; -EFAULT: a part is not there; -ESRCH: the process is
	 * gone.
	 */
	int (*read)(void *context, void *to, size_t size, uint64_t address);
	void *context;
};

/* Where a runtime was found. */
struct runtime_at {
	const struct process *process;
	const struct mapping *mapping; /* of the runtime's own image, the first one */
	const void *facts;	       /* of that image, by open() */
	struct runtime_memory memory;
	/*
	 * For name_of(), if named_by_caller: the words of the next outer frame of this runtime;
	 * null: none.
	 */
	const uint64_t *caller;
	/*
	 * For name_of(): what the step has kept for the frame (bpf/runtime/kept.h),
	 * UNWIND_KEPT_BYTES; null: nothing.
	 */
	const void *kept, *caller_kept; /* the second one: for the frame of caller */
};

/* What a frame is called: filled by name_of(), with room for inlined functions. */
#define RUNTIME_NAMES_MAX 64
#define RUNTIME_TEXT_MAX  4096

struct runtime_names {
	unsigned int kind; /* enum film_frame_kind; set to the type's before */
	const char
		*image; /* what the code belongs to: the script's path, "[java]"; null: "[NAME]" */
	/* a frame of the runtime's own, as its native ones are: only shown on request */
	bool is_part;
	/* what was kept alone says so, as the function is gone: a line may lack */
	bool is_kept;
	size_t count;
	struct {
		const char *function, *file; /* file null: not known */
		uint32_t line;		     /* 0: not known */
	} at[RUNTIME_NAMES_MAX]; /* innermost first; the others are what it was inlined into */
	size_t used;
	char text[4 * RUNTIME_TEXT_MAX];
};

/* What a runtime has memory for. */
enum runtime_use {
	RUNTIME_USE_OBJECTS, /* its heap, from where objects are to where they end */
	RUNTIME_USE_FREE,    /* its heap, where there are none */
	RUNTIME_USE_HEAP,    /* its heap: which of the two is not known */
	RUNTIME_USE_CODE,    /* code that it has made */
	RUNTIME_USE_CLASSES, /* what it knows of the program's classes */
	RUNTIME_USE_CARDS,   /* what its garbage collector knows of references in the heap */
	RUNTIME_USES
};

/* Addresses that a runtime uses for one thing; not all of them need be mapped, or in RAM. */
struct runtime_span {
	uint64_t start, end;
	enum runtime_use use;
};

/* In the order in which they were found; they may overlap. To be freed with vec_free(). */
struct runtime_spans {
	vec(struct runtime_span) all;
	bool is_cut; /* some are missing: there are too many, or no memory */
};

struct runtime_type {
	const char *name; /* as people call it: "python" */
	enum unwind_runtime id;
	unsigned int frame_kind; /* enum film_frame_kind */
	/*
	 * The step is asked for code of the runtime's own image too, not just for what owns() says.
	 */
	bool steps_in_image;
	/*
	 * It knows its newest frame where native frames above that one cannot be walked
	 * (UNWIND_RESTARTS).
	 */
	bool restarts;
	/*
	 * It has no frames, and no step: what a thread shows of its work is read where a walk
	 * begins (bpf/runtime/otel/otel.h), and name_of() makes labels from that. One type has it.
	 */
	bool labels_threads;
	/*
	 * Native frames of the runtime's own image that stand between its frames are a part of
	 * them, and only shown on request. So are those nearer to the leaf, if this is set: what
	 * the interpreter does for a function counts as that function's own time.
	 */
	bool folds_leaf;
	/*
	 * Whether the code at an address of the image is the runtime's: a program that has it
	 * linked in is more than that. null: all of the image is.
	 */
	bool (*is_part)(const void *facts, uint64_t image_address);
	/*
	 * What a function is called is known only by who has called it: name_of() looks at
	 * at->caller, which is there for frames of variant n (unwind/abi.h) if bit n is set.
	 */
	uint32_t named_by_caller;
	/*
	 * Its step keeps what a frame is called, since the process may have freed it by the time
	 * that is asked.
	 */
	bool keeps;
	/* The key of what it keeps for a frame. Null: the frame's second word. */
	uint64_t (*kept_under)(const uint64_t words[2]);

	/*
	 * An image is looked at if it exports one of these symbols, or has one of these sections;
	 * both null-terminated, null: none.
	 */
	const char *const *exports, *const *sections;
	/*
	 * What is to be known of an image, if it is the runtime's; called once per image. null: it
	 * is not, or (with why->err set) of a version that is refused. What looks for symbols and
	 * reads code takes it from the budget, which all runtimes share: one that is spent is a
	 * refusal, too.
	 */
	void *(*open)(const struct image *image, struct budget *budget, struct fail *why);
	void (*close)(void *facts);

	/*
	 * The process maps such an image. Fills data (UNWIND_DATA_BYTES, all zero before) for the
	 * kernel side and *state for the functions below (to be freed by detach()). 0; -EAGAIN: the
	 * runtime is not ready yet, ask again later; another error: refused, with *why filled.
	 */
	int (*attach)(const struct runtime_at *at, void *data, void **state, struct fail *why);
	void (*detach)(void *state);

	/*
	 * Whether executable memory that is not the runtime's own image (without a file, mostly) is
	 * code that it has made. null: it makes none.
	 */
	bool (*owns)(const struct runtime_at *at, const void *state, const struct mapping *mapping);

	/*
	 * Names the class at an address of the runtime's, as its language writes it ("byte[]"). 0,
	 * or an error as of name_of(). null: it has none.
	 */
	int (*class_name)(const struct runtime_at *at, const void *state, uint64_t klass, char *to,
			  size_t size);

	/*
	 * Names the frame of two words (unwind/abi.h). 0; -ESTALE: the object is gone or another
	 * one by now; -EFAULT: its memory cannot be read; -ESRCH: the process is gone;
	 * -ENODATA: there is nothing to name.
	 */
	int (*name_of)(const struct runtime_at *at, void *state, const uint64_t words[2],
		       struct runtime_names *names);

	/*
	 * Locks of its own, of which its threads wait in futex(2) in a way that tells nothing:
	 * where they are (bpf/sched/lock_abi.h). False: they are not known. null: it has none.
	 */
	bool (*locks)(const struct runtime_at *at, const void *state, struct lock_runtime *locks);
	/*
	 * What the number of a thread is (in its own pid namespace) that a lock's owner means; 0:
	 * not known. null: the owner is the number.
	 */
	uint32_t (*lock_owner)(const struct runtime_at *at, const void *state, uint64_t owner);
	/* Whether a thread's structure is one that tells of locks. null: all are. */
	bool (*lock_thread)(const struct runtime_at *at, const void *state, uint64_t thread);
	/* Whether objects of that class (struct lock_evidence) are locks. null: no objects are. */
	bool (*lock_park_class)(const struct runtime_at *at, const void *state, uint64_t klass);
	/*
	 * What must be known of a process to see its virtual threads; `object` is that of the
	 * image's struct hotspot_vthreads. 0; -EAGAIN: no virtual thread has run yet; -ENOTSUP,
	 * with *why filled: they cannot be seen. null: it has none.
	 */
	int (*vthreads)(const struct runtime_at *at, const void *state, uint32_t object,
			struct vthreads_process *to, struct fail *why);
	/* Appends what it uses memory for, as far as it can be read. null: nothing is known. */
	void (*spans)(const struct runtime_at *at, const void *state, struct runtime_spans *spans);
	/*
	 * The file's name of the image that spans() is of: to look at all images of a machine just
	 * for that would take too long.
	 */
	const char *spans_file;
	/*
	 * What its functions, and those of its language's library, mean for those that call them:
	 * the film gets it. null: nothing.
	 */
	const struct film_role_row *roles;
	unsigned int lock_kind; /* enum film_lock_kind */
	unsigned int lock_sure; /* enum film_lock_holder: how sure an owner is */
};

/* What may be read of one image to know its runtimes, all of them together. */
void runtime_budget(struct budget *budget);

/* All there are, null-terminated. */
extern const struct runtime_type *const runtime_types[];

extern const struct runtime_type runtime_python, runtime_hotspot, runtime_go, runtime_lua,
	runtime_luajit, runtime_v8, runtime_otel;

/*
 * For the files of runtimes. Read numbers and strings of a process; each returns 0 or what read()
 * returned.
 */
int runtime_read(const struct runtime_at *at, void *to, size_t size, uint64_t address);
int runtime_read_u64(const struct runtime_at *at, uint64_t *to, uint64_t address);
int runtime_read_u32(const struct runtime_at *at, uint32_t *to, uint64_t address);
/* At most size - 1 bytes up to a zero byte; what is longer is cut. */
int runtime_read_string(const struct runtime_at *at, char *to, size_t size, uint64_t address);

/* Where the process has the virtual address of the runtime's own image. */
uint64_t runtime_address(const struct runtime_at *at, uint64_t image_address);

/* Where the process has code of the runtime's own image, from its first mapping to its last one. */
void runtime_code_of_image(const struct runtime_at *at, uint64_t *start, uint64_t *size);

/*
 * glibc's struct pthread, at the thread pointer, has the values of the first keys in itself: pairs
 * of a sequence number and the value (nptl/descr.h, specific_1stblock).
 */
#define RUNTIME_GLIBC_KEYS	 32
#define RUNTIME_GLIBC_VALUE(key) (0x310 + 16 * (int32_t)(key) + 8)

/*
 * Where a pthread key's value is, which is `value` in the thread with that pointer: its offset from
 * the thread pointer, among the first keys of glibc; 0: it is not there.
 */
int32_t runtime_find_key(const struct runtime_at *at, uint64_t thread, uint64_t value);

/*
 * Appends the next outer function. Strings are copied; control characters and bytes that are not
 * UTF-8 may stay, callers that print them escape them. What is too long is cut, what is too much
 * left out.
 */
void runtime_names_add(struct runtime_names *names, const char *function, const char *file,
		       uint32_t line);
/* Copies a string to names->image. */
void runtime_names_image(struct runtime_names *names, const char *image);

/*
 * The memory of a living process, as context for struct runtime_memory: its pid, as (void
 * *)(intptr_t)pid.
 */
int runtime_read_process(void *pid, void *to, size_t size, uint64_t address);

/*
 * ELF symbols of an image, from its .dynsym and .symtab: virtual address and size of count names, 0
 * where there is none, and where the budget's time was spent before it was found. Returns how many
 * were found.
 */
struct runtime_symbol {
	const char *name;
	uint64_t address, size;
};
size_t runtime_find_symbols(const struct image *image, struct budget *budget,
			    struct runtime_symbol *symbols, size_t count);

/*
 * Bytes of the image's file at a virtual address (code, read-only data; not relocated). 0, or
 * -EFAULT: the file does not have all of them.
 */
int runtime_read_image(const struct image *image, void *to, size_t size, uint64_t address);

/*
 * The number of 32 bits in the image's file at each symbol: `missing` for those that are not there,
 * 0 where the file has no bytes for it.
 */
void runtime_read_numbers(const struct image *image, const struct runtime_symbol *symbols,
			  size_t count, uint32_t missing, uint32_t *numbers);

/* The types whose exports or sections the image has, as a bit for each place in runtime_types. */
uint32_t runtime_suspects(const struct image *image, struct budget *budget);

/* Whether that one is among them. */
bool runtime_is_suspect(const struct runtime_type *type, const struct image *image,
			struct budget *budget);

#endif
