// SPDX-License-Identifier: Apache-2.0
/* Lines of names: those that are taken have a function; of others nothing stays. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "store/build_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t id[] = {1};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct build_names_build build = {.id = id, .id_size = sizeof(id), .file = "file"};
	struct build_names *names = build_names_new(":memory:");
	struct build_names_added added;
	struct fail why = {0};
	int err;

	build.lines = size ? fmemopen((void *)data, size, "r") : NULL;
	if (names && build.lines) {
		err = build_names_add(names, &build, &added, &why);
		if (err ? err != why.err : !added.functions || added.again)
			abort();
		/* of the same a second time nothing is added */
		rewind(build.lines);
		if (!err && (build_names_add(names, &build, &added, &why) || !added.again))
			abort();
	}
	if (build.lines)
		fclose(build.lines);
	build_names_free(names);
	return 0;
}
