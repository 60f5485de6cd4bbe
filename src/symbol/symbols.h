/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_SYMBOLS_H
#define SYMBOL_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"

/*
 * Names addresses. A batch of addresses of one image takes one pass over the image's symbols, which
 * keeps only those that the batch needs. So naming 50 addresses of a 100 MB library needs neither
 * its whole table in memory nor a sort.
 *
 * All files are hostile input. Names are demangled (C++, D, Rust legacy and v0), truncated to 4
 * KiB, and may contain any byte: callers escape them before printing. An address outside of all
 * symbols has no name, never that of a neighbour.
 */
struct symbols;
struct far_files;

struct symbol_options {
	bool lines;	 /* look up source file and line (DWARF) */
	bool inlines;	 /* and the functions inlined at the address */
	bool debuginfod; /* download missing debug files from the servers of DEBUGINFOD_URLS */
	/*
	 * Prefer complete lines to low cost: DWARF may take 1 GiB and 30 s per image. Otherwise the
	 * limits are 96 MiB and 5 s, and an image that exceeds them is not tried again.
	 */
	bool thorough;
	/*
	 * Read no symbols of a file that has a build id: its functions are named later, where its
	 * symbols are known (resolve/names.h).
	 */
	bool leaves_builds;
	struct far_files *far; /* opens files (process/far_files.h); null: open() does */
	/* Directories of debug files, ending with null; null: only /usr/lib/debug. */
	const char *const *debug_directories;
};

int symbols_new(const struct symbol_options *options, struct symbols **symbols);
void symbols_free(struct symbols *symbols);

/* What is known of an image. */
struct symbol_image {
	int fd;		    /* the file itself, or -1 */
	const void *memory; /* or the image in memory (vDSO) */
	size_t memory_size;
	const char *path; /* in the target's file system; debug links are relative to it */
	const char *root; /* root of that file system, e.g. "/proc/123/root"; "": our own */
	const uint8_t *build_id;
	size_t build_id_size;
};

struct symbol_name {
	const char *function; /* demangled */
	const char *file;     /* null: not known */
	uint32_t line;
};

/*
 * Called once for each address that has a name, in any order. index is that of the address in the
 * batch. names[0] is the innermost function; each further one is the function into which the one
 * before was inlined; the last is the symbol's function. The strings are valid until the call
 * returns.
 */
typedef void symbol_found(void *context, size_t index, const struct symbol_name *names,
			  size_t count);

/*
 * Names addresses: virtual addresses of the image's file, in any order, maybe repeated. Returns 0
 * or a negative errno with *why filled.
 */
int symbols_of_image(struct symbols *symbols, const struct symbol_image *image,
		     const uint64_t *addresses, size_t count, symbol_found *found, void *context,
		     struct fail *why);

/*
 * The same for addresses that symbols_of_image() cannot name. starts[i]: the beginning of the
 * function that contains addresses[i]; 0: not known. The name is that of a symbol without a size at
 * that beginning, unless another symbol is in between, or that of an exported function that jumps
 * there (elf_jumps.h).
 */
int symbols_of_starts(struct symbols *symbols, const struct symbol_image *image,
		      const uint64_t *addresses, const uint64_t *starts, size_t count,
		      symbol_found *found, void *context, struct fail *why);

/*
 * Says what the last call of symbols_of_image() lacked: "no debug file …"; "": nothing. The text is
 * valid until the next call.
 */
const char *symbols_missing(const struct symbols *symbols);

/* Whether it lacked inlined functions that are in .dwo files (-gsplit-dwarf). */
bool symbols_missing_split(const struct symbols *symbols);

/*
 * Opens the file at path below root for symbol_image.fd, if it is an ELF file with that build id
 * (build_id_size 0: with any). Returns the descriptor, which the caller closes; -ESTALE: the build
 * id differs; -ENOEXEC: not an ELF file; or the error of opening it.
 */
int symbol_image_open(const char *root, const char *path, const uint8_t *build_id,
		      size_t build_id_size);

/*
 * The same for addresses of the running kernel, its modules and BPF programs (/proc/kallsyms).
 * Names in modules are "f [mod]".
 */
int symbols_of_kernel(struct symbols *symbols, const uint64_t *addresses, size_t count,
		      symbol_found *found, void *context, struct fail *why);

/*
 * Demangles a name: "ns::f<int>(char)" from "_ZN2ns1fIiEEvc". Returns a copy of the name itself if
 * it is not mangled. The caller frees it.
 */
char *symbol_demangle(const char *name);

/* Whether a name begins like a mangled one. */
bool symbol_is_mangled(const char *name);

/* The same without parameters: "ns::f<int>". */
char *symbol_demangle_short(const char *name);

/*
 * Opens the file that has an image's DWARF (the image's own, or a debug file), and the file that
 * several debug files share (*alternate_fd -1: none). The caller closes both. Returns 0; -ENOENT:
 * there is no DWARF; or another negative errno, with *why filled.
 */
int symbols_debug_info(struct symbols *symbols, const struct symbol_image *image, int *fd,
		       int *alternate_fd, struct fail *why);

/* The helper that opens files, or null. */
struct far_files *symbols_far(const struct symbols *symbols);

/* The directories of debug files: those passed to symbols_new(), or the default. */
const char *const *symbols_debug_directories(const struct symbols *symbols);

#endif
