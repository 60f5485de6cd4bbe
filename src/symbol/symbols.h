/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_SYMBOLS_H
#define SYMBOL_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"

/*
 * Addresses to names. Questions come in batches, one image at a time: a batch is answered by one
 * pass over the image's symbols that keeps only what was asked for, so that naming 50 addresses of
 * a 100 MB library needs neither its whole table in memory nor a sort.
 *
 * All files are hostile input. Names are demangled (C++, D, Rust legacy and v0), cut at 4 KiB, and
 * may still hold any byte: callers escape them to print them. An address that lies in no symbol has
 * no name: never a neighbour's.
 */
struct symbols;
struct far_files;

struct symbol_options {
	bool lines;	 /* look up source file and line (DWARF) */
	bool inlines;	 /* and the functions inlined at the address */
	bool debuginfod; /* ask the servers of DEBUGINFOD_URLS for debug files that are not here */
	/*
	 * Time and memory matter less than lines: DWARF may take 1 GiB and 30 s, of an image at a
	 * time. Else it is 96 MiB and 5 s, and an image that took more is not asked again.
	 */
	bool thorough;
	struct far_files *far; /* opens files; null: as ever (process/far_files.h) */
	/* Directories like /usr/lib/debug, null-terminated; null: just that one. */
	const char *const *debug_directories;
};

int symbols_new(const struct symbol_options *options, struct symbols **symbols);
void symbols_free(struct symbols *symbols);

/* An image, as far as it is known. */
struct symbol_image {
	int fd;		    /* the file itself, or -1 */
	const void *memory; /* or the image in memory (vDSO), with its size */
	size_t memory_size;
	const char *path; /* as the target saw it: where its debug link is relative to */
	const char *root; /* what path is relative to, e.g. "/proc/123/root"; "" for ours */
	const uint8_t *build_id;
	size_t build_id_size;
};

struct symbol_name {
	const char *function; /* demangled */
	const char *file;     /* null: not known */
	uint32_t line;
};

/*
 * Called once for each address that has a name, in any order. index is the address's place in the
 * batch. names[0] is the innermost function; each next one is what it was inlined into; the last
 * is the one of the symbol table. The strings live until the call returns.
 */
typedef void symbol_found(void *context, size_t index, const struct symbol_name *names,
			  size_t count);

/* addresses: virtual addresses of the image's file. Unsorted and repeated ones are fine. */
int symbols_of_image(struct symbols *symbols, const struct symbol_image *image,
		     const uint64_t *addresses, size_t count, symbol_found *found, void *context,
		     struct fail *why);

/*
 * The same for addresses that symbols_of_image() has no name for: what lies in a function that
 * begins at starts[i] (0: not known) has the name of a symbol without a size there, unless another
 * symbol lies in between, or that of an exported function which jumps there (elf_jumps.h).
 */
int symbols_of_starts(struct symbols *symbols, const struct symbol_image *image,
		      const uint64_t *addresses, const uint64_t *starts, size_t count,
		      symbol_found *found, void *context, struct fail *why);

/*
 * What was missing at the last call of symbols_of_image(), in words: "no debug file …". "":
 * nothing. The words live until the next call.
 */
const char *symbols_missing(const struct symbols *symbols);

/* Whether that is inlined functions which are in .dwo files (-gsplit-dwarf). */
bool symbols_missing_split(const struct symbols *symbols);

/*
 * Opens the file at path below root for symbol_image.fd, if it is an ELF file with that build id.
 * build_id_size 0: with any build id. Returns the descriptor; -ESTALE: it is another file;
 * -ENOEXEC: no ELF file, or why it cannot be opened.
 */
int symbol_image_open(const char *root, const char *path, const uint8_t *build_id,
		      size_t build_id_size);

/*
 * addresses: of the running kernel, its modules and BPF programs (/proc/kallsyms). Modules: "f
 * [mod]".
 */
int symbols_of_kernel(struct symbols *symbols, const uint64_t *addresses, size_t count,
		      symbol_found *found, void *context, struct fail *why);

/*
 * "ns::f<int>(char)" from "_ZN2ns1fIiEEvc"; a copy of the name itself if it is not mangled. free()
 * it.
 */
char *symbol_demangle(const char *name);

/* Does the name begin as mangled ones do? All others stand for themselves. */
bool symbol_is_mangled(const char *name);

/* The same without parameters: "ns::f<int>". */
char *symbol_demangle_short(const char *name);

/*
 * Opens the file that holds an image's DWARF (its own, or a debug file), and the one that several
 * debug files share (-1: there is none). Both become the caller's. Returns 0; -ENOENT: there is
 * none; or another negative errno, with *why filled.
 */
int symbols_debug_info(struct symbols *symbols, const struct symbol_image *image, int *fd,
		       int *alternate_fd, struct fail *why);

/* What opens files, or null. */
struct far_files *symbols_far(const struct symbols *symbols);

/* Where debug files are looked for, as it was said to symbols_new(), or the usual place. */
const char *const *symbols_debug_directories(const struct symbols *symbols);

#endif
