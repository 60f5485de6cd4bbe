/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_PROGRAMS_JIT_CODE_H
#define TESTS_PROGRAMS_JIT_CODE_H

/* Code as a JIT compiler makes it: with frame pointers, without unwind tables. */

#include <stdint.h>

/* Spins for as many turns as its argument says. */
static const uint8_t spinner[] = {
	0x55,		  /* push %rbp */
	0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
	0x48, 0xff, 0xcf, /* 1: dec %rdi */
	0x75, 0xfb,	  /* jnz 1b */
	0x5d,		  /* pop %rbp */
	0xc3,		  /* ret */
};

/* Calls its second argument, with its first one. */
static const uint8_t outer[] = {
	0x55,		  /* push %rbp */
	0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
	0xff, 0xd6,	  /* call *%rsi */
	0x5d,		  /* pop %rbp */
	0xc3,		  /* ret */
};

typedef void jitted(unsigned long turns, const void *callee);

#endif
