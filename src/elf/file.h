/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ELF_FILE_H
#define ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * An ELF file, read piece by piece with pread(): its owner may cut it short at any moment, which
 * would kill a process that had it mapped, and a file of 1 GB must not be in memory for 50 names.
 * 32 and 64 bit; only the byte order of this machine.
 */

#define ELF_BUILD_ID_MAX 64

struct elf_section {
	uint64_t address, offset, size, entry_size, flags;
	uint32_t type, link, info;
	uint32_t name; /* offset in elf_file.names */
};

struct elf_file {
	int fd;		       /* borrowed; -1: memory is the file */
	const uint8_t *memory; /* borrowed */
	uint64_t size;
	bool is_64;
	uint16_t type;	      /* ET_… */
	uint16_t machine;     /* EM_… */
	bool has_addresses;   /* no object file of the compiler, whose symbols have none yet */
	uint64_t segments_at; /* of the program headers */
	uint32_t
		segment_count; /* 0: there are none, or they have another size than these of ours */
	struct elf_section *sections;
	uint32_t section_count;
	char *names; /* of sections; ends with a zero byte of our own */
	size_t names_size;
	uint8_t build_id[ELF_BUILD_ID_MAX];
	uint32_t build_id_size; /* 0: it has none */
};

/*
 * Reads the headers. Sections whose contents lie (partly) outside of the file have size 0
 * afterwards. fd and memory stay the caller's and must outlive f. Returns 0; -ENOEXEC: no ELF file
 * of these kinds, -EIO, -ENOMEM. After an error f needs no clean-up.
 */
int elf_file_open(struct elf_file *f, int fd);
int elf_file_open_memory(struct elf_file *f, const void *memory, size_t size);
/*
 * The same for a file of any type, without sections and build id: fd -1: it is in memory. A file
 * that ends within its header has no segments.
 */
int elf_file_open_bare(struct elf_file *f, int fd, const void *memory, size_t size);
void elf_file_close(struct elf_file *f);

/* Reads a program header; false: it is not there, or none of that number. */
bool elf_file_segment(const struct elf_file *f, uint32_t number, Elf64_Phdr *segment);

/*
 * Takes the build id from notes of size bytes at offset, of a section or segment of that alignment,
 * if it is among them; *left is how many notes are looked at.
 */
bool elf_file_take_build_id(struct elf_file *f, uint64_t offset, uint64_t size, uint64_t align,
			    int *left);
#define ELF_NOTES_MAX 1024 /* notes looked at, of a whole file */

/* Reads exactly count bytes; false: they are not there. */
bool elf_file_read(const struct elf_file *f, uint64_t offset, void *to, size_t count);

/* Where in the file the byte lies that is loaded at a virtual address; false: nowhere. */
bool elf_file_offset(const struct elf_file *file, uint64_t address, uint64_t *offset);

const char *elf_file_section_name(const struct elf_file *f, const struct elf_section *section);

/* The first section of that name with contents in this file, or null. */
const struct elf_section *elf_file_section(const struct elf_file *f, const char *name);

/* The first section of that type with contents in this file, or null. */
const struct elf_section *elf_file_section_of_type(const struct elf_file *f, uint32_t type);

/* The section's contents in new memory, if they are limit bytes at most, or null. */
void *elf_file_section_contents(const struct elf_file *f, const struct elf_section *section,
				size_t limit);

/*
 * Walks a table of symbols (Elf64_Sym, also those of a 32-bit file) or relocations (Elf64_Rela, of
 * 64-bit files only), a chunk at a time.
 */
struct elf_walk {
	const struct elf_file *file;
	uint64_t offset, left; /* of the entries that were not read yet */
	size_t entry_size;
	size_t place, held;	  /* in chunk, in entries */
	uint8_t chunk[48 * 1024]; /* a multiple of all entry sizes: 16, 24 */
};
void elf_walk_begin(struct elf_walk *w, const struct elf_file *f,
		    const struct elf_section *section);
bool elf_walk_symbol(struct elf_walk *w, Elf64_Sym *symbol);
bool elf_walk_relocation(struct elf_walk *w, Elf64_Rela *relocation);

/* Reads one symbol; false: there is none of that number. */
bool elf_file_symbol(const struct elf_file *f, const struct elf_section *section, uint64_t number,
		     Elf64_Sym *symbol);

/*
 * The section of code that a named symbol lies in, of the file that its table is in; null: in none.
 */
const struct elf_section *elf_file_code_of(const struct elf_file *f, const Elf64_Sym *symbol);

/*
 * How far a symbol's name is known: 2 everywhere, 1 where there is no other (weak), 0 in its file.
 */
uint8_t elf_symbol_binding(const Elf64_Sym *symbol);

/*
 * A window on a table of strings. Names of neighbours mostly lie near each other, so that most
 * names cost no system call.
 */
#define ELF_STRING_MAX (16u << 10)

struct elf_strings {
	const struct elf_file *file;
	uint64_t offset, size; /* of the table */
	uint64_t at;	       /* where in the table the window begins */
	size_t held;
	uint32_t reads; /* system calls so far */
	char window[ELF_STRING_MAX + 1];
};
void elf_strings_begin(struct elf_strings *s, const struct elf_file *f,
		       const struct elf_section *strings);

/* The string, cut at 16 KiB; "" if there is none. It lives until the next call. */
const char *elf_strings_get(struct elf_strings *s, uint64_t at);

/*
 * Calls take() for the first symbols, at most that many, of the table of a type (SHT_SYMTAB or
 * SHT_DYNSYM), until it returns false. names: has the symbol's name at its st_name. Returns 0, also
 * if there is no such table, or -ENOMEM.
 */
int elf_each_symbol(const struct elf_file *f, uint32_t type, uint64_t most,
		    bool (*take)(void *context, const Elf64_Sym *symbol, struct elf_strings *names),
		    void *context);

#endif
