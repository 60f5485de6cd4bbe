// SPDX-License-Identifier: Apache-2.0
/*
 * libnghttp2's inflater does it. Of a connection that is met in the middle, its table of what was
 * sent before is filled with fields that have no name. The table's newest entries come first, and
 * the smallest ones that it can hold are those: so an index of an entry from before, of any size,
 * finds one of them, and one of a later entry finds that.
 */
#include "protocol/hpack.h"

#include <stdlib.h>
#include <string.h>

#include <nghttp2/nghttp2.h>

/* RFC 7541, 4.1 and 6.5.2 of RFC 9113: an entry's bytes beside its texts, and a table's at first */
#define ENTRY_BYTES 32
#define TABLE_BYTES 4096

/* The largest table that an encoder may change to. */
#define TABLE_MAX 65536

struct hpack {
	nghttp2_hd_inflater *inflater;
};

static void ignore_field(void *context, const char *name, size_t name_size, const char *value,
			 size_t value_size)
{
	(void)context;
	(void)name;
	(void)name_size;
	(void)value;
	(void)value_size;
}

static bool fill(struct hpack *hpack)
{
	/* a literal that is to be kept (6.2.1), its name and its value of no bytes */
	static const uint8_t entry[] = {0x40, 0, 0};
	uint8_t block[TABLE_BYTES / ENTRY_BYTES * sizeof(entry)];

	for (size_t at = 0; at < sizeof(block); at += sizeof(entry))
		memcpy(block + at, entry, sizeof(entry));
	return hpack_read(hpack, block, sizeof(block), ignore_field, NULL);
}

struct hpack *hpack_new(bool from_middle)
{
	struct hpack *hpack = calloc(1, sizeof(*hpack));

	if (!hpack || nghttp2_hd_inflate_new(&hpack->inflater) ||
	    nghttp2_hd_inflate_change_table_size(hpack->inflater, TABLE_MAX) ||
	    (from_middle && !fill(hpack))) {
		hpack_free(hpack);
		return NULL;
	}
	return hpack;
}

void hpack_free(struct hpack *hpack)
{
	if (!hpack)
		return;
	if (hpack->inflater)
		nghttp2_hd_inflate_del(hpack->inflater);
	free(hpack);
}

bool hpack_read(struct hpack *hpack, const uint8_t *block, size_t size, hpack_field *field,
		void *context)
{
	for (;;) {
		nghttp2_nv nv;
		int flags = 0;
		ssize_t n = nghttp2_hd_inflate_hd2(hpack->inflater, &nv, &flags, block, size, 1);

		if (n < 0 || (size_t)n > size)
			return false;
		block += n;
		size -= (size_t)n;
		if (flags & NGHTTP2_HD_INFLATE_EMIT)
			field(context, (const char *)nv.name, nv.namelen, (const char *)nv.value,
			      nv.valuelen);
		if (flags & NGHTTP2_HD_INFLATE_FINAL)
			return !nghttp2_hd_inflate_end_headers(hpack->inflater);
		if (!(flags & NGHTTP2_HD_INFLATE_EMIT) && !size)
			return false;
	}
}
