/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_UNWIND_ABI_H
#define BPF_UNWIND_ABI_H

/*
 * The unwind tables, as user space writes them and the kernel side reads them.
 *
 * Everything lies in one pool of words (4 bytes), cut into chunks of 1 MiB. A chunk is one BPF
 * array that user space has mapped, made when needed and given back when empty, so filling a table
 * is a memory copy and costs no system call. A reference counts words from the pool's start; 0
 * means none. What is allocated begins at an even word and does not cross the border of a chunk.
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
 * The most words of one user stack: a native frame takes one, a frame of a runtime two. A power of
 * two.
 */
#define UNWIND_FRAMES_MAX 8192

/*
 * Language runtimes whose frames are found by their own structures. A row here, a step in NAME.h
 * in bpf/runtime/NAME/, and a runtime_type in src/runtime/NAME/: that is all there is to one.
 */
#define UNWIND_RUNTIMES(X)  \
	X(PYTHON, python)   \
	X(HOTSPOT, hotspot) \
	X(GO, go)           \
	X(LUA, lua)         \
	X(LUAJIT, luajit)   \
	X(V8, v8)

/*
 * Those that know where their newest frame is when the native frames above it cannot be walked:
 * NAME_restart() in NAME_restart.h says it (restart.h), and runtime_type has `restarts`.
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
	UNWIND_RUNTIME_COUNT
};

/*
 * A native frame is one word, its address, with UNWIND_GUESS set or not. A frame of a runtime is
 * two:
 *
 *	word 0: UNWIND_GUESS, UNWIND_IS_RUNTIME, 4 bits variant, 6 bits runtime, 48 bits value
 *	word 1: what the runtime wants: the place within the function, a checksum
 *
 * Both words together must be all that it takes to name the frame, for as long as the process
 * lives.
 */
#define UNWIND_GUESS	  (1ull << 63) /* found by a frame pointer, or by a rule that is a guess */
#define UNWIND_IS_RUNTIME (1ull << 62) /* this and the next word are one frame of a runtime */
#define UNWIND_VALUE_MASK ((1ull << 48) - 1)

#define UNWIND_RUNTIME_WORD(runtime, variant, value)                           \
	(UNWIND_IS_RUNTIME | (__u64)(variant) << 54 | (__u64)(runtime) << 48 | \
	 ((__u64)(value)&UNWIND_VALUE_MASK))
/*
 * Word 0 where native frames are missing that could not be walked: frames of the same stack follow.
 * Word 1 is 0.
 */
#define UNWIND_GAP		  UNWIND_RUNTIME_WORD(UNWIND_RUNTIME_NONE, 0, 0)
#define UNWIND_WORD_RUNTIME(word) ((__u32)((word) >> 48) & 63)
#define UNWIND_WORD_VARIANT(word) ((__u32)((word) >> 54) & 15)
#define UNWIND_WORD_VALUE(word)	  ((word)&UNWIND_VALUE_MASK)

/* x, or 0 if it is less: without a branch, of which the verifier would go both ways. */
static inline __attribute__((always_inline)) __s32 unwind_positive(__s32 x)
{
	__s32 sign = x >> 31;

	/* the compiler would make a branch here */
	__asm__("" : "+r"(sign));
	return x & ~sign;
}

/*
 * A process's block of data for one runtime (struct python_data and so on) has at most this many
 * bytes.
 */
#define UNWIND_DATA_BYTES 1024
#define UNWIND_DATA_WORDS (UNWIND_DATA_BYTES / 4)

/* Memory for what a step reads; the stack of a BPF program is short. */
#define UNWIND_PIECE_BYTES 1024

/* What its step may keep for the naming of a frame (kept.h) has this many. */
#define UNWIND_KEPT_BYTES 1096

/*
 * From address pc (its low 16 bits) on, the run of rules that begins at rule applies, up to
 * the next row. Rows of a page are sorted by pc; every page with code begins with a row at pc 0.
 */
struct unwind_row {
	__u16 pc;
	__u16 rule;
};

/* One 64 KiB page of an image: its rows. */
struct unwind_page {
	__u32 rows;  /* reference; 0: nothing is known of this page */
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
	/* none yet, since the code was not read so far: hand the stack to user space */
	UNWIND_CFA_LATER,
	UNWIND_CFA_UNSUPPORTED, /* there is a rule, but none that this table can express */
};

/* How to find the caller's rbp. */
enum unwind_fp {
	UNWIND_FP_SAME = 0, /* not touched so far */
	UNWIND_FP_CFA,	    /* saved at CFA + fp_offset */
	UNWIND_FP_FP,	    /* saved at rbp + fp_offset (an expression of compilers that realign) */
	UNWIND_FP_LOST,	    /* undefined, or a rule that this table can't express */
};

/*
 * One rule; the return address is at CFA - 8, but for IN_REGISTER. Rules stand in runs: this one
 * holds for addresses less than `until` bytes behind the row's, then the next one of the table
 * takes over; the last of a run has until 0. Prologues and epilogues repeat the same few sequences
 * of push and pop all over a program, and become one row each that way.
 */
