// SPDX-License-Identifier: Apache-2.0
#include "symbol/debug_data.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

#include "base/vec.h"

/* The largest libraries have symbols of some 10 MB there. */
#define PACKED_LIMIT   (8u << 20)
#define UNPACKED_LIMIT (32u << 20)
#define DECODER_MEMORY (18u << 20) /* what xz -7 needs; it is made with -6 */

struct output {
	uint8_t *at;
	size_t room;
};

static int unpack(lzma_stream *xz, struct output *out, size_t *size)
{
	lzma_ret ret = LZMA_OK;

	while (ret == LZMA_OK) {
		size_t used = (size_t)xz->total_out, wanted = used + (256u << 10);

		if (used == UNPACKED_LIMIT)
			return -EFBIG;
		if (wanted > UNPACKED_LIMIT)
			wanted = UNPACKED_LIMIT;
		if (wanted > out->room && !vec_grow_raw((void **)&out->at, &out->room, wanted, 1))
			return -ENOMEM;
		xz->next_out = out->at + used;
		xz->avail_out = wanted - used;
		ret = lzma_code(xz, LZMA_FINISH);
	}
	*size = (size_t)xz->total_out;
	if (ret == LZMA_MEM_ERROR || ret == LZMA_MEMLIMIT_ERROR)
		return -ENOMEM;
	return ret == LZMA_STREAM_END ? 0 : -EBADMSG;
}

int debug_data_unpack(const struct elf_file *file, uint8_t **data, size_t *size)
{
	const struct elf_section *section = elf_file_section(file, ".gnu_debugdata");
	lzma_stream xz = LZMA_STREAM_INIT;
	struct output out = {0};
	uint8_t *packed;
	int err;

	if (!section)
		return -ENOENT;
	if (section->size > PACKED_LIMIT)
		return -EFBIG;
	packed = elf_file_section_contents(file, section, PACKED_LIMIT);
	if (!packed)
		return -EBADMSG;
	if (lzma_stream_decoder(&xz, DECODER_MEMORY, 0) != LZMA_OK) {
		free(packed);
		return -ENOMEM;
	}
	xz.next_in = packed;
	xz.avail_in = section->size;
	err = unpack(&xz, &out, size);
	lzma_end(&xz);
	free(packed);
	if (err) {
		free(out.at);
		return err;
	}
	*data = out.at;
	return 0;
}
