// SPDX-License-Identifier: Apache-2.0
/* Any bytes as a section of call frame information; the first one says of which kind. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/cfi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct cfi_fde *fde, const struct cfi_rows *rows, int err)
{
	size_t i;

	if (!rows->count || rows->at[0].offset)
		abort();
	for (i = 0; i < rows->count; i++) {
		if (rows->at[i].offset >= fde->size || rows->at[i].rule.until)
			abort();
		if (i &&
		    (rows->at[i].offset <= rows->at[i - 1].offset ||
		     !memcmp(&rows->at[i].rule, &rows->at[i - 1].rule, sizeof(rows->at->rule))))
			abort();
	}
	if (err && rows->at[rows->count - 1].rule.cfa != UNWIND_CFA_UNSUPPORTED)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cfi_section section = {.address = 0x1000};
	struct cfi_cies cies = {0};
	struct cfi_rows rows = {0};
	struct cfi_fde fde;
	uint64_t offset = 0, at;

	if (!size)
		return 0;
	section.at = data + 1;
	section.size = size - 1;
	section.debug_frame = data[0] & 1;
	section.to_the_end = data[0] & 2;
	while (cfi_next(&section, &offset, &at) > 0) {
		if (cfi_read_fde(&section, &cies, at, &fde) || !fde.size || fde.size > UINT32_MAX)
			continue;
		check(&fde, &rows, cfi_run(&fde, &rows));
	}
	free(rows.at);
	return 0;
}
