// SPDX-License-Identifier: Apache-2.0
#include "send/to_collectors.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/text.h"
#include "send/backlog.h"
#include "send/small_file.h"
#include "send/to_server.h"

#define NOTE	 "doubt"
#define NOTE_MAX (64 << 10)

/* How long a collector that failed is not tried: twice as long each time. */
#define PAUSE_MIN SECOND_NS
#define PAUSE_MAX (60 * SECOND_NS)

struct collector {
	char *url;
	struct destination server;
	uint64_t pause; /* ns, of the last failure; 0: it works */
	uint64_t until; /* ns of CLOCK_MONOTONIC: it is not tried before */
	uint64_t film;	/* the number of the film that it may have; 0: none */
	char logged[sizeof(((struct fail *)NULL)->what)];
};

struct collectors {
	struct to_collectors_options options;
	struct http *http;
	struct collector at[COLLECTORS_MAX];
	size_t count, first;
	struct fail why; /* of the last failure */
	struct backlog_pace pace;
};

int collectors_each(const char *urls, int (*one)(void *context, const char *url, struct fail *why),
		    void *context, struct fail *why)
{
	char *copy = strdup(urls), *rest = copy, *url, *seen[COLLECTORS_MAX];
	size_t count = 0;
	int err = copy ? 0 : fail_errno(why, -ENOMEM, NULL, "cannot send");

	while (!err && (url = strsep(&rest, ","))) {
		url += strspn(url, " ");
		for (size_t length = strlen(url); length && strchr("/ ", url[length - 1]);)
			url[--length] = 0;
		if (!*url || count == COLLECTORS_MAX)
			err = fail(why, -EINVAL, "name them as URL,URL",
				   *url ? "at most %d servers can be named"
					: "one of at most %d servers has no address",
				   COLLECTORS_MAX);
		for (size_t i = 0; !err && i < count; i++)
			if (!strcmp(seen[i], url))
				err = fail(why, -EINVAL, "name it once", "%s is named twice",
					   http_shown(url));
		if (!err) {
			seen[count++] = url;
			err = one(context, url, why);
		}
	}
	free(copy);
	return err;
}

static void log_text(struct collectors *c, const char *format, const char *a, const char *b)
{
	char text[sizeof(c->why.what) + sizeof(c->why.to_do) + 128];

	/* formats of this file */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(text, sizeof(text), format, a, b);
#pragma GCC diagnostic pop
	c->options.log(c->options.context, text);
}

/* What is in doubt, a line for each collector. Returns 0 or a negative errno. */
static int write_doubts(struct collectors *c)
{
	struct buf b = {0};
	int err = 0;

	for (size_t i = 0; i < c->count; i++)
		if (c->at[i].film)
			buf_printf(&b, "%" PRIu64 " %s\n", c->at[i].film, c->at[i].url);
	buf_put_u8(&b, 0);
	err = b.failed ? -ENOMEM
		       : small_file_write(spool_folder(c->options.spool), NOTE, (const char *)b.at,
					  true);
	buf_free(&b);
	return err;
}

static struct collector *find_collector(struct collectors *c, const char *url)
{
	for (size_t i = 0; i < c->count; i++)
		if (!strcmp(c->at[i].url, url))
			return &c->at[i];
	return NULL;
}

/*
 * A collector that is not named any more is not asked any more: what it may have is sent to others
 * under another number, and counts twice if it has it.
 */
static void recall(struct collectors *c, uint64_t number, const char *url)
{
	struct collector *collector = find_collector(c, url);

	if (collector)
		collector->film = number;
	else if (!spool_renumber(c->options.spool, number))
		log_text(c,
			 "a film that %s may have goes to another server, as it is not named any "
			 "more; if it has it, it counts twice%s",
			 http_shown(url), "");
}

