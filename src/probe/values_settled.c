// SPDX-License-Identifier: Apache-2.0
/*
 * Are a function's parameters in their homes behind its prologue? Of code that is not optimised,
 * they are; of other code, DWARF may give a home to a parameter that is stored there later, or on
 * one path only. So the code up to there is looked at: it must go straight on, and store something
 * into each home.
 */
#include <gelf.h>
#include <unistd.h>

#include "arch/arch.h"
#include "arch/isa.h"
#include "probe/values_settled.h"

#define PROLOGUE_MAX 1024u

bool values_read_code(Elf *elf, int fd, uint64_t address, uint8_t *code, size_t size)
{
	size_t count;

	if (elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count && i < 256; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    !(header.p_flags & PF_X) || address < header.p_vaddr ||
		    address - header.p_vaddr >= header.p_filesz ||
		    size > header.p_filesz - (address - header.p_vaddr))
			continue;
		if (pread(fd, code, size, (off_t)(address - header.p_vaddr + header.p_offset)) ==
		    (ssize_t)size)
			return true;
	}
	return false;
}

bool values_settle(Elf *elf, int fd, uint64_t begin, uint64_t end, struct value_home *homes,
		   size_t count, bool *keeps_first)
{
	uint8_t code[PROLOGUE_MAX];
	struct isa_stack stack = {0, ISA_STACK_UNKNOWN};
	struct isa_insn insn;

	*keeps_first = true;
	if (end <= begin || end - begin > sizeof(code) ||
	    !values_read_code(elf, fd, begin, code, (size_t)(end - begin)))
		return false;
	for (size_t at = 0; at < end - begin; at += insn.length) {
		int32_t before = stack.sp;
		int64_t displacement;
		uint8_t reg;

		if (!isa_read(&insn, code + at, (size_t)(end - begin) - at) ||
		    (isa_flow(&insn) != ISA_FLOW_NEXT && isa_flow(&insn) != ISA_FLOW_CALL))
			return false;
		*keeps_first &= isa_flow(&insn) == ISA_FLOW_NEXT && !isa_may_write(&insn, ISA_ARG1);
		isa_stack_step(&stack, &insn);
		/* what was stored before is somewhere else now */
		for (size_t i = 0; stack.sp != before && i < count; i++)
			homes[i].is_stored &= homes[i].reg != ARCH_REG_SP;
		if (!isa_stores_at(&insn, &reg, &displacement))
			continue;
		for (size_t i = 0; i < count; i++)
			homes[i].is_stored |=
				homes[i].reg == reg && displacement >= homes[i].displacement &&
				displacement - homes[i].displacement < (int64_t)homes[i].size;
	}
	return true;
}

bool values_are_settled(Elf *elf, int fd, uint64_t begin, uint64_t end, struct value_home *homes,
			size_t count, bool *keeps_first)
{
	if (!values_settle(elf, fd, begin, end, homes, count, keeps_first))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!homes[i].is_stored)
			return false;
	return true;
}
