/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_UNWIND_ABI_H
#define BPF_UNWIND_ABI_H

/*
 * The unwind tables, which user space writes and the kernel side reads.
 *
 * Everything is in one pool of 4-byte words, divided into chunks of 1 MiB. A chunk is a BPF array
 * that user space maps, allocated when needed and freed when empty, so filling a table is a memory
 * copy without a system call. A reference counts words from the pool's start; 0 means none. An
 * allocation begins at an even word and does not cross chunks.
 *
 *	process --> mappings, sorted --> directory of an image --> rows of a page --> rules
 */

#ifndef __bpf__
#include <linux/types.h>
#endif

#define UNWIND_CHUNK_BYTES (1u << 20)
#define UNWIND_CHUNK_WORDS (UNWIND_CHUNK_BYTES / 4)
#define UNWIND_CHUNK_SHIFT 18 /* a reference is chunk << 18 | word */
#define UNWIND_CHUNKS_MAX  1024

#define UNWIND_PAGE_SHIFT  16 /* a page is 64 KiB of an image's virtual addresses */

/*
 * Most words of one user stack: a native frame has one, a frame of a runtime two. A power of two.
 */
#define UNWIND_FRAMES_MAX 8192

/*
 * Language runtimes whose frames are found in their own structures. A runtime consists of a row
 * here, a step in bpf/runtime/NAME/NAME.h, and a runtime_type in src/runtime/NAME/.
 */
#define UNWIND_RUNTIMES(X)  \
	X(PYTHON, python)   \
	X(HOTSPOT, hotspot) \
	X(GO, go)           \
	X(LUA, lua)         \
	X(LUAJIT, luajit)   \
	X(V8, v8)

/*
 * Runtimes that know their newest frame even if the native frames above it cannot be walked:
 * NAME_restart() in NAME_restart.h finds it (restart.h), and runtime_type has `restarts`.
 */
#define UNWIND_RESTARTS(X)  \
	X(PYTHON, python)   \
	X(HOTSPOT, hotspot) \
	X(V8, v8)           \
	X(LUA, lua)         \
	X(LUAJIT, luajit)

enum unwind_runtime {
	UNWIND_RUNTIME_NONE = 0, /* in a word: UNWIND_GAP */
#define X(NAME, name) UNWIND_RUNTIME_##NAME,
	UNWIND_RUNTIMES(X)
#undef X
	/*
	 * What programs publish of their threads: labels of samples, and no frame of a stack
	 * (runtime/otel/otel.h)
	 */
	UNWIND_RUNTIME_OTEL,
	UNWIND_RUNTIME_COUNT
};

/*
 * A native frame is one 64-bit word: its address, maybe with UNWIND_GUESS. A frame of a runtime is
 * two words:
 *
 *	word 0: UNWIND_GUESS, UNWIND_IS_RUNTIME, 4 bits variant, 6 bits runtime, 48 bits value
 *	word 1: chosen by the runtime: the place within the function, a checksum
 *
 * Both words must suffice to name the frame as long as the process exists.
 */
#define UNWIND_GUESS	  (1ull << 63) /* found by a frame pointer, or by a guessed rule */
#define UNWIND_IS_RUNTIME (1ull << 62) /* this and the next word are one frame of a runtime */
#define UNWIND_VALUE_MASK ((1ull << 48) - 1)

#define UNWIND_RUNTIME_WORD(runtime, variant, value)                           \
	(UNWIND_IS_RUNTIME | (__u64)(variant) << 54 | (__u64)(runtime) << 48 | \
	 ((__u64)(value)&UNWIND_VALUE_MASK))
/*
 * Word 0 in place of native frames that could not be walked; more frames of the stack follow. Word
 * 1 is 0.
 */
#define UNWIND_GAP		  UNWIND_RUNTIME_WORD(UNWIND_RUNTIME_NONE, 0, 0)
#define UNWIND_WORD_RUNTIME(word) ((__u32)((word) >> 48) & 63)
#define UNWIND_WORD_VARIANT(word) ((__u32)((word) >> 54) & 15)
#define UNWIND_WORD_VALUE(word)	  ((word)&UNWIND_VALUE_MASK)

