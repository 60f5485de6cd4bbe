/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNWIND_GO_RULES_H
#define UNWIND_GO_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi.h"
#include "unwind/go_pclntab.h"

/*
 * Rules for Go's functions, exact ones: Go's table says for each instruction how far the stack
 * pointer is below the return address. Where rbp is saved it does not say; that is read from the
 * prologue.
 */

/*
 * A window on the image's code, since functions are read one by one in their order. All zero is
 * empty.
 */
struct go_code {
	uint64_t start;
	size_t size;
	uint8_t bytes[64 * 1024];
};

/*
 * Whether signal handlers return to the function: to its first byte, with no call before it, so
 * that its rule must also hold for the byte before.
 */
bool go_is_signal_return(const struct go_table *table, const struct go_function *function);

/*
 * Sets rows to the function's rules, sorted, the first one at offset 0, neighbours different. A
 * function without a table (C code that Go's linker took in) has none. 0 or -ENOMEM.
 */
int go_rules(struct go_table *table, const struct go_function *function, struct go_code *code,
	     struct cfi_rows *rows);

#endif
