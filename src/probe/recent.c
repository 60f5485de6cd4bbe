// SPDX-License-Identifier: Apache-2.0
/*
 * "jmp *%rax" is a switch or a call of the function that %rax points to. With -fcf-protection
 * compilers mark the first; else what was done to the register before tells: entries of a table are
 * added to its address.
 */
#include "probe/internal.h"

void recent_add(struct recent *r, const struct isa_insn *insn)
{
	r->insns[r->count++ % RECENT_MAX] = *insn;
}

static enum indirect by_register(const struct recent *r, uint8_t reg)
{
	for (unsigned int i = 1; i <= r->count && i <= RECENT_MAX; i++) {
		const struct isa_insn *insn = &r->insns[(r->count - i) % RECENT_MAX];

		switch (isa_makes(insn, reg)) {
		case ISA_MAKES_NOTHING:
			continue;
		case ISA_MAKES_SUM:
			return INDIRECT_TABLE;
		case ISA_MAKES_LOADED:
			return INDIRECT_CALL;
		case ISA_MAKES_INDEXED: /* a table of functions, or of cases */
		case ISA_MAKES_OTHER:
			return INDIRECT_UNCLEAR;
		}
	}
	return INDIRECT_UNCLEAR;
}

enum indirect classify_indirect(const struct recent *recent, const struct isa_insn *jump)
{
	uint8_t reg;

	if (jump->prefixes & ISA_PREFIX_DS)
		return INDIRECT_TABLE;
	switch (isa_through(jump, &reg)) {
	case ISA_THROUGH_REGISTER:
		return by_register(recent, reg);
	case ISA_THROUGH_MEMORY:
		return INDIRECT_CALL;
	case ISA_THROUGH_TABLE:
		break;
	}
	return INDIRECT_UNCLEAR;
}
