/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RUNTIME_PYTHON_ABI_H
#define BPF_RUNTIME_PYTHON_ABI_H

/*
 * What the kernel side knows of a process that runs CPython, as src/runtime/python/python.c writes
 * it. All offsets are in bytes.
 */

#include "bpf/opaque.h"
#include "bpf/unwind/abi.h"

/* How Python's frames hang together and where they meet the native stack; see python.h. */
enum python_shape {
	PYTHON_FRAME_OBJECTS = 1, /* 3.8 to 3.10 */
	PYTHON_CFRAMES_ENTRY,	  /* 3.11 */
	PYTHON_CFRAMES,		  /* 3.12 */
	PYTHON_FRAMES,		  /* 3.13, 3.14 */
	PYTHON_FRAMES_BASED,	  /* 3.15 and later */
};

/* Words that are read of a frame, or a code object, at most. */
#define PYTHON_WORDS 11

/* Ranges of code in which a frame of the evaluation function has no Python frame (3.8 to 3.10). */
#define PYTHON_UNLINKED_MAX 12

struct python_range {
	__u64 start, end;
};

struct python_data {
	__u32 shape;		 /* enum python_shape */
	__u64 image, image_size; /* all of CPython's own code */

	/* The thread state's place in the thread's own memory, relative to the thread pointer. */
	__s32 tss;	    /* 0: not known */
	__s32 tss_indirect; /* not 0: at tss is a pointer to memory that has it here, plus 1 */

	/* struct _PyRuntime */
	__u64 current; /* address of the pointer to the thread state that holds the lock; 0: none */
	__u64 interpreters; /* address of the pointer to the first interpreter */

	/* PyInterpreterState */
	__u16 interpreter_next, interpreter_threads;

	/* PyThreadState */
	__u16 thread_next, thread_interpreter, thread_id;
	__u16 thread_frame; /* the innermost frame, or _PyCFrame */

	/* _PyCFrame: 3.11, 3.12 */
	__u16 cframe_current, cframe_previous;

	/*
	 * _PyInterpreterFrame, PyFrameObject: what is read, and what lies where in that. Each but
	 * owner is a word.
	 */
	__u16 frame_from, frame_bytes;
	__u16 frame_code, frame_previous, frame_instruction;
	__u16 frame_owner;    /* a byte: its owner; is_entry in 3.11 */
	__u16 frame_function; /* where functions have numbers */

	/*
	 * PyFunctionObject: the word with its number in the lower half, 80 bytes behind its code
	 * object (3.11); 0: there is none.
	 */
	__u16 function_number;

	/* PyCodeObject */
	__u16 code_from;       /* what is read begins here */
	__u16 code_words;      /* bit n: word n of that never changes, and goes into the checksum */
	__u16 code_first_byte; /* of its instructions; 0: frames have an index (3.8 to 3.10) */
	/* which of the words that are read are the pointers to its name, and to that of its file */
	__u16 code_name, code_file;
	__u16 code_flags;  /* 4 bytes: its flags; 0: not known */
	__u16 code_number; /* which one, plus 1, has its number in the upper half; 0: it has none */
	__u16 name_hash;   /* PyASCIIObject: its hash, behind its length */
	__u16 name_text;   /* its characters, if all are ASCII */
	__u16 unlinked_count;

	/*
	 * _PyEval_EvalFrameDefault(), and its other part if the compiler has split it (3.8 to 3.10)
	 */
	struct python_range eval, eval_cold;
	struct python_range unlinked[PYTHON_UNLINKED_MAX];
};

/*
 * A str whose hash was never asked for has this one: its length and its first characters stand
 * for it.
 */
#define PYTHON_NO_HASH (~0ull)

/*
 * Words that are read of such a str, from its length on, and how many of them at most are
 * characters.
 */
#define PYTHON_NAME_WORDS 8
#define PYTHON_TEXT_WORDS 4

/* The characters' first word among them, at most. */
#define PYTHON_TEXT_FROM (PYTHON_NAME_WORDS - PYTHON_TEXT_WORDS)

/* Which of the words that are read of a name has its first characters. */
static inline __attribute__((always_inline)) __u32 python_text_from(const struct python_data *data)
{
	__u32 from = (__u32)(data->name_text - data->name_hash + 8) / 8;

	return from < PYTHON_TEXT_FROM ? from : PYTHON_TEXT_FROM;
}

