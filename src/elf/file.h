/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ELF_FILE_H
#define ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * An ELF file, 32 or 64 bit, in the byte order of this machine. It is read piece by piece with
 * pread(): its owner may truncate it at any time, which would kill a process that maps it, and a
 * file of 1 GB must not be in memory for 50 names.
 */

#define ELF_BUILD_ID_MAX 64

struct elf_section {
	uint64_t address, offset, size, entry_size, flags;
	uint32_t type, link, info;
	uint32_t name; /* offset in elf_file.names */
};

struct elf_file {
	int fd;		       /* borrowed; -1: the file is in memory */
	const uint8_t *memory; /* borrowed */
	uint64_t size;
	bool is_64;
	uint16_t type;	  /* ET_… */
	uint16_t machine; /* EM_… */
	/* not an object file of the compiler, whose symbols have no addresses yet */
	bool has_addresses;
	uint64_t segments_at;	/* offset of the program headers */
	uint32_t segment_count; /* 0: none, or their size is not that of Elf64_Phdr or Elf32_Phdr */
	struct elf_section *sections;
	uint32_t section_count;
	char *names; /* of sections; with an additional zero byte at the end */
	size_t names_size;
	uint8_t build_id[ELF_BUILD_ID_MAX];
	uint32_t build_id_size; /* 0: none */
};

/*
 * Reads the headers. Sections whose contents are not completely within the file get size 0. The
 * caller owns fd and memory, which must outlive f. Returns 0; -ENOEXEC: not a supported ELF file;
 * -EIO; or -ENOMEM. After an error f needs no clean-up.
 */
int elf_file_open(struct elf_file *f, int fd);
int elf_file_open_memory(struct elf_file *f, const void *memory, size_t size);
/*
 * The same for a file of any type, without sections and build id. fd -1: the file is in memory. A
 * file that ends within its header has no segments.
 */
int elf_file_open_bare(struct elf_file *f, int fd, const void *memory, size_t size);
void elf_file_close(struct elf_file *f);

/* Reads a program header; false: not readable, or there is no such number. */
bool elf_file_segment(const struct elf_file *f, uint32_t number, Elf64_Phdr *segment);

/*
 * Reads the build id from size bytes of notes at offset, in a section or segment of that alignment,
 * if it is among them. *left: number of notes that may still be read.
 */
bool elf_file_read_build_id(struct elf_file *f, uint64_t offset, uint64_t size, uint64_t align,
			    int *left);
#define ELF_NOTES_MAX 1024 /* most notes that are read in a file */

/* Reads exactly count bytes; false: not within the file, or not readable. */
bool elf_file_read(const struct elf_file *f, uint64_t offset, void *to, size_t count);

/* Sets *offset to the place in the file that is loaded at a virtual address; false: none. */
bool elf_file_offset(const struct elf_file *file, uint64_t address, uint64_t *offset);

/*
 * Sets *bias to what is added to virtual addresses where a process has mapped the file's executable
 * code from offset on at start; false: the file has no such code.
 */
bool elf_file_bias(const struct elf_file *file, uint64_t start, uint64_t offset, uint64_t *bias);

const char *elf_file_section_name(const struct elf_file *f, const struct elf_section *section);

/* The first section with that name and with contents in this file, or null. */
const struct elf_section *elf_file_section(const struct elf_file *f, const char *name);

/* The first section with that type and with contents in this file, or null. */
const struct elf_section *elf_file_section_of_type(const struct elf_file *f, uint32_t type);

/*
 * The section's contents, which the caller frees. Null: more than limit bytes, not readable, or no
 * memory.
 */
void *elf_file_section_contents(const struct elf_file *f, const struct elf_section *section,
				size_t limit);

/*
 * Iterates over a table of symbols (as Elf64_Sym, also for a 32-bit file) or of relocations
 * (Elf64_Rela, 64-bit files only), and reads it in chunks.
 */
struct elf_walk {
	const struct elf_file *file;
	uint64_t offset, left; /* of the entries that are not read yet */
	size_t entry_size;
	size_t place, held;	  /* in chunk, in entries */
	uint8_t chunk[48 * 1024]; /* a multiple of both entry sizes, 16 and 24 */
};
void elf_walk_begin(struct elf_walk *w, const struct elf_file *f,
		    const struct elf_section *section);
bool elf_walk_symbol(struct elf_walk *w, Elf64_Sym *symbol);
bool elf_walk_relocation(struct elf_walk *w, Elf64_Rela *relocation);

/* Reads one symbol; false: there is no such number. */
bool elf_file_symbol(const struct elf_file *f, const struct elf_section *section, uint64_t number,
		     Elf64_Sym *symbol);

/* The section of code that contains a named symbol of this file; null: none. */
const struct elf_section *elf_file_code_of(const struct elf_file *f, const Elf64_Sym *symbol);

/* Rank of a symbol's binding: 2 global, 1 weak, 0 local. */
uint8_t elf_symbol_binding(const Elf64_Sym *symbol);

/*
 * Reads a table of strings through a window. Names of adjacent symbols are mostly close to each
 * other, so most names need no system call.
 */
#define ELF_STRING_MAX (16u << 10)

struct elf_strings {
	const struct elf_file *file;
	uint64_t offset, size; /* of the table */
	uint64_t at;	       /* offset of the window in the table */
	size_t held;
	uint32_t reads; /* number of system calls so far */
	char window[ELF_STRING_MAX + 1];
};
void elf_strings_begin(struct elf_strings *s, const struct elf_file *f,
		       const struct elf_section *strings);

/* The string at an offset, truncated to 16 KiB; "": none. It is valid until the next call. */
const char *elf_strings_get(struct elf_strings *s, uint64_t at);

/*
 * Calls emit() for at most `most` symbols of the table with a type (SHT_SYMTAB or SHT_DYNSYM),
 * until it returns false. names has the symbol's name at st_name. Returns 0, also without such a
 * table, or -ENOMEM.
 */
int elf_each_symbol(const struct elf_file *f, uint32_t type, uint64_t most,
		    bool (*emit)(void *context, const Elf64_Sym *symbol, struct elf_strings *names),
		    void *context);

#endif