static int read_doubts(struct collectors *c, struct fail *why)
{
	char *text = malloc(NOTE_MAX), *rest = text, *line, *url;
	uint64_t number;

	if (!text)
		return fail_errno(why, -ENOMEM, NULL, "cannot send");
	if (small_file_read(spool_folder(c->options.spool), NOTE, text, NOTE_MAX))
		*text = 0;
	while ((line = strsep(&rest, "\n"))) {
		url = strchr(line, ' ');
		if (!url)
			continue;
		*url++ = 0;
		if (!text_parse_u64(line, 1, INT64_MAX, &number))
			recall(c, number, url);
	}
	free(text);
	return 0;
}

/* Films that are gone are in no doubt. */
static void forget_gone(struct collectors *c)
{
	struct spool_film film;

	for (size_t i = 0; i < c->count; i++)
		if (c->at[i].film && (!spool_after(c->options.spool, c->at[i].film - 1, &film) ||
				      film.number != c->at[i].film))
			c->at[i].film = 0;
}

/* How many films one of them may have, that of this number left out. */
static uint64_t count_doubts(const struct collectors *c, uint64_t beside)
{
	uint64_t count = 0;

	for (size_t i = 0; i < c->count; i++)
		count += c->at[i].film && c->at[i].film != beside;
	return count;
}

/* What a collector gets to know with a film: what waits beside that one. */
static void put_backlog(void *context, const struct spool_film *film, char *to, size_t size)
{
	const struct collectors *c = context;
	struct backlog backlog;

	backlog_read(c->options.spool, film->number, count_doubts(c, film->number), clock_wall(),
		     &backlog);
	backlog_put_header(&backlog, to, size);
}

static void note_failure(struct collectors *c, struct collector *at, uint64_t retry_after,
			 bool is_held)
{
	uint64_t pause = at->pause ? at->pause * 2 : PAUSE_MIN;

	at->pause = pause < PAUSE_MAX ? pause : PAUSE_MAX;
	at->until = clock_ns() + (at->pause > retry_after ? at->pause : retry_after);
	if (c->count == 1 || !strcmp(at->logged, c->why.what))
		return;
	snprintf(at->logged, sizeof(at->logged), "%s", c->why.what);
	log_text(c,
		 is_held ? "%s%s; it may have that film, which waits for it; others go to another "
			   "server"
			 : "%s%s; films go to another server",
		 c->why.what, "");
}

static void note_success(struct collectors *c, struct collector *at)
{
	at->pause = at->until = 0;
	if (*at->logged)
		log_text(c, "films go to %s again%s", http_shown(at->url), "");
	at->logged[0] = 0;
}

static bool is_failure(enum sent sent)
{
	return sent == SENT_LATER || sent == SENT_REFUSED || sent == SENT_DOUBT;
}

static enum sent try(struct collectors *c, struct collector *at, const struct spool_film *film)
{
	bool was_doubtful = at->film == film->number;
	uint64_t retry_after = 0;
	enum sent sent;
	int err;

	at->film = film->number;
	err = write_doubts(c);
	if (err) {
		/* nothing is sent that a later start would not know of */
		at->film = was_doubtful ? film->number : 0;
		fail_errno(&c->why, err, "is there room, and may it be written to?",
			   "cannot write to the spool");
		return SENT_LATER;
	}
	sent = at->server.send(at->server.self, film, &retry_after, &c->why);
	if (!is_failure(sent)) {
		/* the film is gone, and what was written with it */
		at->film = 0;
		note_success(c, at);
		return sent;
	}
	note_failure(c, at, retry_after, sent == SENT_DOUBT);
	/* an answer that it does not keep the film now says nothing of the time before */
	if (sent != SENT_DOUBT && !was_doubtful) {
		at->film = 0;
		/* where that fails, the film waits for this one after a new start */
		(void)write_doubts(c);
	}
	return sent;
}

/* The time until this one may be tried, ns; 0: now. With one alone the sender waits. */
static uint64_t wait_of(const struct collectors *c, const struct collector *at)
{
	uint64_t now = clock_ns();

	return c->count > 1 && at->until > now ? at->until - now : 0;
}

/* A film that one of them may have. */
static enum sent send_doubtful(struct collectors *c, struct collector *at,
			       const struct spool_film *film, uint64_t *retry_after)
{
	enum sent sent;

	*retry_after = wait_of(c, at);
	if (*retry_after)
		return SENT_HELD;
	sent = try(c, at, film);
	if (c->count == 1 || !is_failure(sent))
		return sent;
	*retry_after = wait_of(c, at);
	return SENT_HELD;
}

