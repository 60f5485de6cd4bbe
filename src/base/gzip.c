// SPDX-License-Identifier: Apache-2.0
#include "base/gzip.h"

#include <errno.h>

/*
 * deflateInit2's windowBits: 15 is the largest window, 16 more asks for gzip's header and trailer
 */
#define GZIP_WINDOW (15 + 16)

void gzip_start(struct gzip *z, FILE *out)
{
	*z = (struct gzip){.out = out};
	if (deflateInit2(&z->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		z->err = -ENOMEM;
}

static void deflate_all(struct gzip *z, int flush)
{
	unsigned char room[16384];

	do {
		z->stream.next_out = room;
		z->stream.avail_out = sizeof(room);
		deflate(&z->stream, flush);
		fwrite(room, 1, sizeof(room) - z->stream.avail_out, z->out);
	} while (!z->stream.avail_out);
}

void gzip_add(struct gzip *z, struct buf *b)
{
	size_t done = 0;

	if (b->failed && !z->err)
		z->err = -ENOMEM;
	while (!z->err && done < b->count) {
		size_t piece = b->count - done < 1u << 30 ? b->count - done : 1u << 30;

		z->stream.next_in = b->at + done;
		z->stream.avail_in = (uInt)piece;
		deflate_all(z, Z_NO_FLUSH);
		done += piece;
	}
	b->count = 0;
}

int gzip_finish(struct gzip *z)
{
	if (!z->err) {
		z->stream.avail_in = 0;
		deflate_all(z, Z_FINISH);
	}
	deflateEnd(&z->stream);
	return z->err;
}

static int inflate_all(z_stream *stream, size_t max, struct buf *to)
{
	unsigned char room[16384];
	size_t start = to->count;
	int rc;

	do {
		stream->next_out = room;
		stream->avail_out = sizeof(room);
		rc = inflate(stream, Z_NO_FLUSH);
		if (rc == Z_MEM_ERROR)
			return -ENOMEM;
		if (rc != Z_OK && rc != Z_STREAM_END)
			return -EBADMSG;
		if (sizeof(room) - stream->avail_out > max - (to->count - start))
			return -E2BIG;
		buf_put(to, room, sizeof(room) - stream->avail_out);
		/* one stream may follow the other, as gzip(1) has it */
		if (rc == Z_STREAM_END && stream->avail_in && inflateReset(stream) != Z_OK)
			return -EBADMSG;
	} while (rc != Z_STREAM_END || stream->avail_in);
	return to->failed ? -ENOMEM : 0;
}

int gunzip(const void *packed, size_t size, size_t max, struct buf *to)
{
	z_stream stream = {.next_in = (unsigned char *)packed, .avail_in = (uInt)size};
	int err;

	if (size > UINT32_MAX)
		return -E2BIG;
	if (inflateInit2(&stream, GZIP_WINDOW) != Z_OK)
		return -ENOMEM;
	err = inflate_all(&stream, max, to);
	inflateEnd(&stream);
	return err;
}
