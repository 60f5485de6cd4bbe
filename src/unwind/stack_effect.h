/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNWIND_STACK_EFFECT_H
#define UNWIND_STACK_EFFECT_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "arch/insn.h"
#include "bpf/unwind/abi.h"

/*
 * What an instruction does to the stack pointer, rbp and rbx: enough to tell where the return
 * address is in code that has no unwind information, as long as the code does nothing unusual.
 *
 * Where a function rounds its stack pointer down, to keep vectors on its stack, the distance to the
 * CFA is lost. It then has a copy of the old stack pointer, in another register or on the rounded
 * stack: the copy is followed.
 *
 * Where a function touches each page of a large frame (-fstack-clash-protection), a loop moves the
 * stack pointer down to what a register was given before.
 */

enum stack_kind {
	STACK_PLAIN = 0,
	STACK_ROOT,   /* there is no caller */
	STACK_SIGNAL, /* the kernel's signal frame */
};

/* What is known at one place. All distances count downwards from the CFA and are larger than 0. */
struct stack_state {
	int32_t sp;    /* to rsp; 0: not known */
	int32_t fp;    /* to rbp, if it is a frame pointer; 0: it is none */
	int32_t fp_at; /* to where the caller's rbp is saved; 0: nowhere */
	int32_t saved_at;
	int32_t copy; /* to what copy_register holds; 0: nothing is known of any other register */
	int32_t room; /* bytes from the rounded stack pointer down to rsp, if `rounded` */
	/* the same to where a stack pointer is stored (less than 0: above it), */
	int32_t stored_at;
	int32_t stored;	       /* and from the CFA to what it points to; 0: none is */
	int32_t goal;	       /* to where such a loop moves rsp; 0: there is none */
	uint8_t copy_register; /* DWARF number */
	bool rounded;
	uint8_t kind; /* enum stack_kind */
	bool fp_changed, saved_changed;
	bool behind_system_call;
	uint8_t unused[2]; /* 0: states are compared as bytes */
};

/* The state at the first instruction of a function. */
static inline struct stack_state stack_at_entry(void)
{
	return (struct stack_state){.sp = 8};
}

/* The state behind the instruction, if it does not jump away. */
void stack_step(struct stack_state *state, const struct insn *insn);

/* The rule that says so; its until is 0. */
struct unwind_rule stack_rule(const struct stack_state *state);

#endif
