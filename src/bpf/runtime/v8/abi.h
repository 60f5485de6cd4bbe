/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RUNTIME_V8_ABI_H
#define BPF_RUNTIME_V8_ABI_H

/* What the kernel side knows of a process that runs V8, as src/runtime/v8/v8.c writes it. */

#include "bpf/unwind/abi.h"

/* How a ScopeInfo is laid out, in words with its Map. */
struct v8_scope_layout {
	__u8 first;	  /* words before the names of variables */
	__u8 locals;	  /* which word has the number of variables */
	__u8 names_max;	  /* of more variables than that the names are in a table of their own */
	__u8 flags_plain; /* flags are a number, not a small integer */
	__u8 counted;	  /* the type of scope with one more word before the names; 0: none */
};

/* Offsets are from the address of an object, whose pointers have the lowest bit set. */
struct v8_data {
	__u64 builtins_start,
		builtins_size; /* virtual addresses of the image: the embedded builtins */
	__u16 type_shared;     /* instance type of SharedFunctionInfo */
	__u16 type_bytecode;   /* and of BytecodeArray */
	__u8 map_type;	       /* Map: its instance type */
	__u8 function_shared;  /* JSFunction: its SharedFunctionInfo */
	/* SharedFunctionInfo, in words. */
	__u8 shared_data, shared_name, shared_script, shared_numbers;
	__u8 frame_types;	    /* numbers of types of frames that there are */
	__u8 frame_entry;	    /* that of the entry from C++ */
	__u8 frame_construct_entry; /* and of its variant for constructors */
	struct v8_scope_layout scope;
	__u8 frame_wasm; /* the number of WebAssembly's type of frames */
	__u8 reserved[5];
};

#define V8_SHARED_WORDS 8

/* Of a ScopeInfo, this many words are a part of the checksum: no function's is shorter. */
#define V8_SCOPE_WORDS 8

/* A string: its hash and its length, in one word. */
#define V8_STRING_HEAD 8

/* Flags of a ScopeInfo (src/objects/scope-info.tq). */
#define V8_SCOPE_TYPE(flags)	    ((flags)&15)
#define V8_SCOPE_HAS_CLASS(flags)   ((flags) >> 10 & 1)
#define V8_SCOPE_HAS_NAME(flags)    (((flags) >> 12 & 3) != 0)
#define V8_SCOPE_HAS_GUESSED(flags) ((flags) >> 14 & 1)

#define V8_LOCALS_MAX		    65536

/*
 * Whether a function's name_or_scope_info is a ScopeInfo. A function that has run has code, a
 * builtin just a number.
 */
static inline __attribute__((always_inline)) int v8_has_scope(__u64 name, __u64 data)
{
	return name & data & 1;
}

static inline __attribute__((always_inline)) __u32 v8_scope_flags(const struct v8_scope_layout *l,
								  const __u64 *scope)
{
	return (__u32)(l->flags_plain ? scope[1] : scope[1] >> 32);
}

/*
 * What stands in a ScopeInfo behind its variables begins with this word; 0: it has more of them
 * than any.
 */
static inline __attribute__((always_inline)) __u32 v8_scope_behind(const struct v8_scope_layout *l,
								   const __u64 *scope)
{
	__u64 locals = scope[l->locals & (V8_SCOPE_WORDS - 1)] >> 32;

	if (locals > V8_LOCALS_MAX)
		return 0;
	/* a name and flags of each variable */
	return (__u32)(l->first + (locals < l->names_max ? locals * 2 : locals + 1) +
		       (l->counted && V8_SCOPE_TYPE(v8_scope_flags(l, scope)) == l->counted));
}

/* Which word of a ScopeInfo is the function's name; 0: none. */
static inline __attribute__((always_inline)) __u32 v8_scope_name(const struct v8_scope_layout *l,
								 const __u64 *scope)
{
	__u32 flags = v8_scope_flags(l, scope), behind = v8_scope_behind(l, scope);

	return behind && V8_SCOPE_HAS_NAME(flags) ? behind + V8_SCOPE_HAS_CLASS(flags) : 0;
}

/* That word, if it is among the first ones; if there is no name, the one that was guessed. */
static inline __attribute__((always_inline)) __u64 v8_scope_named(const __u64 *scope, __u32 name)
{
	__u64 word = scope[name & (V8_SCOPE_WORDS - 1)];

	return !name			   ? 0
	       : word & 1		   ? word
	       : name < V8_SCOPE_WORDS - 2 ? scope[(name + 2) & (V8_SCOPE_WORDS - 1)]
					   : 0;
}

/* What a frame of two words is (UNWIND_WORD_VARIANT). */
enum v8_frame {
	/*
	 * Value: the SharedFunctionInfo. Word 1: v8_checksum() in the upper half; in the lower one
	 * the offset into the bytecode as the interpreter's frame has it, 0: not known.
	 */
	V8_FRAME_FUNCTION = 0,
	/* Value: the address in the code that was compiled. Word 1: V8_CODE_DETAIL(). */
	V8_FRAME_CODE,
	/* The same, where the address is not that of a call. */
	V8_FRAME_LEAF,
	/*
	 * Code without a function of JavaScript: a regular expression, WebAssembly, a stub. Value:
	 * the address. Word 1: V8_STUB_DETAIL().
	 */
	V8_FRAME_STUB,
};

/*
 * The frame's type (0: it is not there yet, or not any more), and of WebAssembly's frames the
 * pointer to the instance.
 */
#define V8_STUB_DETAIL(type, instance) ((type) | (instance) << 8)
#define V8_STUB_TYPE(detail)	       ((detail)&255)
#define V8_STUB_INSTANCE(detail)       ((detail) >> 8)

#define V8_CODE_DETAIL(shared, checksum) \
	(((__u64)(shared)&UNWIND_VALUE_MASK) | (__u64)((checksum) >> 16) << 48)

static inline __attribute__((always_inline)) __u64 v8_mix(__u64 sum, __u64 word)
{
	sum = (sum ^ word) * 0x9e3779b97f4a7c15ull;
	return sum ^ sum >> 29;
}

/*
 * Tells a SharedFunctionInfo from another one that may lie in its place later. Of its fields, those
 * that change while the function is in use (compiled code, flags of the compilers) are left out;
 * numbers are the length, the count of parameters and the place of the function's token. What it
 * refers to may be freed and become something else while it is still as it was: so what its name is
 * read from counts too, the beginning of the ScopeInfo and the head of the string.
 */
static inline __attribute__((always_inline)) __u64 v8_sum_shared(__u64 name, __u64 script,
								 __u64 numbers)
{
	return v8_mix(v8_mix(v8_mix(0, name), script), numbers & 0xffffffffffffull);
}

static inline __attribute__((always_inline)) __u64 v8_sum_scope(__u64 sum, const __u64 *scope)
{
	__u32 i;

	for (i = 0; i < V8_SCOPE_WORDS; i++)
		sum = v8_mix(sum, scope[i]);
	return sum;
}

/* The checksum, of all that was summed up. */
static inline __attribute__((always_inline)) __u32 v8_checksum(__u64 sum)
{
	return (__u32)(sum * 0xbf58476d1ce4e5b9ull >> 32);
}

#endif
