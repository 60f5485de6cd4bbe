/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ARCH_CODE_OF_FILE_H
#define TESTS_ARCH_CODE_OF_FILE_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "elf/image.h"

/* The disassembler takes some tenths of a microsecond for an instruction. */
#define CODE_OF_SECTION_MAX ((size_t)3 << 20)

/* Real programs; these have no data in their code, so that there is nothing to disagree about. */
static const char *const code_of_programs[] = {
	"/usr/bin/python3",
	"/usr/lib/x86_64-linux-gnu/libc.so.6",
	"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	"/usr/lib/x86_64-linux-gnu/libm.so.6",
};
#define CODE_OF_PROGRAMS (sizeof(code_of_programs) / sizeof(code_of_programs[0]))

/* Calls emit() for the code of each section of the file. False: it is not on this machine. */
static inline bool code_of_file(const char *path,
				void (*emit)(const uint8_t *code, size_t size, void *context),
				void *context)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_image image;

	if (fd < 0)
		return false;
	assert_int_equal(elf_image_open_file(&image, fd, NULL), 0);
	for (unsigned int i = 0; i < image.texts; i++) {
		const struct elf_range *text = &image.text[i];
		size_t size = text->end - text->start;
		uint8_t *code;

		if (size > CODE_OF_SECTION_MAX)
			size = CODE_OF_SECTION_MAX;
		code = malloc(size);
		assert_non_null(code);
		emit(code, elf_image_read_code(&image, text->start, code, size), context);
		free(code);
	}
	elf_image_close(&image);
	close(fd);
	return true;
}

/* The same for all of these programs; skips the test where none of them is here. */
static inline void code_of_all(void (*emit)(const uint8_t *code, size_t size, void *context),
			       void *context)
{
	bool any = false;

	for (size_t i = 0; i < CODE_OF_PROGRAMS; i++)
		any |= code_of_file(code_of_programs[i], emit, context);
	if (!any)
		skip();
}

#endif
