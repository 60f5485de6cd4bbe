/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNWIND_ELF_IMAGE_H
#define UNWIND_ELF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

/*
 * The few parts of an ELF file that the unwinder needs. They are read, not mapped: another process
 * may cut the file short at any time, which would turn a mapping into SIGBUS.
 */

#define ELF_IMAGE_CODE_MAX 64 /* executable segments */

struct elf_range {
	uint64_t start, end; /* virtual addresses */
	uint64_t offset;     /* of start in the file */
	uint64_t in_file;    /* bytes of it that the file holds */
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
	struct elf_part eh_frame, debug_frame;
	struct elf_range symbols; /* the fuller of the two tables; its place in the file */
	unsigned int unreadable; /* parts that are there, but damaged or larger than any real one */

	void *owned[8];
	unsigned int owns;
};

/*
 * Reads the headers and the unwind sections. 0 or a negative errno with *why; elf_image_close() is
 * due after both. The image reads from fd or memory until then.
 */
int elf_image_open_file(struct elf_image *image, int fd, struct fail *why);
int elf_image_open_memory(struct elf_image *image, const void *memory, size_t size,
			  struct fail *why);
void elf_image_close(struct elf_image *image);

/* The symbols (Elf64_Sym), until the image is closed. 0, -ENODATA: there are none, or -ENOMEM. */
int elf_image_load_symbols(struct elf_image *image, struct elf_part *symbols);

/* Whether [address, address + size) lies in one executable segment. */
bool elf_image_is_code(const struct elf_image *image, uint64_t address, uint64_t size);

/* Reads up to size bytes of code at address; returns how many there were. */
size_t elf_image_read_code(const struct elf_image *image, uint64_t address, uint8_t *to,
			   size_t size);

#endif