static enum sent send_anywhere(struct collectors *c, const struct spool_film *film,
			       uint64_t *retry_after)
{
	enum sent sent = SENT_LATER;
	uint64_t wait, least = PAUSE_MAX;

	for (size_t i = 0; i < c->count; i++) {
		struct collector *at = &c->at[(c->first + i) % c->count];

		wait = wait_of(c, at);
		if (at->film || wait) {
			least = wait < least ? wait : least;
			continue;
		}
		sent = try(c, at, film);
		if (sent == SENT_DOUBT && c->count > 1) {
			*retry_after = wait_of(c, at);
			return SENT_HELD;
		}
		if (sent != SENT_LATER && sent != SENT_REFUSED)
			return sent;
		wait = wait_of(c, at);
		least = wait < least ? wait : least;
	}
	*retry_after = c->count > 1 ? least : 0;
	return sent;
}

/* Says now and then how much waits while a film is in doubt, or none can be sent. */
static void log_backlog(struct collectors *c, const struct spool_film *film, enum sent sent)
{
	bool is_waiting = is_failure(sent) || sent == SENT_HELD;
	uint64_t beside = is_waiting ? 0 : film->number, doubt = count_doubts(c, beside);
	struct backlog backlog;
	char text[160];

	if (!backlog_is_due(&c->pace, clock_ns(), doubt || is_waiting, doubt))
		return;
	backlog_read(c->options.spool, beside, doubt, clock_wall(), &backlog);
	snprintf(text, sizeof(text),
		 "films in doubt (sent, not confirmed): %" PRIu64 "; films that wait: %" PRIu64
		 ", the oldest began %" PRIu64 " s ago",
		 backlog.doubt, backlog.films, backlog.oldest);
	c->options.log(c->options.context, text);
}

static enum sent send_film(void *self, const struct spool_film *film, uint64_t *retry_after,
			   struct fail *why)
{
	struct collectors *c = self;
	struct collector *at = NULL;
	enum sent sent;

	forget_gone(c);
	for (size_t i = 0; i < c->count; i++)
		if (c->at[i].film == film->number)
			at = &c->at[i];
	sent = at ? send_doubtful(c, at, film, retry_after) : send_anywhere(c, film, retry_after);
	*why = c->why;
	log_backlog(c, film, sent);
	return sent;
}

static void free_collectors(void *self)
{
	struct collectors *c = self;

	for (size_t i = 0; i < c->count; i++) {
		if (c->at[i].server.free)
			c->at[i].server.free(c->at[i].server.self);
		free(c->at[i].url);
	}
	free(c);
}

static int add_collector(void *context, const char *url, struct fail *why)
{
	struct collectors *c = context;
	struct collector *at = &c->at[c->count];
	struct to_server_options server = {
		.url = url,
		.host = c->options.host,
		.agent = spool_agent(c->options.spool),
		.header = put_backlog,
		.context = c,
	};

	at->url = strdup(url);
	if (!at->url)
		return fail_errno(why, -ENOMEM, NULL, "cannot send");
	c->count++;
	return to_server(&server, c->http, &at->server, why);
}

int to_collectors(const struct to_collectors_options *options, struct http *http,
		  struct destination *destination, struct fail *why)
{
	struct collectors *c = calloc(1, sizeof(*c));
	const char *agent = spool_agent(options->spool);
	int err;

	if (!c)
		return fail_errno(why, -ENOMEM, NULL, "cannot send");
	c->options = *options;
	c->http = http;
	err = collectors_each(options->urls, add_collector, c, why);
	if (err) {
		free_collectors(c);
		return err;
	}
	c->first = hash_bytes(agent, strlen(agent)) % c->count;
	err = read_doubts(c, why);
	if (err) {
		free_collectors(c);
		return err;
	}
	*destination = (struct destination){send_film, free_collectors, c};
	return 0;
}
