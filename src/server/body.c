// SPDX-License-Identifier: Apache-2.0
#include "server/body.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum {
	PIECE = 64 << 10,
	GZIP_WINDOW = 15 + 32, /* inflateInit2's: the largest window; gzip's or zlib's header */
	ZSTD_WINDOW_LOG = 24,  /* of frames that are taken: what one asks of memory, 16 MB */
};

int body_open(struct body *body, const char *path, uint64_t max, struct fail *why)
{
	*body = (struct body){.max = max, .fd = -1};
	if (!path)
		return 0;
	if (snprintf(body->path, sizeof(body->path), "%s", path) >= (int)sizeof(body->path))
		body->path[0] = 0;
	else
		body->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (body->fd >= 0)
		return 0;
	body->path[0] = 0;
	return fail_errno(why, -errno, NULL, "cannot make a file for what is sent");
}

void body_add(struct body *body, const void *bytes, size_t count)
{
	body->count += count;
	if (!body->err && body->count > body->max)
		body->err = -E2BIG;
	if (body->err)
		return;
	if (body->fd >= 0) {
		body->err = file_write_all(body->fd, bytes, count);
		return;
	}
	buf_put(&body->bytes, bytes, count);
	if (body->bytes.failed)
		body->err = -ENOMEM;
}

/* A body on its way through a decoder. */
struct passage {
	struct body *body;
	uint64_t taken, given;
	struct buf bytes; /* where it goes, */
	int fd;		  /* if it does not go there */
	uint8_t in[PIECE], out[PIECE];
};

/* The next piece into p->in; its size, 0 at the end, or a negative errno. */
static ssize_t pull(struct passage *p)
{
	struct body *body = p->body;
	size_t left = body->count - p->taken, piece = left < PIECE ? left : PIECE;
	ssize_t got = (ssize_t)piece;

	if (body->fd >= 0)
		got = pread(body->fd, p->in, piece, (off_t)p->taken);
	else if (piece)
		memcpy(p->in, body->bytes.at + p->taken, piece);
	if (got < 0)
		return -errno;
	p->taken += (uint64_t)got;
	return got;
}

static int push(struct passage *p, size_t count)
{
	p->given += count;
	if (p->given > p->body->max)
		return -E2BIG;
	if (p->fd >= 0)
		return file_write_all(p->fd, p->out, count);
	buf_put(&p->bytes, p->out, count);
	return p->bytes.failed ? -ENOMEM : 0;
}

static int gunzip_all(struct passage *p)
{
	z_stream z = {0};
	int state = Z_OK, err = 0;
	ssize_t got;

	if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
		return -ENOMEM;
	while (!err && (got = pull(p)) > 0) {
		z.next_in = p->in;
		z.avail_in = (uInt)got;
		while (!err && z.avail_in) {
			/* gzip streams may stand one behind the other */
			if (state == Z_STREAM_END && inflateReset(&z) != Z_OK)
				err = -EBADMSG;
			do {
				z.next_out = p->out;
				z.avail_out = PIECE;
				state = err ? Z_OK : inflate(&z, Z_NO_FLUSH);
				if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR)
					err = -EBADMSG;
				if (!err)
					err = push(p, PIECE - z.avail_out);
			} while (!err && !z.avail_out && state != Z_STREAM_END);
		}
	}
	inflateEnd(&z);
	if (!err && got < 0)
		return (int)got;
	return err ? err : state == Z_STREAM_END ? 0 : -EBADMSG;
}

static int unzstd_all(struct passage *p)
{
	ZSTD_DCtx *zstd = ZSTD_createDCtx();
	size_t state = 1;
	int err = zstd ? 0 : -ENOMEM;
	ssize_t got = 0;

	if (!err)
		ZSTD_DCtx_setParameter(zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG);
	while (!err && (got = pull(p)) > 0) {
		ZSTD_inBuffer in = {p->in, (size_t)got, 0};
		bool is_full = false;

		while (!err && (in.pos < in.size || is_full)) {
			ZSTD_outBuffer out = {p->out, PIECE, 0};

			state = ZSTD_decompressStream(zstd, &out, &in);
			/* behind the end of a frame there is nothing more to be had */
			is_full = out.pos == PIECE && state;
			err = ZSTD_isError(state) ? -EBADMSG : push(p, out.pos);
		}
	}
	ZSTD_freeDCtx(zstd);
	if (!err && got < 0)
		return (int)got;
	/* 0: a frame ended there */
	return err ? err : state ? -EBADMSG : 0;
}

/* The decoded body takes the place of the other. */
static int replace(struct body *body, struct passage *p)
{
	if (p->fd < 0) {
		buf_free(&body->bytes);
		body->bytes = p->bytes;
	} else {
		char path[PATH_MAX + 2];

		snprintf(path, sizeof(path), "%s.2", body->path);
		if (rename(path, body->path))
			return -errno;
		close(body->fd);
		body->fd = p->fd;
	}
	body->count = p->given;
	return 0;
}

static int pass(struct body *body, int (*decode)(struct passage *p))
{
	struct passage *p = calloc(1, sizeof(*p));
	char path[PATH_MAX + 2];
	int err = 0;

	if (!p)
		return -ENOMEM;
	snprintf(path, sizeof(path), "%s.2", body->path);
	p->body = body;
	p->fd = body->fd < 0 ? -1 : open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (body->fd >= 0 && p->fd < 0)
		err = -errno;
	if (!err)
		err = decode(p);
	if (!err)
		err = replace(body, p);
	if (err && p->fd >= 0) {
		close(p->fd);
		unlink(path);
	}
	if (err)
		buf_free(&p->bytes);
	free(p);
	return err;
}

static int undo(struct body *body, const char *encoding, struct fail *why)
{
	if (!encoding || !*encoding || !strcasecmp(encoding, "identity"))
		return 0;
	if (!strcasecmp(encoding, "gzip") || !strcasecmp(encoding, "x-gzip"))
		return pass(body, gunzip_all);
	if (!strcasecmp(encoding, "zstd"))
		return pass(body, unzstd_all);
	return fail(why, -EOPNOTSUPP, "gzip, zstd and identity are taken",
		    "a Content-Encoding of '%.64s' is not known", encoding);
}

int body_finish(struct body *body, const char *encoding, struct fail *why)
{
	int err = body->err ? body->err : undo(body, encoding, why);

	if (err == -E2BIG)
		return fail(why, err, NULL, "what was sent has more than %llu bytes",
			    (unsigned long long)body->max);
	if (err == -EBADMSG)
		return fail(why, err, NULL, "what was sent is not %.64s, or damaged", encoding);
	if (err && err != -EOPNOTSUPP)
		return fail_errno(why, err, NULL, "cannot take what was sent");
	return err;
}

void body_close(struct body *body)
{
	buf_free(&body->bytes);
	if (body->fd >= 0)
		close(body->fd);
	if (body->path[0])
		unlink(body->path);
	body->fd = -1;
	body->path[0] = 0;
}
