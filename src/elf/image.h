/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ELF_IMAGE_H
#define ELF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/budget.h"
#include "base/fail.h"

/*
 * The parts of an ELF file that the unwinder needs. They are read, not mapped: another process may
 * truncate the file at any time, which would raise SIGBUS in a mapping.
 */

#define ELF_IMAGE_CODE_MAX 64 /* executable segments */

/*
 * Limits for reading one image and for what is derived from it. The unwind information of the
 * largest programs (browsers) has some 40 MB, Go's table 80 MB. A step is an entry or an
 * instruction; ten million functions take fewer.
 */
#define ELF_IMAGE_MEMORY (96 * BUDGET_MIB)
#define ELF_IMAGE_BYTES	 (512 * BUDGET_MIB)
#define ELF_IMAGE_STEPS	 (64u << 20)
#define ELF_IMAGE_CPU_NS 2000000000ull

struct elf_range {
	uint64_t start, end; /* virtual addresses */
	uint64_t offset;     /* of start in the file */
	uint64_t in_file;    /* number of bytes in the file */
};

struct elf_part {
	const uint8_t *at; /* null: the image does not have the part */
	size_t size;
	uint64_t address; /* virtual address of at; 0: not loaded */
	bool to_the_end;  /* size is only an upper bound: the part has an end mark */
};

struct elf_image {
	int fd; /* -1: in memory */
	const uint8_t *memory;
	uint64_t size;

	uint64_t entry; /* 0: none */
	struct elf_range code[ELF_IMAGE_CODE_MAX];
	unsigned int codes;
	/* executable sections, if there are section headers */
	struct elf_range text[ELF_IMAGE_CODE_MAX];
	unsigned int texts;
	struct elf_range load[ELF_IMAGE_CODE_MAX]; /* all loaded segments */
	unsigned int loads;
	struct elf_range dynamic; /* PT_DYNAMIC; in_file 0: none */
	bool has_sections, bare;
	struct elf_range go_pclntab, go_buildinfo; /* sections of Go programs; in_file 0: none */
	struct elf_part eh_frame, debug_frame;
	struct elf_range symbols; /* place in the file of the larger of the two symbol tables */
	unsigned int unreadable; /* number of parts that are damaged, or larger than any real one */

	struct {
		void *at;
		size_t size;
	} owned[8];
	unsigned int owns;
	struct budget budget; /* for everything that is read and derived */
};

/*
 * Reads the headers and the unwind sections. fd or memory must stay valid until elf_image_close(),
 * which must be called also after an error. Returns 0 or a negative errno with *why filled.
 */
int elf_image_open_file(struct elf_image *image, int fd, struct fail *why);
int elf_image_open_memory(struct elf_image *image, const void *memory, size_t size,
			  struct fail *why);
/* The same without the unwind sections. fd -1: the file is in memory. */
int elf_image_open_bare(struct elf_image *image, int fd, const void *memory, size_t size,
			struct fail *why);
void elf_image_close(struct elf_image *image);

/* Frees the pieces that were read last, until `owns` are left. */
void elf_image_disown(struct elf_image *image, unsigned int owns);

/*
 * Loads the symbols (Elf64_Sym), valid until the image is closed. Returns 0, -ENODATA: none, or
 * -ENOMEM.
 */
int elf_image_load_symbols(struct elf_image *image, struct elf_part *symbols);

/* Sets *offset to the place of a code address in the file; false: none. */
bool elf_image_code_offset(const struct elf_image *image, uint64_t address, uint64_t *offset);

/* Whether [address, address + size) is within one executable segment. */
bool elf_image_is_code(const struct elf_image *image, uint64_t address, uint64_t size);

/* Reads exactly size bytes at a virtual address, before relocation. */
bool elf_image_read(const struct elf_image *image, uint64_t address, void *to, size_t size);

/* The number of bytes in the file from a virtual address on; 0: not loaded. */
uint64_t elf_image_left(const struct elf_image *image, uint64_t address);

/*
 * Copies size bytes at address as the dynamic linker relocates them for an image loaded at 0
 * (R_X86_64_RELATIVE). *part is valid until the image is closed. Returns 0, -ENODATA: not in the
 * file, -E2BIG, or -ENOMEM.
 */
int elf_image_load(struct elf_image *image, uint64_t address, uint64_t size, struct elf_part *part);

/* The first address that such a relocation sets to value; 0: none. */
uint64_t elf_image_relocated_to(const struct elf_image *image, uint64_t value);

/* Reads up to size bytes of code at address. Returns the number of bytes read. */
size_t elf_image_read_code(const struct elf_image *image, uint64_t address, uint8_t *to,
			   size_t size);

#endif
