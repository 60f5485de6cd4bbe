// SPDX-License-Identifier: Apache-2.0
/*
 * A file as code for a GPU: its functions, and both tables of lines. What is found lies in the
 * file, and chains of calls end.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "../check.h"
#include "symbol/cubin/lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_place(const struct cubin_place *place, bool is_last)
{
	char path[256];

	check(place->line && place->file);
	check(is_last == !place->function);
	check(strlen(cubin_file_path(place->file, path, sizeof(path))) < sizeof(path));
}

static void ask(const struct cubin *cubin, const struct cubin_lines *lines, uint64_t address)
{
	const struct cubin_text *text = cubin_text_of(cubin, address);
	const struct cubin_function *function = cubin_function_of(cubin, address);
	struct cubin_place places[CUBIN_PLACES_MAX];
	size_t count = cubin_lines_find(lines, cubin, address, places);
	const char *mnemonic = cubin_mnemonic(cubin, address);

	check(!mnemonic || mnemonic[0]);
	check(text || (!function && !count && !mnemonic));
	check(count <= CUBIN_PLACES_MAX);
	for (size_t i = 0; i < count; i++)
		check_place(&places[i], i + 1 == count && count < CUBIN_PLACES_MAX);
	if (!function)
		return;
	check(function->start <= address && address < function->end);
	check(cubin_source_name(cubin, function, NULL)[0]);
}

static void read_lines(const struct cubin *cubin, const char *section)
{
	struct cubin_lines lines;
	int err = cubin_lines_read(&lines, cubin, section);

	check(!err || err == -EBADMSG || err == -E2BIG || err == -ENOMEM);
	vec_foreach (&cubin->texts, text) {
		check(cubin_text_of(cubin, text->address) == text);
		ask(cubin, &lines, text->address - 1);
		for (uint64_t at = 0; at < text->size && at < 1024; at += 8)
			ask(cubin, &lines, text->address + at);
		ask(cubin, &lines, text->address + text->size - 1);
		ask(cubin, &lines, text->address + text->size);
	}
	cubin_lines_free(&lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char advice[128];
	struct cubin cubin;

	if (cubin_open(&cubin, data, size))
		return 0;
	cubin_how_to_get_lines(&cubin, advice, sizeof(advice));
	check(advice[0]);
	check(!cubin_address(&cubin, "no such function", 0));
	read_lines(&cubin, CUBIN_LINES);
	read_lines(&cubin, CUBIN_PTX_LINES);
	cubin_close(&cubin);
	return 0;
}
