/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_RUNTIME_PYTHON_MADE_H
#define TESTS_RUNTIME_PYTHON_MADE_H

#include "runtime/python/layout.h"

/* The layout of a code object and of strings of 3.11 (known_layouts in python/layout.c). */
static const struct python_layout python_3_11 = {
	.minor = 11,
	.data = {.code_from = 56,
		 .code_words = 0x7ff,
		 .code_first_byte = 184,
		 .code_name = 9,
		 .name_hash = 24,
		 .name_text = 48},
	.code_filename = 112,
	.code_name = 120,
	.code_qualname = 128,
	.code_lines = 136,
	.code_first_line = 72,
	.string_length = 16,
	.string_state = 32,
	.string_ascii = 48,
	.string_wide = 72,
	.bytes_length = 16,
	.bytes_data = 32,
};

#endif