struct unwind_rule {
	__u8 cfa;	   /* enum unwind_cfa */
	__u8 cfa_register; /* DWARF number; INDEXED has a second one in the upper 4 bits */
	__u8 fp;	   /* enum unwind_fp */
	__u8 until;
	__s32 cfa_offset;
	__s16 fp_offset;
	__s8 saved; /* the caller's ARCH_REG_SAVED is at CFA + 8 * saved; 0: not touched so far */
	__u8 guess; /* not what the image says, but what its code seems to do */
	__s32 deref_offset;
};

/* Instead of struct unwind_rule's saved: undefined, or a rule that this table can't express. */
#define UNWIND_SAVED_LOST 127

#define UNWIND_RULES_MAX  65536 /* rules are shared by all images */
#define UNWIND_RUN_MAX	  8	/* rules of one run */

/* Rules that always exist, at these indices, with until 0. */
enum {
	UNWIND_RULE_NONE = 0,
	UNWIND_RULE_END = 1,
	UNWIND_RULE_UNSUPPORTED = 2
};

/* What is to be done for code of a mapping. */
enum unwind_mapping_kind {
	UNWIND_MAPPING_LATER = 0, /* its tables are not built yet: hand the stack to user space */
	UNWIND_MAPPING_TABLE,
	UNWIND_MAPPING_NO_TABLE, /* there is none (JIT code, say): follow the frame pointer */
};

/* Executable mappings of a process, sorted by start. An image's virtual address is pc - bias. */
struct unwind_mapping {
	__u64 start, end;
	__u64 bias;
	__u32 kind;	  /* enum unwind_mapping_kind */
	__u32 directory;  /* reference to struct unwind_page[pages] */
	__u32 first_page; /* number of the page that directory begins with */
	__u32 pages;
	__u32 runtime; /* enum unwind_runtime: its step is asked first for code of this mapping */
	__u32 data;    /* reference to what that runtime's step knows of the process; 0: nothing */
};

/* What is known of a process (value of the map of processes, the key is its pid). */
struct unwind_space {
	__u32 mappings; /* reference to struct unwind_mapping[count] */
	__u32 count;
	__u32 generation; /* goes up each time the mappings are written anew */
	__u32 exec_id;	  /* task->self_exec_id for which all this is true, or UNWIND_ANY_EXEC */
	/*
	 * As in struct unwind_mapping: the runtime that maps memory for code that it makes; 0: none
	 * does.
	 */
	__u32 jit_runtime, jit_data;
	/* The same: the one that a walk can begin again at (restart.h); 0: there is none. */
	__u32 home_runtime, home_data;
};

/*
 * Made before a sample has told the number of its program: what it executes since is heard of by
 * other means.
 */
#define UNWIND_ANY_EXEC 0xffffffffu

/* Where a frame's ARCH_REG_SAVED is, if not at an address. */
enum unwind_saved {
	UNWIND_SAVED_IN_REGISTER = 0, /* nothing has touched it */
	UNWIND_SAVED_UNKNOWN = 1,
};

/* Why a walk ended. */
enum unwind_end {
	UNWIND_END_ROOT = 0, /* at the first frame of the thread: complete */
	UNWIND_END_LATER,    /* user space must go on: unknown process or mapping, tables missing */
	UNWIND_END_MEMORY,   /* the stack's memory could not be read */
	UNWIND_END_UNSUPPORTED, /* UNWIND_CFA_UNSUPPORTED, or a register that is not known here */
	UNWIND_END_NO_RULE,	/* no table, and the frame pointer led nowhere */
	UNWIND_END_UNMAPPED,	/* a return address outside of all mappings */
	UNWIND_END_STUCK,	/* the stack pointer did not move towards the root */
	UNWIND_END_FRAMES,	/* UNWIND_FRAMES_MAX reached */
	UNWIND_END_COPY,	/* the copy of the stack handed to user space was too short */
	UNWIND_END_STALE,	/* mappings changed between the sample and its tables */
	UNWIND_END_32_BIT,	/* a 32-bit program */
	/* a runtime's structures were not what they should be, or changed */
	UNWIND_END_RUNTIME_STATE,
	UNWIND_END_RUNTIME_MEMORY, /* memory of a runtime's structures could not be read */
	UNWIND_END_RUNTIME_CODE,   /* code of a runtime that its structures do not explain */
	UNWIND_END_RUNTIME_LATER, /* complete, but for frames of a runtime that was not known yet */
	UNWIND_END_RETURN_PROBE,  /* a return probe's trampoline, and no return address to it */
	UNWIND_END_RAN,		  /* the thread did not wait long enough for its stack to be read */
	/* unknown as for UNWIND_END_LATER, but too many such stacks were handed over already */
	UNWIND_END_UNKNOWN,
	UNWIND_END_PUT_OFF, /* the recorder has no time left to read what describes the code */
	UNWIND_ENDS
};

#endif
