/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_CUBIN_CUBIN_H
#define SYMBOL_CUBIN_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "elf/file.h"

/*
 * A cubin: an ELF file with the code of one GPU architecture. Each kernel has a section
 * ".text.KERNEL" of its own, in which the device functions that only it calls follow the kernel's
 * code. Sections have no addresses, so this numbers them: an address counts through the sections of
 * code in the order of the file.
 *
 * The build id is a hash of all code and its names. So a file that was compiled again with lines
 * has the id of the one that ran without, if the compiler made the same code, and explains it.
 *
 * The file is hostile input, and stays in the caller's memory.
 */

#define CUBIN_MACHINE	    190 /* EM_CUDA */
#define CUBIN_INSTRUCTION   16	/* bytes, since sm_70 */
#define CUBIN_FIRST_ADDRESS 0x1000
#define CUBIN_BYTES_MAX	    (256u << 20)
#define CUBIN_BUILD_ID	    8 /* bytes */

struct cubin_text {
	const char *name; /* of the kernel, or of the function that has a section of its own */
	const uint8_t *code;
	uint64_t address, size;
	uint32_t section; /* number in the file */
};

struct cubin_function {
	const char *name; /* as the symbol table spells it */
	uint64_t start, end;
	uint32_t text; /* index in cubin.texts */
};

struct cubin {
	struct elf_file file;
	vec(struct cubin_text) texts;	      /* by address */
	vec(struct cubin_function) functions; /* by address */
	struct map by_name;		      /* hash of a text's name -> its index */
	struct map by_section;		      /* number of a section -> index of the text */
	uint64_t code_bytes;		      /* of all texts */
	uint32_t architecture;		      /* 80 for sm_80 */
	uint8_t build_id[CUBIN_BUILD_ID];
};

/*
 * Returns 0; -ENOEXEC: not a cubin; -ENOTSUP: one of an architecture before sm_70; -E2BIG; or
 * -ENOMEM.
 * memory must outlive the cubin. After an error it needs no clean-up.
 */
int cubin_open(struct cubin *cubin, const void *memory, size_t size);
void cubin_close(struct cubin *cubin);

/* The address of an instruction in a kernel or another section of code; 0: there is none. */
uint64_t cubin_address(const struct cubin *cubin, const char *name, uint64_t offset);

/* The section of code, and the function, that holds an address; null: none. */
const struct cubin_text *cubin_text_of(const struct cubin *cubin, uint64_t address);
const struct cubin_function *cubin_function_of(const struct cubin *cubin, uint64_t address);

/*
 * The name that the source gives a function: "slow" of "$kernel$slow". It is mangled if the
 * symbol's is. *is_kernel (may be null): it is the section's own function.
 */
const char *cubin_source_name(const struct cubin *cubin, const struct cubin_function *function,
			      bool *is_kernel);

/* The mnemonic of the instruction at an address, e.g. "LDG"; null: none, or not known. */
const char *cubin_mnemonic(const struct cubin *cubin, uint64_t address);

/*
 * The zero-terminated string of a section at an offset; null: there is none. It may be as long as
 * the section.
 */
const char *cubin_string(const struct cubin *cubin, const struct elf_section *section,
			 uint64_t offset);

/*
 * Says in a sentence how to compile a cubin without lines so that it has them, with the compiler
 * and its options where the file names them.
 */
void cubin_how_to_get_lines(const struct cubin *cubin, char *to, size_t size);

#endif
