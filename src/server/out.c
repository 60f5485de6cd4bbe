// SPDX-License-Identifier: Apache-2.0
#include "server/out.h"

#include <errno.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>
#include <zstd.h>

enum {
	PIECE = 64 << 10,
	/*
	 * what is not compressed gains nothing from more; and no answer that comes from memory asks
	 * the kernel for more, where it would wait for those who read films
	 */
	PLAIN_PIECE = 8 << 10,
	GZIP_WINDOW = 15 + 16, /* deflateInit2's: the largest window, and gzip's header */
	GZIP_LEVEL = 4,
	ZSTD_LEVEL = 1,
};

struct out_packer {
	ZSTD_CCtx *zstd;
	z_stream gzip;
	bool has_gzip;
	uint8_t *room;	/* PIECE, of what is compressed */
	char written[]; /* what the FILE holds back */
};

/* The q of "gzip;q=0.5" in thousandths; 1000 where there is none. */
static int quality_of(const char *parameters, size_t length)
{
	const char *q = memmem(parameters, length, "q=", 2);
	char digits[6] = "";
	size_t left;

	if (!q)
		return 1000;
	left = length - (size_t)(q + 2 - parameters);
	memcpy(digits, q + 2, left < sizeof(digits) - 1 ? left : sizeof(digits) - 1);
	return (int)(strtod(digits, NULL) * 1000);
}

/* The quality that a list gives to a coding; -1: it does not name it. */
static int accepted(const char *accept, const char *name)
{
	size_t wanted = strlen(name);

	while (*accept) {
		size_t length = strcspn(accept, ","), word;

		while (length && (*accept == ' ' || *accept == '\t')) {
			accept++;
			length--;
		}
		word = strcspn(accept, " \t;,");
		if (word == wanted && !strncasecmp(accept, name, wanted))
			return quality_of(accept + word, length - word);
		accept += length;
		accept += *accept == ',';
	}
	return -1;
}

enum out_coding out_choose(const char *accept)
{
	if (!accept)
		return OUT_PLAIN;
	if (accepted(accept, "zstd") > 0)
		return OUT_ZSTD;
	return accepted(accept, "gzip") > 0 ? OUT_GZIP : OUT_PLAIN;
}

bool out_accepts_gzip(const char *accept)
{
	return accept && accepted(accept, "gzip") > 0;
}

const char *out_coding_name(enum out_coding coding)
{
	return coding == OUT_ZSTD ? "zstd" : coding == OUT_GZIP ? "gzip" : NULL;
}

static int start_packer(struct out *out)
{
	struct out_packer *p = out->packer;

	if (out->coding != OUT_PLAIN && !p->room && !(p->room = malloc(PIECE)))
		return -ENOMEM;
	if (out->coding == OUT_ZSTD && !p->zstd) {
		p->zstd = ZSTD_createCCtx();
		if (!p->zstd)
			return -ENOMEM;
		ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
	}
	if (out->coding == OUT_GZIP && !p->has_gzip) {
		if (deflateInit2(&p->gzip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8,
				 Z_DEFAULT_STRATEGY) != Z_OK)
			return -ENOMEM;
		p->has_gzip = true;
	}
	return 0;
}

static void pack_zstd(struct out *out, const char *bytes, size_t count, bool last)
{
	struct out_packer *p = out->packer;
	ZSTD_inBuffer in = {bytes, count, 0};
	size_t left;

	do {
		ZSTD_outBuffer room = {p->room, PIECE, 0};

		left = ZSTD_compressStream2(p->zstd, &room, &in,
					    last ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left)) {
			out->err = -ENOMEM;
			return;
		}
		buf_put(&out->bytes, p->room, room.pos);
	} while (last ? left : in.pos < in.size);
}

static void pack_gzip(struct out *out, const char *bytes, size_t count, bool last)
{
	struct out_packer *p = out->packer;

	p->gzip.next_in = (Bytef *)bytes;
	p->gzip.avail_in = (uInt)count;
	do {
		p->gzip.next_out = p->room;
		p->gzip.avail_out = PIECE;
		deflate(&p->gzip, last ? Z_FINISH : Z_NO_FLUSH);
		buf_put(&out->bytes, p->room, PIECE - p->gzip.avail_out);
	} while (!p->gzip.avail_out);
}

static void pack(struct out *out, const char *bytes, size_t count, bool last)
{
	if (!out->err)
		out->err = start_packer(out);
	if (out->err)
		return;
	if (out->coding == OUT_ZSTD)
		pack_zstd(out, bytes, count, last);
	else if (out->coding == OUT_GZIP)
		pack_gzip(out, bytes, count, last);
	else
		buf_put(&out->bytes, bytes, count);
	if (out->bytes.failed)
		out->err = -ENOMEM;
}

/* FNV-1a over words of eight bytes: it tells answers apart, and is not a secret. */
static uint64_t add_to_hash(uint64_t hash, const char *bytes, size_t count)
{
	while (count) {
		uint64_t word = 0;
		size_t length = count < sizeof(word) ? count : sizeof(word);

		memcpy(&word, bytes, length);
		hash = (hash ^ word ^ length) * 0x100000001b3ull;
		hash ^= hash >> 32;
		bytes += length;
		count -= length;
	}
	return hash;
}

/* Writers go on when something went wrong: out_finish() reports it. */
static ssize_t out_write(void *context, const char *bytes, size_t count)
{
	struct out *out = context;

	if (!out->count && *out->packed)
		out->coding = OUT_PLAIN;
	out->hash = add_to_hash(out->hash, bytes, count);
	out->count += count;
	if (!out->err && out->count > OUT_MAX)
		out->err = -E2BIG;
	pack(out, bytes, count, false);
	return (ssize_t)count;
}

int out_open(struct out *out, enum out_coding coding, const char *const *packed)
{
	size_t piece = coding == OUT_PLAIN ? PLAIN_PIECE : PIECE;

	*out = (struct out){.coding = coding, .packed = packed, .hash = 0xcbf29ce484222325ull};
	out->packer = calloc(1, sizeof(*out->packer) + piece);
	if (!out->packer)
		return -ENOMEM;
	out->file = fopencookie(out, "w", (cookie_io_functions_t){.write = out_write});
	if (!out->file)
		return -ENOMEM;
	setvbuf(out->file, out->packer->written, _IOFBF, piece);
	/* one thread writes it */
	__fsetlocking(out->file, FSETLOCKING_BYCALLER);
	return 0;
}

int out_finish(struct out *out)
{
	fclose(out->file);
	out->file = NULL;
	if (out->coding != OUT_PLAIN)
		pack(out, "", 0, true);
	return out->err;
}

void out_close(struct out *out)
{
	if (out->file)
		fclose(out->file);
	if (out->packer) {
		ZSTD_freeCCtx(out->packer->zstd);
		if (out->packer->has_gzip)
			deflateEnd(&out->packer->gzip);
		free(out->packer->room);
	}
	free(out->packer);
	buf_free(&out->bytes);
	*out = (struct out){0};
}
