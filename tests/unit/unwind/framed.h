/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNWIND_FRAMED_H
#define TESTS_UNWIND_FRAMED_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CODE 0x401000ull

/* An image with a .eh_frame of a test's own making. */
struct framed {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	Elf64_Shdr sections[3];
	char names[32];
	uint32_t eh_frame[256];
};

#define WORDS_OF_FDE 9

/* An FDE of the CIE at the start: addresses of 8 bytes, one row. */
static inline uint32_t *put_fde(uint32_t *at, const uint32_t *section, uint64_t start,
				uint64_t size, uint8_t offset)
{
	*at++ = (WORDS_OF_FDE - 1) * 4;
	*at = (uint32_t)((at - section) * 4);
	at++;
	memcpy(at, &start, 8);
	memcpy(at + 2, &size, 8);
	at[4] = 0x0e | (uint32_t)offset << 8; /* def_cfa_offset */
	at[5] = at[6] = 0;
	return at + 7;
}

struct function {
	uint64_t start, size;
};

/* p has code from CODE on, size bytes, and describes these functions. */
static inline void framed_program(struct framed *p, uint64_t size, const struct function *functions,
				  size_t count)
{
	/* length, id, version 1, "", code 1, data -8, return address 16, rsp + 8, RA at CFA - 8 */
	static const uint32_t cie[] = {16, 0, 0x78010001, 0x08070c10, 0x00000190};
	uint32_t *at = p->eh_frame;
	size_t i;

	memset(p, 0, sizeof(*p));
	p->header = (Elf64_Ehdr){
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_phoff = offsetof(struct framed, segment),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shoff = offsetof(struct framed, sections),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2,
	};
	p->segment = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = CODE, .p_memsz = size};
	memcpy(p->names + 1, ".eh_frame", 10);
	memcpy(at, cie, sizeof(cie));
	at += sizeof(cie) / 4;
	for (i = 0; i < count; i++)
		at = put_fde(at, p->eh_frame, functions[i].start, functions[i].size,
			     (uint8_t)(16 + 8 * i));
	p->sections[1] = (Elf64_Shdr){
		.sh_name = 1,
		.sh_type = SHT_PROGBITS,
		.sh_flags = SHF_ALLOC,
		.sh_offset = offsetof(struct framed, eh_frame),
		.sh_size = (uint64_t)(at - p->eh_frame) * 4,
	};
	p->sections[2] = (Elf64_Shdr){
		.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct framed, names),
		.sh_size = sizeof(p->names),
	};
}

#endif
