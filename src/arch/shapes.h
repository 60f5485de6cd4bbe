/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARCH_SHAPES_H
#define ARCH_SHAPES_H

/*
 * How compilers, linkers and C libraries begin and end code, known by its bytes: without symbols
 * and unwind information, that is what tells where functions are.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A byte between functions that never runs: of a trap, or zero. */
static inline bool shape_fills(uint8_t byte);
/* Whether a no-op that pads may begin with it. */
static inline bool shape_may_pad(uint8_t byte);

/* The instructions that make a frame pointer: nothing but a function begins with them. */
bool shape_makes_frame(const uint8_t *code, size_t size);
/* Those that save the registers of functions that need all of them. */
bool shape_saves_registers(const uint8_t *code, size_t size);
/* A landing mark, a register that is saved, or room on the stack: the way a compiler begins. */
bool shape_begins_function(const uint8_t *code, size_t size);
/* A linkage table's first entry, which the others jump to. */
bool shape_begins_stubs(const uint8_t *code, size_t size);

/*
 * The length of an instruction that takes the address of what lies at a distance behind it; 0: it
 * is another one.
 */
static inline size_t shape_loads_address(const uint8_t *code, size_t size, int32_t *distance);

/* Whether the last byte before code is one of a return. */
bool shape_returned(const uint8_t *code);

/*
 * How many bytes of a program's start-up code there are: up to where it halts behind the call that
 * never returns, or jumps to the program (the dynamic linker).
 */
size_t shape_of_start(const uint8_t *code, size_t size);

/*
 * Whether this is a function that makes another register the stack pointer first and halts last: of
 * at least 4 bytes. Where a coroutine's stack begins.
 */
bool shape_begins_stack(const uint8_t *code, size_t size);

/* The length of an instruction that drops the innermost word of the stack; 0: it is another one. */
size_t shape_drops_word(const uint8_t *code, size_t size);

#if defined(__x86_64__)
#include "arch/x86_64/shapes.h"
#endif

#endif
