// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/gzip.h"
#include "exchange/otlp/writer.h"
#include "send/to_others.h"

struct receiver {
	struct to_others_options options;
	char *url;
};

/* The message, packed, to be freed; null: no memory. */
static char *pack(struct buf *message, size_t *size)
{
	struct gzip gzip;
	char *packed = NULL;
	FILE *out = open_memstream(&packed, size);
	int err;

	if (!out)
		return NULL;
	gzip_start(&gzip, out);
	gzip_add(&gzip, message);
	err = gzip_finish(&gzip);
	if (fclose(out) || err) {
		free(packed);
		return NULL;
	}
	return packed;
}

static enum sent post(struct receiver *r, const void *body, size_t size, uint64_t *retry_after,
		      struct fail *why)
{
	static const char *const headers[] = {"Content-Type: application/x-protobuf",
					      "Content-Encoding: gzip", NULL};
	const struct http_post post = {
		.url = r->url,
		.headers = headers,
		.body = body,
		.size = size,
	};
	struct http_reply reply;
	enum sent sent;
	uint64_t refused;

	if (http_post(r->options.http, &post, &reply, why))
		return SENT_LATER;
	*retry_after = reply.retry_after;
	sent = sent_by_reply(r->url, &reply, why);
	refused = sent == SENT ? otlp_refused(reply.words, reply.size) : 0;
	if (!refused)
		return sent;
	fail(why, -EBADMSG, NULL, "%s refused %llu of the profiles", http_shown(r->url),
	     (unsigned long long)refused);
	return SENT_USELESS;
}

static enum sent send_film(void *self, const struct spool_film *film, uint64_t *retry_after,
			   struct fail *why)
{
	struct receiver *r = self;
	struct gathered gathered;
	struct buf message = {0};
	enum sent sent = SENT;
	char *packed = NULL;
	size_t size;
	int err =
		gather(film->path, true, r->options.service_of, r->options.context, &gathered, why);

	if (!err) {
		err = otlp_write(&gathered, film->number, &message);
		if (!err && message.count) {
			packed = pack(&message, &size);
			err = packed ? 0 : -ENOMEM;
		}
		if (err)
			fail_errno(why, err, NULL, "cannot send to %s", http_shown(r->url));
		else if (packed)
			sent = post(r, packed, size, retry_after, why);
	}
	free(packed);
	buf_free(&message);
	gathered_free(&gathered);
	return err ? sent_by_error(err) : sent;
}

static void free_receiver(void *self)
{
	struct receiver *r = self;

	free(r->url);
	free(r);
}

int to_otlp(const struct to_others_options *options, struct destination *destination,
	    struct fail *why)
{
	struct receiver *r = calloc(1, sizeof(*r));
	const char *host = strstr(options->where, "://"), *path;
	size_t length = strlen(options->where);

	path = host ? strchr(host + 3, '/') : NULL;
	if (r) {
		r->options = *options;
		r->url = path && path[1] ? strdup(options->where) : NULL;
		if (path && !path[1])
			length--;
		if (!r->url && asprintf(&r->url, "%.*s/v1development/profiles", (int)length,
					options->where) < 0)
			r->url = NULL;
	}
	if (!r || !r->url) {
		free(r);
		return fail_errno(why, -ENOMEM, NULL, "cannot send");
	}
	*destination = (struct destination){send_film, free_receiver, r};
	return 0;
}
