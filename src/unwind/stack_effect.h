/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNWIND_STACK_EFFECT_H
#define UNWIND_STACK_EFFECT_H

#include <capstone/capstone.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/unwind_abi.h"

/*
 * What an instruction does to the stack pointer, rbp and rbx: enough to tell where the return
 * address is in code that has no unwind information, as long as the code does nothing unusual.
 */

enum stack_kind {
	STACK_PLAIN = 0,
	STACK_ROOT,   /* there is no caller */
	STACK_SIGNAL, /* the kernel's signal frame */
};

/* What is known at one place. All distances count downwards from the CFA and are larger than 0. */
struct stack_state {
	int32_t sp;	/* to rsp; 0: not known */
	int32_t fp;	/* to rbp, if it is a frame pointer; 0: it is none */
	int32_t rbp_at; /* to where the caller's rbp is saved; 0: nowhere */
	int32_t rbx_at;
	uint8_t kind; /* enum stack_kind */
	bool rbp_changed, rbx_changed;
	bool behind_system_call;
};

/* The state at the first instruction of a function. */
static inline struct stack_state stack_at_entry(void)
{
	return (struct stack_state){.sp = 8};
}

/* The state behind the instruction (decoded with details), if it does not jump away. */
void stack_step(struct stack_state *state, const cs_insn *insn);

/* The rule that says so; its until is 0. */
struct unwind_rule stack_rule(const struct stack_state *state);

#endif
