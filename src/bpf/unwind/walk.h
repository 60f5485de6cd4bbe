/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_UNWIND_WALK_H
#define BPF_UNWIND_WALK_H

/*
 * The state of a walk over a stack (unwind.h), and what the unwinder asks of the side that it runs
 * on.
 *
 * A file that includes unwind.h also defines
 *
 *	const __u32 *unwind_chunk(w, __u32 n)			chunk n of the pool, or null
 *	const struct unwind_rule *unwind_rules(w)		UNWIND_RULES_MAX rules, or null
 *	long unwind_read(w, void *to, __u32 size, __u64 address)	0: memory of the stack was
 *									read
 *	long unwind_read_code(w, void *to, __u32 size, __u64 address)	0: of code and what
 *									describes it
 *	long unwind_read_far(w, void *to, __u32 size, __u64 address)	0: any other memory
 *	long unwind_read_down(w, void *to, __u32 size, __u64 address)
 *					as unwind_read_far(), where lower addresses are read next;
 *					size: 8, 16 … bytes
 *	int unwind_is_live(w)						whether unwind_read_far()
 *									can work at all
 *	__u64 *unwind_frames(w)					UNWIND_FRAMES_MAX words, or null
 *	int unwind_runtime(w)					enum unwind_moved (runtimes.h)
 *	int unwind_native_here(w, __u64 key)			unwind_native()
 *	int unwind_find_mapping_here(w, __u64 at)		unwind_find_mapping()
 *	int unwind_find_rule_here(w, __u64 at)			unwind_find_rule()
 *	int unwind_put_back_here(w)
 *					w->pc lies in the page that the kernel's uprobes have added
 *					to the process: 1: it is the program's own address now; 0:
 *	that is not known long unwind_repeat(__u32 count, long (*step)(__u32 i, void *context), void
 *					*context) step(0), step(1) …, until one returns 1; for loops
 *					that the verifier would have to go through turn by turn
 *	int unwind_restart_here(w)				unwind_restart()
 *	int unwind_runtime_restart(w)				enum unwind_moved (restart.h)
 *	int unwind_recall(w, __u64 at)		1: w->rule is the rule for that address now
 *	void unwind_remember(w, __u64 at)		that it is, for the next time
 *	void unwind_recall_words(w, __u64 at, __u64 words[2])
 *					what a runtime's step had once remembered under that word;
 *					zeroes: nothing. It need not be what it remembered last
 *	void unwind_remember_words(w, __u64 at, __u64 first, __u64 second)
 *
 * where w is the struct unwind_walk. When user space finishes a stack, it has a copy of the stack,
 * and of all else only what is there now: unwind_read_code() is for what stays as it is while a
 * thread runs on (code, tables about it), unwind_read_far() for what does not; then it fails. Loops
 * have constant bounds and every index is masked: the verifier must see that no table, however
 * wrong, leads outside of its map.
 */

#include "arch/arch.h"
#include "bpf/unwind/abi.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/*
 * For functions of a runtime's step: the verifier looks at such a one by itself, once, not at each
 * place that calls it. All that it knows of the arguments are their types: pointers may be null,
 * and w is just what it points to (no unwind_read(), no unwind_push()).
 */
#ifdef __bpf__
#define UNWIND_APART __attribute__((noinline))
#else
#define UNWIND_APART static inline
#endif

/*
 * Those that do call unwind_read() or unwind_push() take what a walk is part of: their caller
 * passes unwind_whole_of(w), and they have w from it by unwind_walk_of().
 */
#ifdef __bpf__
#define UNWIND_WHOLE	      struct capture_scratch
#define unwind_whole_of(w)    ((UNWIND_WHOLE *)((void *)(w)-offsetof(UNWIND_WHOLE, walk)))
#define unwind_walk_of(whole) (&(whole)->walk)
#else
#define UNWIND_WHOLE	      struct unwind_walk
#define unwind_whole_of(w)    (w)
#define unwind_walk_of(whole) (whole)
#endif

/* Those that the walk follows from frame to frame. */
#define UNWIND_REGISTERS_KEPT (1u << ARCH_REG_SAVED | 1u << ARCH_REG_FP | 1u << ARCH_REG_SP)

/*
 * The page of the kernel's uprobes, with the trampoline that return probes return to at its
 * beginning.
 */
#define UNWIND_UPROBES_BYTES 4096
#define UNWIND_NO_UPROBES    (1ull << 63)

struct unwind_walk;
static __always_inline const __u32 *unwind_chunk(const struct unwind_walk *w, __u32 n);
static __always_inline const struct unwind_rule *unwind_rules(const struct unwind_walk *w);
static __always_inline long unwind_read(const struct unwind_walk *w, void *to, __u32 size,
					__u64 address);
static __always_inline long unwind_read_code(const struct unwind_walk *w, void *to, __u32 size,
					     __u64 address);
static __always_inline long unwind_read_far(const struct unwind_walk *w, void *to, __u32 size,
					    __u64 address);
static __always_inline long unwind_read_down(const struct unwind_walk *w, void *to, __u32 size,
					     __u64 address);
static __always_inline int unwind_is_live(const struct unwind_walk *w);
static __always_inline __u64 *unwind_frames(struct unwind_walk *w);
static __always_inline int unwind_runtime(struct unwind_walk *w);
static __always_inline int unwind_native_here(struct unwind_walk *w, __u64 key);
static __always_inline int unwind_find_mapping_here(struct unwind_walk *w, __u64 at);
static __always_inline int unwind_find_rule_here(struct unwind_walk *w, __u64 at);
static __always_inline int unwind_put_back_here(struct unwind_walk *w);
static __always_inline long unwind_repeat(__u32 count, long (*step)(__u32 i, void *context),
					  void *context);
