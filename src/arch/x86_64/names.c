// SPDX-License-Identifier: Apache-2.0
#include "arch/names.h"

#include <string.h>

const char *arch_register_name(unsigned int dwarf)
{
	static const char *const names[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
					    "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

	return names[dwarf & 15];
}

int arch_register_numbered(const char *name, size_t length)
{
	/* by 64 and by 32 bits */
	static const char *const names[2][16] = {
		{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11",
		 "r12", "r13", "r14", "r15"},
		{"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "r8d", "r9d", "r10d",
		 "r11d", "r12d", "r13d", "r14d", "r15d"},
	};

	for (int bits = 0; bits < 2; bits++)
		for (int i = 0; i < 16; i++)
			if (strlen(names[bits][i]) == length &&
			    !strncmp(name, names[bits][i], length))
				return i;
	return -1;
}

const char *const arch_thunks[] = {
	"__x86.get_pc_thunk*", "__x86_indirect_*", "__x86.indirect_*", "__x86_return_thunk", NULL,
};
