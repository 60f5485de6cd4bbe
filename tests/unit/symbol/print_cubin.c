// SPDX-License-Identifier: Apache-2.0
/*
 * Prints each instruction of cubins as stackcam reads it, for comparisons with NVIDIA's own
 * disassembler: section of code, offset, mnemonic, function, and the places of the source, the
 * innermost first: "axpy<TAB>80<TAB>FFMA<TAB>axpy<TAB>help.cuh:5 _Z5helpf,axpy.cu:12". Of each file
 * first its build id.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "symbol/cubin/lines.h"

static void print_places(const struct cubin *cubin, const struct cubin_lines *lines,
			 uint64_t address)
{
	struct cubin_place places[CUBIN_PLACES_MAX];
	size_t count = cubin_lines_find(lines, cubin, address, places);
	char path[4096];

	for (size_t i = 0; i < count; i++)
		printf("%s%s:%u%s%s", i ? "," : "",
		       cubin_file_path(places[i].file, path, sizeof(path)), places[i].line,
		       places[i].function ? " " : "", places[i].function ? places[i].function : "");
}

static void print_text(const struct cubin *cubin, const struct cubin_lines *lines,
		       const struct cubin_text *text)
{
	for (uint64_t at = 0; at + CUBIN_INSTRUCTION <= text->size; at += CUBIN_INSTRUCTION) {
		uint64_t address = text->address + at;
		const char *mnemonic = cubin_mnemonic(cubin, address);
		const struct cubin_function *function = cubin_function_of(cubin, address);

		printf("%s\t%llx\t%s\t%s\t", text->name, (unsigned long long)at,
		       mnemonic ? mnemonic : "-",
		       function ? cubin_source_name(cubin, function, NULL) : "-");
		print_places(cubin, lines, address);
		putchar('\n');
	}
}

static int print_file(const char *path)
{
	char hex[2 * CUBIN_BUILD_ID + 1], advice[512];
	struct cubin_lines lines;
	struct cubin cubin;
	size_t size;
	void *memory = NULL;
	FILE *file = fopen(path, "rb");
	int err = -1;

	if (file && !fseek(file, 0, SEEK_END)) {
		size = (size_t)ftell(file);
		rewind(file);
		memory = malloc(size ? size : 1);
		if (memory && fread(memory, 1, size, file) == size)
			err = cubin_open(&cubin, memory, size);
	}
	if (file)
		fclose(file);
	if (!err) {
		printf("build id %s\n",
		       text_hex(hex, sizeof(hex), cubin.build_id, sizeof(cubin.build_id)));
		cubin_how_to_get_lines(&cubin, advice, sizeof(advice));
		printf("advice %s\n", advice);
		err = cubin_lines_read(&lines, &cubin, CUBIN_LINES);
		vec_foreach (&cubin.texts, text)
			print_text(&cubin, &lines, text);
		cubin_lines_free(&lines);
		cubin_close(&cubin);
	}
	free(memory);
	if (err)
		fprintf(stderr, "%s: not read: %d\n", path, err);
	return err;
}

int main(int argc, char **argv)
{
	int err = 0;

	for (int i = 1; i < argc; i++)
		err |= print_file(argv[i]);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
