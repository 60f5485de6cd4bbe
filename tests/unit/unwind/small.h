/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNWIND_SMALL_H
#define TESTS_UNWIND_SMALL_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SMALL_CODE 0x401000ull

/* An image of nothing but code, and where it begins. */
struct small {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	uint8_t code[256];
};

static inline struct small small_program(const uint8_t *code, size_t count, uint64_t entry)
{
	struct small s = {
		.header =
			{
				.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB,
					    EV_CURRENT},
				.e_type = ET_EXEC,
				.e_machine = EM_X86_64,
				.e_entry = entry,
				.e_phoff = offsetof(struct small, segment),
				.e_phentsize = sizeof(Elf64_Phdr),
				.e_phnum = 1,
			},
		.segment =
			{
				.p_type = PT_LOAD,
				.p_flags = PF_R | PF_X,
				.p_offset = offsetof(struct small, code),
				.p_vaddr = SMALL_CODE,
				.p_filesz = sizeof(s.code),
				.p_memsz = sizeof(s.code),
			},
	};

	memset(s.code, 0x90, sizeof(s.code));
	memcpy(s.code, code, count);
	return s;
}

#endif
