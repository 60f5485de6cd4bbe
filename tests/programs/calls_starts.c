// SPDX-License-Identifier: Apache-2.0
/* Calls functions that begin in all ways, 100 times each: those of calls_starts_x86_64.S. */
#include "calls.h"

#define STARTS(do)                                                                                            \
	do                                                                                                    \
	(begins_endbr) do(begins_endbr_push) do(begins_sub) do(begins_mov) do(begins_push) do(begins_nop) do( \
		begins_nop5) do(begins_jmp) do(begins_call) do(begins_jcc) do(begins_xor) do(begins_push_r12) do(begins_lea_rip)

#define DECLARE(name) unsigned long name(unsigned long);
STARTS(DECLARE)
void begins_ret(void);
unsigned long begins_loop(unsigned long);

#define CALL(name)                              \
	for (unsigned long i = 0; i < 100; i++) \
		calls_add(name(i));             \
	printf("calls %s %d\n", #name, 100);

int main(void)
{
	STARTS(CALL)
	for (unsigned long i = 0; i < 100; i++) {
		begins_ret();
		/* not counted: to go round in it looks like calling itself by a jump */
		calls_add(begins_loop(i));
	}
	printf("calls begins_ret 100\n");
	return calls_end();
}