static __always_inline int unwind_restart_here(struct unwind_walk *w);
static __always_inline int unwind_runtime_restart(struct unwind_walk *w);
static __always_inline int unwind_recall(struct unwind_walk *w, __u64 at);
static __always_inline void unwind_remember(struct unwind_walk *w, __u64 at);
static __always_inline void unwind_recall_words(const struct unwind_walk *w, __u64 at,
						__u64 words[2]);
static __always_inline void unwind_remember_words(const struct unwind_walk *w, __u64 at,
						  __u64 first, __u64 second);

/*
 * Something that a frame has and another one of the same stack may have too, and what was found out
 * about it.
 */
struct unwind_memo {
	__u64 key; /* its address; 0: free */
	__u64 words[3];
};

#define UNWIND_MEMO_SHIFT 60
#define UNWIND_MEMOS	  (1u << (64 - UNWIND_MEMO_SHIFT))

/* Why the process's runtime is asked where its newest frame is. */
enum unwind_restarting {
	UNWIND_RESTART_NONE = 0,
	/* the frame at pc was found by the frame pointer: it may lie beyond that one */
	UNWIND_RESTART_GUESSED,
	UNWIND_RESTART_ENDED, /* the walk has ended */
};

/* What restart.h remembers. */
struct unwind_restart {
	__u8 why;     /* enum unwind_restarting: the runtime is being asked */
	__u8 guessed; /* the last step followed the frame pointer */
	__u8 end;     /* why the walk has ended */
	__u8 fp_known;
	__u32 count;   /* words written before the first of the guesses that the walk stands on */
	__u32 asked;   /* how often the runtime was */
	__u64 sp;      /* where that first guess was made; 0: none was */
	__u64 last_sp; /* where the walk has begun again last */
	__u64 found_pc, found_sp, found_fp; /* the runtime's newest frame; found_sp is 0 at first */
};

/* Which of the registers where it began a walk depends on, but for pc and sp. */
enum unwind_leans {
	UNWIND_LEANS_ON_FP = 1,
	UNWIND_LEANS_ON_OTHERS = 2,
};

/* The state of a walk: where it is, and all that is known of the registers there. */
struct unwind_walk {
	__u64 pc, sp, fp;
	__u64 registers[ARCH_REGISTERS]; /* by DWARF number, valid where `known` has the bit */
	/*
	 * Where this frame's rbx is saved, or one of enum unwind_saved. A few functions find their
	 * frame by rbx (the dynamic linker's entry for lazy binding is one), and those that they
	 * call have saved it. So each frame's place is noted, but only read when a rule asks for
	 * it.
	 */
	__u64 saved_at;
	__u32 known; /* without rbx */
	__u8 fp_known;
	__u8 pc_exact; /* pc is the place itself, not the address that a call returns to */
	__u8 guess;    /* the frame at pc was found by a guess */
	__u8 end;      /* enum unwind_end, once unwind_step() returned 1 */
	/* bit of enum unwind_runtime: its frames are missing, since they cannot be had here */
	__u8 missed;
	/* fp is still what it was where the walk began */
	__u8 fp_first;
	__u8 leans;	  /* enum unwind_leans, bits */
	__u8 has_runtime; /* a frame of a runtime is among what was written */
	__u8 again;	  /* the runtime's step wants to be called again */
	/* where code is known that a runtime has made, something else may be by now */
	__u8 doubted;
	/* bit of enum unwind_runtime: its step has nothing more to say of this stack */
	__u8 finished;
	__u32 count;		       /* words written so far */
	__u32 mappings, mapping_count; /* struct unwind_space's */
	__u32 generation;	       /* the same; 0: not known */
	__u32 jit_runtime, jit_data;   /* the same */
	__u64 uprobes;		       /* its address; UNWIND_NO_UPROBES */
	__u32 home_runtime, home_data; /* the same */
	__u64 assumed; /* address that was taken for code that a runtime has made; 0: none was */
	struct unwind_mapping mapping; /* the last one found: the next frame is often in it too */
	struct unwind_rule rule;       /* the last one */
	/*
	 * enum unwind_runtime: the walk goes on elsewhere, where its step is; and bits of those
	 * whose steps are nowhere
	 */
	__u32 wants, absent;
	__u64 tls; /* the thread pointer (fs base); 0: not known */
	/* What a runtime's step remembers from frame to frame, zero at first. */
	__u64 state[UNWIND_RUNTIME_COUNT][2];
	/*
	 * What it has read; while other runtimes have not been asked, from where that was, if it
	 * says so.
	 */
	__u64 piece[UNWIND_PIECE_BYTES / 8];
	__u64 aside[20]; /* the same, while that is in use */
	__u64 piece_at;	 /* 0: not known */
	__u32 asked;	 /* enum unwind_runtime: whose step was called last */
	/* What it has found out in this walk, by unwind_memo(). */
	struct unwind_memo memo[UNWIND_MEMOS];
	struct unwind_restart restart;
};

/* What a runtime's step did with the frame at w->pc. */
enum unwind_moved {
	/*
	 * Nothing, or it has pushed frames that stand nearer to the leaf: now the native frame's
	 * turn.
	 */
	UNWIND_NATIVE = 0,
	UNWIND_ENDED = 1, /* the walk has ended (what unwind_stop() returns): w->end says why */
	UNWIND_AGAIN,	  /* it has pushed a frame and wants to be called again at the same place */
	UNWIND_MOVED,	  /* it has pushed what there is here, and moved to the caller */
	UNWIND_NEVER,	  /* nothing, and it need not be asked again of this code */
	UNWIND_ELSEWHERE, /* its step is not here: w->wants (never in user space) */
};

#endif