/* max(x, 0) without a branch, both ways of which the verifier would follow. */
static inline __attribute__((always_inline)) __s32 unwind_positive(__s32 x)
{
	__s32 sign = x >> 31;

	/* keeps the compiler from creating a branch */
	__asm__("" : "+r"(sign));
	return x & ~sign;
}

/* Most bytes of a process's data for one runtime (struct python_data and so on). */
#define UNWIND_DATA_BYTES 1024
#define UNWIND_DATA_WORDS (UNWIND_DATA_BYTES / 4)

/* Bytes of memory for what a step reads, because the stack of a BPF program is small. */
#define UNWIND_PIECE_BYTES 1024

/* Most bytes that a step may keep for naming a frame (kept.h). */
#define UNWIND_KEPT_BYTES 1096

/*
 * The run of rules that begins at rule applies from address pc (its low 16 bits) up to the next
 * row. The rows of a page are sorted by pc; every page with code begins with a row at pc 0.
 */
struct unwind_row {
	__u16 pc;
	__u16 rule;
};

/* One 64 KiB page of an image: its rows. */
struct unwind_page {
	__u32 rows;  /* reference; 0: nothing is known about this page */
	__u32 count; /* at most 65536 */
};

/* How to find the CFA: the value of the stack pointer in the caller, after the return. */
enum unwind_cfa {
	UNWIND_CFA_NONE = 0,	/* no table covers this address: follow the frame pointer */
	UNWIND_CFA_SP,		/* rsp + cfa_offset */
	UNWIND_CFA_FP,		/* rbp + cfa_offset */
	UNWIND_CFA_REGISTER,	/* cfa_register + cfa_offset (any other register) */
	UNWIND_CFA_DEREF,	/* *(cfa_register + cfa_offset) + deref_offset */
	UNWIND_CFA_INDEXED,	/* as DEREF, with 8 * cfa_register's second register added */
	UNWIND_CFA_PLT,		/* rsp + 8, and 8 more if (pc & 15) >= cfa_offset */
	UNWIND_CFA_SIGNAL,	/* the kernel's signal frame: all registers lie on the stack */
	UNWIND_CFA_IN_REGISTER, /* rsp + cfa_offset; the return address is in cfa_register */
	UNWIND_CFA_END,		/* the thread's first frame: it has no caller */
	/* not known yet, because the code was not read: hand the stack over to user space */
	UNWIND_CFA_LATER,
	UNWIND_CFA_UNSUPPORTED, /* the rule cannot be expressed in this table */
};

/* How to find the caller's rbp. */
enum unwind_fp {
	UNWIND_FP_SAME = 0, /* unchanged */
	UNWIND_FP_CFA,	    /* saved at CFA + fp_offset */
	UNWIND_FP_FP,	    /* saved at rbp + fp_offset (in functions that realign the stack) */
	UNWIND_FP_LOST,	    /* undefined, or not expressible in this table */
};

/*
 * One rule. The return address is at CFA - 8, except for IN_REGISTER. Rules form runs: this one
 * applies to addresses less than `until` bytes after the row's, and then the next one in the table;
 * the last rule of a run has until 0. Prologues and epilogues repeat the same few sequences of push
 * and pop all over a program, so each takes one row.
 */
struct unwind_rule {
	__u8 cfa;	   /* enum unwind_cfa */
	__u8 cfa_register; /* DWARF number; INDEXED has a second one in the upper 4 bits */
	__u8 fp;	   /* enum unwind_fp */
	__u8 until;
	__s32 cfa_offset;
	__s16 fp_offset;
	__s8 saved; /* the caller's ARCH_REG_SAVED is at CFA + 8 * saved; 0: unchanged */
	__u8 guess; /* derived from code, not from unwind information */
	__s32 deref_offset;
};

/* In unwind_rule.saved: undefined, or not expressible in this table. */
#define UNWIND_SAVED_LOST 127

#define UNWIND_RULES_MAX  65536 /* rules are shared by all images */
#define UNWIND_RUN_MAX	  8	/* most rules of one run */

