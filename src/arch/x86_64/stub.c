// SPDX-License-Identifier: Apache-2.0
#include <dwarf.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/elf.h"

static uint32_t little_endian_32(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/*
 * A stub jumps through its slot, "jmp *SLOT(%rip)", or, before it was bound, pushes the number of
 * its relocation; "endbr64" and "bnd" may stand before either (System V ABI for x86-64, section
 * 5.2).
 */
bool arch_stub_read(const uint8_t *code, size_t size, uint64_t address, struct arch_stub *stub)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t at = 0;

	if (size >= sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64)))
		at = sizeof(endbr64);
	if (at < size && code[at] == 0xf2)
		at++;
	if (at + 6 <= size && code[at] == 0xff && code[at + 1] == 0x25) {
		int32_t distance = (int32_t)little_endian_32(code + at + 2);

		stub->by_number = false;
		stub->key = address + at + 6 + (uint64_t)(int64_t)distance;
		return true;
	}
	if (at + 5 <= size && code[at] == 0x68) {
		stub->by_number = true;
		stub->key = little_endian_32(code + at + 1);
		return true;
	}
	return false;
}

/* breg7 8; breg16 0; lit15; and; litN; ge; lit3; shl; plus */
bool arch_stub_is_cfa(const uint8_t *expression, size_t size, int64_t *border)
{
	static const uint8_t before[] = {
		DW_OP_breg0 + ARCH_REG_SP, 8,	      DW_OP_breg0 + ARCH_REG_RETURN, 0,
		DW_OP_lit0 + 15,	   DW_OP_and,
	};
	static const uint8_t behind[] = {DW_OP_ge, DW_OP_lit0 + 3, DW_OP_shl, DW_OP_plus};

	if (size != sizeof(before) + 1 + sizeof(behind) ||
	    memcmp(expression, before, sizeof(before)) != 0 ||
	    memcmp(expression + sizeof(before) + 1, behind, sizeof(behind)) != 0)
		return false;
	*border = expression[sizeof(before)] - DW_OP_lit0;
	return *border >= 0 && *border <= 15;
}
