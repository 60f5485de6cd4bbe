// SPDX-License-Identifier: Apache-2.0
#include "send/to_server.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

/* Films are compressed already, block by block: what is between the blocks becomes smaller. */
#define LEVEL 3

struct server {
	struct http *http;
	char *url;
	char host[320], agent[96];
	void (*header)(void *context, const struct spool_film *film, char *to, size_t size);
	void *context;
	ZSTD_CCtx *zstd;
	uint8_t *in; /* ZSTD_CStreamInSize() bytes */
	/* of the film that is on its way */
	int fd;
	uint64_t offset;
	ZSTD_inBuffer pending;
	bool at_end, is_done;
	bool is_begun; /* its first bytes may have reached the server */
	int err;       /* of reading it */
};

/* Puts more of the film into in. False: it cannot be read. */
static bool refill(struct server *s)
{
	ssize_t count;

	if (s->at_end || s->pending.pos < s->pending.size)
		return true;
	do
		count = pread(s->fd, s->in, ZSTD_CStreamInSize(), (off_t)s->offset);
	while (count < 0 && errno == EINTR);
	if (count < 0) {
		s->err = -errno;
		return false;
	}
	s->at_end = !count;
	s->offset += (uint64_t)count;
	s->pending = (ZSTD_inBuffer){s->in, (size_t)count, 0};
	return true;
}

static long read_compressed(void *context, char *to, size_t room)
{
	struct server *s = context;
	ZSTD_outBuffer out = {to, room, 0};
	size_t left;

	s->is_begun = true;
	/* 0 bytes would be taken for the end */
	while (!s->is_done && !out.pos) {
		if (!refill(s))
			return -1;
		left = ZSTD_compressStream2(s->zstd, &out, &s->pending,
					    s->at_end ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left)) {
			s->err = -ENOMEM;
			return -1;
		}
		s->is_done = s->at_end && !left;
	}
	return (long)out.pos;
}

static int begin_anew(void *context)
{
	struct server *s = context;

	s->offset = 0;
	s->pending = (ZSTD_inBuffer){s->in, 0, 0};
	s->at_end = s->is_done = false;
	s->err = 0;
	ZSTD_CCtx_reset(s->zstd, ZSTD_reset_session_only);
	return 0;
}

static enum sent post_film(struct server *s, const struct spool_film *film, uint64_t *retry_after,
			   struct fail *why)
{
	char number[64], more[128];
	const char *headers[] = {
		"Content-Type: application/vnd.stackcam.film",
		"Content-Encoding: zstd",
		s->agent,
		s->host,
		number,
		s->header ? more : NULL,
		NULL,
	};
	struct http_post post = {
		.url = s->url,
		.headers = headers,
		.read = read_compressed,
		.rewind = begin_anew,
		.context = s,
	};
	struct http_reply reply;
	enum sent sent;

	snprintf(number, sizeof(number), "X-Stackcam-Number: %" PRIu64, film->number);
	if (s->header)
		s->header(s->context, film, more, sizeof(more));
	begin_anew(s);
	s->is_begun = false;
	if (http_post(s->http, &post, &reply, why)) {
		if (!s->err)
			return s->is_begun ? SENT_DOUBT : SENT_LATER;
		fail_errno(why, s->err, NULL, "cannot read the film %s", film->path);
		return s->err == -EIO ? SENT_USELESS : SENT_LATER;
	}
	*retry_after = reply.retry_after;
	sent = sent_by_reply(s->url, &reply, why);
	return sent == SENT_LATER && sent_is_doubtful(reply.status) ? SENT_DOUBT : sent;
}

static enum sent send_film(void *self, const struct spool_film *film, uint64_t *retry_after,
			   struct fail *why)
{
	struct server *s = self;
	enum sent sent;

	s->fd = open(film->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (s->fd < 0 && errno == ENOENT)
		return SENT_GONE;
	if (s->fd < 0) {
		fail_errno(why, -errno, NULL, "cannot read the film %s", film->path);
		return SENT_LATER;
	}
	sent = post_film(s, film, retry_after, why);
	close(s->fd);
	return sent;
}

static void free_server(void *self)
{
	struct server *s = self;

	ZSTD_freeCCtx(s->zstd);
	free(s->url);
	free(s->in);
	free(s);
}

int to_server(const struct to_server_options *options, struct http *http,
	      struct destination *destination, struct fail *why)
{
	struct server *s = calloc(1, sizeof(*s));
	size_t length = strlen(options->url);

	while (length && options->url[length - 1] == '/')
		length--;
	if (s) {
		s->http = http;
		s->header = options->header;
		s->context = options->context;
		s->zstd = ZSTD_createCCtx();
		s->in = malloc(ZSTD_CStreamInSize());
		if (asprintf(&s->url, "%.*s/api/v1/films", (int)length, options->url) < 0)
			s->url = NULL;
	}
	if (!s || !s->zstd || !s->in || !s->url) {
		if (s)
			free_server(s);
		return fail_errno(why, -ENOMEM, NULL, "cannot send");
	}
	ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_compressionLevel, LEVEL);
	snprintf(s->host, sizeof(s->host), "X-Stackcam-Host: %.255s", options->host);
	snprintf(s->agent, sizeof(s->agent), "X-Stackcam-Agent: %s", options->agent);
	*destination = (struct destination){send_film, free_server, s};
	return 0;
}
