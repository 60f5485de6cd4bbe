/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_PYTHON_LAYOUT_H
#define RUNTIME_PYTHON_LAYOUT_H

#include "bpf/runtime/python/abi.h"
#include "runtime/runtime.h"

/*
 * Where a version of CPython has what, and what its strings and tables of lines look like. Offsets
 * in bytes.
 */
struct python_layout {
	unsigned int minor; /* 3.minor */
	/*
	 * Of the data for the kernel side: all that is the same in each process. Addresses in it,
	 * and of `runtime`, `code_type`, are those of the image.
	 */
	struct python_data data;
	uint64_t runtime;	  /* _PyRuntime */
	uint64_t code_type;	  /* PyCode_Type */
	uint16_t runtime_current; /* _PyRuntime.gilstate.tstate_current; 0: there is none */
	uint16_t runtime_interpreters;
	uint16_t code_size; /* tp_basicsize of PyCode_Type; 0: not checked */
	uint16_t code_filename, code_name, code_qualname, code_lines, code_first_line;
	uint16_t string_length, string_state;
	uint16_t string_ascii,
		string_wide; /* where characters begin: of ASCII strings, of others */
	uint16_t bytes_length, bytes_data;
};

/*
 * Finds out which version an image is, and its layout. 0; -ENOENT: no CPython; another error:
 * refused, with *why filled.
 */
int python_layout_of(const struct image *image, struct python_layout *layout, struct budget *budget,
		     struct fail *why);

/* The offset in a code object of the name that people see. */
uint16_t python_shown_name(const struct python_layout *layout);

/* Fills the ranges of code of the evaluation function. */
void python_find_eval(const struct image *image, struct python_layout *layout,
		      struct budget *budget);

/* As struct runtime_type's name_of(), with the layout as state. */
int python_name_of(const struct runtime_at *at, void *layout, const uint64_t words[2],
		   struct runtime_names *names);

/* As its kept_under(). */
uint64_t python_kept_under(const uint64_t words[2]);

/* The locks of struct runtime_type: the global lock. */
bool python_locks(const struct runtime_at *at, const void *state, struct lock_runtime *locks);

/*
 * The line of an instruction, from the code object's table. index: as the kernel side has it, -1:
 * none was executed yet. Returns 0 if there is none.
 */
uint32_t python_line_of(unsigned int minor, const uint8_t *table, size_t size, uint32_t first_line,
			int32_t index);

/* What its functions mean (film/roles.h). */
extern const struct film_role_row python_roles[];

#endif
