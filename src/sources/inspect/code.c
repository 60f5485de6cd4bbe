// SPDX-License-Identifier: Apache-2.0
#include "sources/inspect/code.h"

#include <string.h>

#include "base/file.h"
#include "arch/isa.h"

size_t inspect_code_stack_check(int fd, uint64_t offset)
{
	uint8_t code[64];
	ssize_t got = file_read_some(fd, offset, code, sizeof(code));

	return got > 0 ? isa_go_stack_check(code, (size_t)got) : 0;
}

size_t inspect_code_branch_target_size(int fd, uint64_t offset)
{
	uint8_t code[32];
	struct isa_insn insn;
	ssize_t got = file_read_some(fd, offset, code, sizeof(code));
	size_t landing = got >= 8 ? isa_landing(code, (size_t)got) : 0;

	if (!landing || !isa_read(&insn, code + landing, (size_t)got - landing) ||
	    !isa_is_push(&insn) || isa_cost(&insn) != ISA_COST_EMULATED)
		return 0;
	return landing;
}

bool inspect_code_only_compares(int fd, uint64_t offset, size_t size)
{
	uint8_t code[64];
	struct isa_insn insn;

	if (!size || size > sizeof(code) || !file_read_at(fd, offset, code, size))
		return false;
	for (size_t at = 0; at < size; at += insn.length)
		if (!isa_read(&insn, code + at, size - at) || !isa_only_compares(&insn))
			return false;
	return true;
}

size_t inspect_code_passed_size(int fd, uint64_t offset)
{
	uint8_t code[16];
	struct isa_insn insn;
	ssize_t got = file_read_some(fd, offset, code, sizeof(code));

	if (got <= 0 || !isa_read(&insn, code, (size_t)got))
		return 0;
	if (isa_cost(&insn) == ISA_COST_REFUSED)
		return isa_is_only_on_memory(&insn) ? insn.length : 0;
	return isa_cost(&insn) == ISA_COST_REPLACED ? insn.length : 0;
}
