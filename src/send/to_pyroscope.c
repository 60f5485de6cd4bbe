// SPDX-License-Identifier: Apache-2.0
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/text.h"
#include "exchange/pprof/writer.h"
#include "exchange/pyroscope/writer.h"
#include "send/to_others.h"

/* A request of many profiles ends when it has this many bytes. */
#define PUSH_BYTES (1u << 20)

struct pyroscope {
	struct to_others_options options;
	bool push;
	char *url; /* without a '/' at its end */
	/* Of the film that is on its way, what arrived: parts before that one. */
	uint64_t number;
	size_t arrived;
};

static void put_escaped(struct buf *to, const struct buf *text)
{
	for (size_t i = 0; i < text->count; i++) {
		if (isalnum(text->at[i]) || strchr("-._~", text->at[i]))
			buf_put_u8(to, text->at[i]);
		else
			buf_printf(to, "%%%02X", text->at[i]);
	}
	to->failed |= text->failed;
}

/* A part as pprof, to be freed; null: no memory. */
static char *make_profile(const struct gathered *gathered, const struct gathered_part *part,
			  size_t *size)
{
	char *profile = NULL;
	FILE *out = open_memstream(&profile, size);
	int err = out ? pprof_write_gathered(gathered, part, out) : -ENOMEM;

	if ((out && fclose(out)) || err) {
		free(profile);
		return NULL;
	}
	return profile;
}

static enum sent post(struct pyroscope *p, const struct http_post *post, uint64_t *retry_after,
		      struct fail *why)
{
	struct http_reply reply;

	if (http_post(p->options.http, post, &reply, why))
		return SENT_LATER;
	*retry_after = reply.retry_after;
	return sent_by_reply(p->url, &reply, why);
}

static enum sent no_memory(const struct pyroscope *p, struct fail *why)
{
	fail_errno(why, -ENOMEM, NULL, "cannot send to %s", http_shown(p->url));
	return SENT_LATER;
}

/* Sends the next part. */
static enum sent ingest(struct pyroscope *p, const struct gathered *gathered, uint64_t *retry_after,
			struct fail *why)
{
	static const char *const headers[] = {"Content-Type: binary/octet-stream", NULL};
	const struct gathered_part *part = &gathered->parts.at[p->arrived];
	struct buf url = {0}, name = {0};
	struct http_post posted = {.headers = headers};
	char *profile = make_profile(gathered, part, &posted.size);
	enum sent sent;

	pyroscope_put_name(&name, gathered, gathered->groups.at[part->group].service);
	buf_printf(&url, "%s/ingest?name=", p->url);
	put_escaped(&url, &name);
	/* nanoseconds, as Pyroscope's own client sends them */
	buf_printf(&url, "&from=%" PRIu64 "&until=%" PRIu64 "&format=pprof&spyName=stackcam",
		   gathered->from, gathered->to);
	if (gathered->film->events[part->event].frequency)
		buf_printf(&url, "&sampleRate=%u", gathered->film->events[part->event].frequency);
	buf_put_u8(&url, 0);
	posted.url = (const char *)url.at;
	posted.body = profile;
	sent = url.failed || !profile ? no_memory(p, why) : post(p, &posted, retry_after, why);
	p->arrived += sent == SENT;
	free(profile);
	buf_free(&url);
	buf_free(&name);
	return sent;
}

/* Sends the next parts, as many as one request holds. */
static enum sent push(struct pyroscope *p, const struct gathered *gathered, uint64_t *retry_after,
		      struct fail *why)
{
	static const char *const headers[] = {"Content-Type: application/proto",
					      "Connect-Protocol-Version: 1", NULL};
	struct http_post posted = {.headers = headers};
	struct buf url = {0}, body = {0};
	size_t next = p->arrived, size;
	enum sent sent;

	while (next < gathered->parts.count && body.count < PUSH_BYTES && !body.failed) {
		char *profile = make_profile(gathered, &gathered->parts.at[next], &size);

		body.failed |= !profile;
		if (profile)
			pyroscope_put_series(&body, gathered, &gathered->parts.at[next], profile,
					     size);
		free(profile);
		next++;
	}
	buf_printf(&url, "%s/push.v1.PusherService/Push", p->url);
	buf_put_u8(&url, 0);
	posted.url = (const char *)url.at;
	posted.body = body.at;
	posted.size = body.count;
	sent = url.failed || body.failed ? no_memory(p, why) : post(p, &posted, retry_after, why);
	if (sent == SENT)
		p->arrived = next;
	buf_free(&url);
	buf_free(&body);
	return sent;
}

/* The film's losses that no profile has reported, in words; false: each was reported. */
static bool format_silent(const struct pyroscope *p, const struct gathered *gathered,
			  struct fail *why)
{
	const struct film *film = gathered->film;
	char lost[sizeof(why->what)] = "", from[32] = "", span[32];
	time_t start = (time_t)(gathered->from / 1000000000);
	size_t length = 0;
	struct tm tm;

	for (size_t i = 0; i < film->loss_count && length < sizeof(lost); i++) {
		const struct film_loss *loss = &film->losses[i];
		bool told = loss->event ? !gathered_is_silent(gathered, loss->event)
					: gathered->parts.count > 0;

		if (!told && loss->count)
			length += (size_t)snprintf(lost + length, sizeof(lost) - length,
						   "%s%s %" PRIu64, length ? ", " : "",
						   loss->reason, loss->count);
	}
	if (!length)
		return false;
	if (gmtime_r(&start, &tm))
		strftime(from, sizeof(from), "%Y-%m-%dT%H:%M:%SZ", &tm);
	text_duration(span, sizeof(span), gathered->to - gathered->from);
	fail(why, -ENOMSG, NULL,
	     "%s does not keep profiles without samples, so it will not show what was lost in the "
	     "%s from %s: %s",
	     p->url, span, from, lost);
	return true;
}

static enum sent send_film(void *self, const struct spool_film *film, uint64_t *retry_after,
			   struct fail *why)
{
	struct pyroscope *p = self;
	struct gathered gathered;
	enum sent sent = SENT;
	int err = gather(film->path, false, p->options.service_of, p->options.context, &gathered,
			 why);

	if (p->number != film->number)
		p->arrived = 0;
	p->number = film->number;
	while (!err && sent == SENT && p->arrived < gathered.parts.count)
		sent = p->push ? push(p, &gathered, retry_after, why)
			       : ingest(p, &gathered, retry_after, why);
	if (!err && sent == SENT && format_silent(p, &gathered, why))
		sent = SENT_BUT;
	gathered_free(&gathered);
	return err ? sent_by_error(err) : sent;
}

static void free_pyroscope(void *self)
{
	struct pyroscope *p = self;

	free(p->url);
	free(p);
}

int to_pyroscope(const struct to_others_options *options, bool push_them,
		 struct destination *destination, struct fail *why)
{
	struct pyroscope *p = calloc(1, sizeof(*p));
	size_t length = strlen(options->where);

	while (length && options->where[length - 1] == '/')
		length--;
	if (p) {
		p->options = *options;
		p->push = push_them;
		p->url = strndup(options->where, length);
	}
	if (!p || !p->url) {
		free(p);
		return fail_errno(why, -ENOMEM, NULL, "cannot send");
	}
	*destination = (struct destination){send_film, free_pyroscope, p};
	return 0;
}