/* PyASCIIObject.state: interned has 2 bits, then come these (Include/cpython/unicodeobject.h). */
#define PYTHON_KIND_SHIFT 2
#define PYTHON_KIND_MASK  7u
#define PYTHON_COMPACT	  (1u << 5)
#define PYTHON_ASCII	  (1u << 6)

/*
 * What is kept of a code object (kept.h): by the time that its name is asked for, the code of a
 * module has run, and is gone. Of a str that is not all ASCII, or cannot be read, nothing is.
 */
#define PYTHON_KEPT_NAME 96
#define PYTHON_KEPT_FILE 192
#define PYTHON_KEPT_FEW	 32 /* where that much cannot be read: it is near the end of memory */

struct python_kept_text {
	__u32 length; /* of the str */
	__u32 has;    /* bytes that were read; 0: it is not known */
};

struct python_kept {
	struct python_kept_text name_is, file_is;
	char name[PYTHON_KEPT_NAME], file[PYTHON_KEPT_FILE];
};

/* Under which key: a place and a sum mean one code object. */
static inline __attribute__((always_inline)) __u64 python_kept_key(__u64 code, __u32 sum)
{
	return (code ^ (__u64)sum << 32) * 0x9e3779b97f4a7c15ull;
}

/* UNWIND_WORD_VARIANT() of Python's frames. */
enum python_variant {
	PYTHON_CHECKED = 0, /* word 1: the instruction's index, and python_sum() */
	PYTHON_UNCHECKED,   /* the code object could not be read: no sum */
};

/*
 * Since 3.12, code objects are numbered (co_version, Objects/codeobject.c) as long as there are
 * numbers of 32 bits. 0: this one is not.
 */
static inline __attribute__((always_inline)) __u64 python_number(const __u64 words[PYTHON_WORDS],
								 __u32 code_number)
{
	__u32 at = code_number - 1;

	/* what is checked is what is used: the verifier knows no more */
	OPAQUE(at);
	return at < PYTHON_WORDS ? words[at] >> 32 : 0;
}

/*
 * Words that never change in the life of a code object, and its number, or else the hash of its
 * name, mixed: another one at the same place has another sum. Code that is made by the same text
 * again and again differs in nothing but the name, whose str may lie where that of the one before
 * has lain.
 */
static inline __attribute__((always_inline)) __u32 python_sum(const __u64 words[PYTHON_WORDS],
							      __u32 chosen, __u64 number_or_hash)
{
	/*
	 * odd numbers without a pattern (splitmix64 of 1, 2 …): the products are independent of
	 * each other
	 */
	static const __u64 factors[PYTHON_WORDS] = {
		0xe220a8397b1dcdafull, 0x6e789e6aa1b965f5ull, 0x06c45d188009454full,
		0xf88bb8a8724c81edull, 0x1b39896a51a8749bull, 0x53cb9f0c747ea2ebull,
		0x2c829abe1f4532e1ull, 0xc584133ac916ab3dull, 0x3ee5789041c98ac3ull,
		0xf3b8488c368cb0a7ull, 0x657eecdd3cb13d09ull,
	};
	__u64 sum = number_or_hash * 0x9e3779b97f4a7c15ull;
	__u32 i;

#ifdef __clang__
#pragma unroll
#endif
	for (i = 0; i < PYTHON_WORDS; i++)
		sum += (words[i] & -(__u64)(chosen >> i & 1)) * factors[i];
	sum = (sum ^ sum >> 32) * 0x9e3779b97f4a7c15ull;
	return (__u32)(sum >> 32);
}

/*
 * That sum, of a code object whose name has no hash, with what stands for it. from: the first word
 * of characters. What lies behind the last one is not the name's.
 */
static inline __attribute__((always_inline)) __u32
python_sum_name(__u32 sum, const __u64 words[PYTHON_NAME_WORDS], __u32 from)
{
	__u64 mix = ((__u64)sum << 32 ^ words[0]) * 0xe220a8397b1dcdafull;
	__u32 i;

#ifdef __clang__
#pragma unroll
#endif
	for (i = 0; i < PYTHON_TEXT_WORDS; i++) {
		__u64 word = words[(from + i) & (PYTHON_NAME_WORDS - 1)];
		__u64 bytes = words[0] > i * 8ull ? words[0] - i * 8ull : 0;

		if (bytes < 8)
			word &= (1ull << bytes * 8) - 1;
		mix = (mix ^ word ^ mix >> 31) * 0x9e3779b97f4a7c15ull;
	}
	return (__u32)(mix >> 32);
}

#endif
