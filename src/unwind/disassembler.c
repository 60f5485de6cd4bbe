// SPDX-License-Identifier: Apache-2.0
#include "unwind/disassembler.h"

#include <errno.h>

int disassembler_open(struct disassembler *d)
{
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &d->handle) != CS_ERR_OK)
		return -ENOMEM;
	cs_option(d->handle, CS_OPT_DETAIL, CS_OPT_ON);
	d->insn = cs_malloc(d->handle);
	return d->insn ? 0 : -ENOMEM;
}

void disassembler_close(struct disassembler *d)
{
	if (d->insn)
		cs_free(d->insn, 1);
	if (d->handle)
		cs_close(&d->handle);
}

bool disassembler_read(struct disassembler *d, const uint8_t *code, size_t size, uint64_t address)
{
	return cs_disasm_iter(d->handle, &code, &size, &address, d->insn);
}

bool insn_is_jump(const cs_insn *insn)
{
	if (insn->id == X86_INS_CALL)
		return false;
	for (int i = 0; i < insn->detail->groups_count; i++)
		if (insn->detail->groups[i] == CS_GRP_JUMP ||
		    insn->detail->groups[i] == CS_GRP_BRANCH_RELATIVE)
			return true;
	return false;
}

const int64_t *insn_target(const cs_insn *insn)
{
	const cs_x86 *x = &insn->detail->x86;

	if (x->op_count != 1 || x->operands[0].type != X86_OP_IMM ||
	    (insn->id != X86_INS_CALL && !insn_is_jump(insn)))
		return NULL;
	return &x->operands[0].imm;
}
