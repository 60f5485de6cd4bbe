// SPDX-License-Identifier: Apache-2.0
#include "arch/go.h"

#include <string.h>

/* mov between %rbp and n(%rsp), or lea of that */
size_t arch_go_moves_fp(const uint8_t *code, size_t left, enum arch_go_move move, int32_t *distance)
{
	static const uint8_t opcodes[] = {
		[ARCH_GO_SAVES_FP] = 0x89,
		[ARCH_GO_LOADS_FP] = 0x8b,
		[ARCH_GO_MAKES_FP] = 0x8d,
	};

	if (left < 5 || code[0] != 0x48 || code[1] != opcodes[move] || code[3] != 0x24)
		return 0;
	if (code[2] == 0x6c) {
		*distance = (int8_t)code[4];
		return 5;
	}
	if (code[2] == 0xac && left >= 8) {
		memcpy(distance, code + 4, 4);
		return 8;
	}
	return 0;
}

/* push %rbp */
bool arch_go_pushed_fp(const uint8_t *code)
{
	return code[-1] == 0x55;
}

/* mov %rsp, %rbp */
bool arch_go_sets_fp(const uint8_t *code, size_t left)
{
	return left >= 3 && !memcmp(code, "\x48\x89\xe5", 3);
}

bool arch_go_switches_stack(const uint8_t code[4])
{
	const bool has_rex = (code[0] & 0xf8) == 0x48; /* 64 bits */
	const uint8_t mod = code[2] >> 6, reg = code[2] >> 3 & 7, rm = code[2] & 7;

	/* mov memory or register to rsp, mov register to rsp */
	if (has_rex && !(code[0] & 4) && code[1] == 0x8b && reg == 4)
		return true;
	if (has_rex && !(code[0] & 1) && code[1] == 0x89 && mod == 3 && rm == 4)
		return true;
	/* and $-16, %rsp */
	return code[0] == 0x48 && code[1] == 0x83 && code[2] == 0xe4;
}