/* Indexes of rules that always exist, with until 0. */
enum {
	UNWIND_RULE_NONE = 0,
	UNWIND_RULE_END = 1,
	UNWIND_RULE_UNSUPPORTED = 2
};

/* How to unwind code of a mapping. */
enum unwind_mapping_kind {
	/* its tables are not built yet: hand the stack over to user space */
	UNWIND_MAPPING_LATER = 0,
	UNWIND_MAPPING_TABLE,
	UNWIND_MAPPING_NO_TABLE, /* no table (e.g. JIT code): follow the frame pointer */
};

/* Executable mappings of a process, sorted by start. An image's virtual address is pc - bias. */
struct unwind_mapping {
	__u64 start, end;
	__u64 bias;
	__u32 kind;	  /* enum unwind_mapping_kind */
	__u32 directory;  /* reference to struct unwind_page[pages] */
	__u32 first_page; /* number of the first page in directory */
	__u32 pages;
	__u32 runtime; /* enum unwind_runtime: try its step first for code of this mapping */
	__u32 data;    /* reference to the process's data for that step; 0: none */
};

/* The published state of a process (a value in the map of processes, whose key is the pid). */
struct unwind_space {
	__u32 mappings; /* reference to struct unwind_mapping[count] */
	__u32 count;
	__u32 generation; /* increases each time the mappings are written again */
	__u32 exec_id;	  /* task->self_exec_id for which this is valid, or UNWIND_ANY_EXEC */
	/*
	 * As in struct unwind_mapping, for unknown memory: the runtime that generates code; 0:
	 * none.
	 */
	__u32 jit_runtime, jit_data;
	/* The same for the runtime at which a walk can restart (restart.h); 0: none. */
	__u32 home_runtime, home_data;
	__u32 context; /* reference to where threads show what they work for; 0: nowhere */
	__u32 unused;
};

/*
 * The space was written before a sample had the process's exec_id. Later executions are noticed by
 * other means.
 */
#define UNWIND_ANY_EXEC 0xffffffffu

/* Where a frame's ARCH_REG_SAVED is, if not at an address. */
enum unwind_saved {
	UNWIND_SAVED_IN_REGISTER = 0, /* unchanged */
	UNWIND_SAVED_UNKNOWN = 1,
};

/* Why a walk ended. */
enum unwind_end {
	UNWIND_END_ROOT = 0, /* at the thread's first frame: complete */
	/* user space must continue: unknown process or mapping, missing tables */
	UNWIND_END_LATER,
	UNWIND_END_MEMORY,	/* the stack's memory could not be read */
	UNWIND_END_UNSUPPORTED, /* UNWIND_CFA_UNSUPPORTED, or an unknown register */
	UNWIND_END_NO_RULE,	/* no table, and the frame pointer is invalid */
	UNWIND_END_UNMAPPED,	/* a return address outside of all mappings */
	UNWIND_END_STUCK,	/* the stack pointer did not move towards the root */
	UNWIND_END_FRAMES,	/* UNWIND_FRAMES_MAX reached */
	UNWIND_END_COPY,	/* the copy of the stack handed to user space was too short */
	UNWIND_END_STALE,	/* mappings changed between the sample and its tables */
	UNWIND_END_32_BIT,	/* a 32-bit program */
	/* a runtime's structures were invalid, or changed meanwhile */
	UNWIND_END_RUNTIME_STATE,
	UNWIND_END_RUNTIME_MEMORY, /* memory of a runtime's structures could not be read */
	UNWIND_END_RUNTIME_CODE,   /* code of a runtime without matching structures */
	/* complete except for frames of a runtime that was not known yet */
	UNWIND_END_RUNTIME_LATER,
	/* a return probe's trampoline whose return address is not known */
	UNWIND_END_RETURN_PROBE,
	UNWIND_END_RAN, /* the thread ran before its stack was read */
	/* as UNWIND_END_LATER, but too many such stacks were handed over already */
	UNWIND_END_UNKNOWN,
	UNWIND_END_PUT_OFF, /* the recorder's time for reading unwind information is used up */
	UNWIND_ENDS
};

#endif
