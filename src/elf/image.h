/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ELF_IMAGE_H
#define ELF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/budget.h"
#include "base/fail.h"

/*
 * The few parts of an ELF file that the unwinder needs. They are read, not mapped: another process
 * may cut the file short at any time, which would turn a mapping into SIGBUS.
 */

#define ELF_IMAGE_CODE_MAX 64 /* executable segments */

/*
 * What may be held at a time of one image, and of what is made from it: the unwind information of
 * the largest programs has some 40 MB (browsers), Go's table 80 MB. A step is an entry, or an
 * instruction; ten million functions have fewer.
 */
#define ELF_IMAGE_MEMORY (96 * BUDGET_MIB)
#define ELF_IMAGE_BYTES	 (512 * BUDGET_MIB)
#define ELF_IMAGE_STEPS	 (64u << 20)
#define ELF_IMAGE_CPU_NS 2000000000ull

struct elf_range {
	uint64_t start, end; /* virtual addresses */
	uint64_t offset;     /* of start in the file */
	uint64_t in_file;    /* those bytes that the file holds */
};

struct elf_part {
	const uint8_t *at; /* null: the image has none */
	size_t size;
	uint64_t address; /* virtual address of at; 0 for what is not loaded */
	bool to_the_end;  /* size is only a bound: the part ends itself before */
};

struct elf_image {
	int fd; /* -1: in memory */
	const uint8_t *memory;
	uint64_t size;

	uint64_t entry; /* 0: none */
	struct elf_range code[ELF_IMAGE_CODE_MAX];
	unsigned int codes;
	struct elf_range text[ELF_IMAGE_CODE_MAX]; /* executable sections, if there are headers */
	unsigned int texts;
	struct elf_range load[ELF_IMAGE_CODE_MAX]; /* all segments that are loaded */
	unsigned int loads;
	struct elf_range dynamic; /* what the dynamic linker reads; in_file 0: none */
	bool has_sections, bare;
	struct elf_range go_pclntab, go_buildinfo; /* sections that only Go has; in_file 0: none */
	struct elf_part eh_frame, debug_frame;
	struct elf_range symbols; /* the fuller of the two tables; its place in the file */
	unsigned int unreadable; /* parts that are there, but damaged or larger than any real one */

	struct {
		void *at;
		size_t size;
	} owned[8];
	unsigned int owns;
	struct budget budget; /* of all that is read of the image, and made from that */
};

/*
 * Reads the headers and the unwind sections. 0 or a negative errno with *why; elf_image_close() is
 * due after both. The image reads from fd or memory until then.
 */
int elf_image_open_file(struct elf_image *image, int fd, struct fail *why);
int elf_image_open_memory(struct elf_image *image, const void *memory, size_t size,
			  struct fail *why);
/* The same without the unwind sections; fd -1: it is in memory. */
int elf_image_open_bare(struct elf_image *image, int fd, const void *memory, size_t size,
			struct fail *why);
void elf_image_close(struct elf_image *image);

/* Frees what was read last, down to that many pieces. */
void elf_image_disown(struct elf_image *image, unsigned int owns);

/* The symbols (Elf64_Sym), until the image is closed. 0, -ENODATA: there are none, or -ENOMEM. */
int elf_image_load_symbols(struct elf_image *image, struct elf_part *symbols);

/* Where in the file an address of code is; false: nowhere. */
bool elf_image_code_offset(const struct elf_image *image, uint64_t address, uint64_t *offset);

/* Whether [address, address + size) lies in one executable segment. */
bool elf_image_is_code(const struct elf_image *image, uint64_t address, uint64_t size);

/* Reads exactly size bytes that the file has for address, as they are before relocation. */
bool elf_image_read(const struct elf_image *image, uint64_t address, void *to, size_t size);

/* How many bytes the file has from address on; 0: it is not loaded. */
uint64_t elf_image_left(const struct elf_image *image, uint64_t address);

/*
 * A copy of size bytes at address as the dynamic linker leaves them for an image loaded at 0
 * (R_X86_64_RELATIVE); it lives until the image is closed. 0, -ENODATA: they are not there, -E2BIG,
 * or -ENOMEM.
 */
int elf_image_load(struct elf_image *image, uint64_t address, uint64_t size, struct elf_part *part);

/* The first place that such a relocation sets to value; 0: there is none. */
uint64_t elf_image_relocated_to(const struct elf_image *image, uint64_t value);

/* Reads up to size bytes of code at address; returns how many there were. */
size_t elf_image_read_code(const struct elf_image *image, uint64_t address, uint8_t *to,
			   size_t size);

#endif
