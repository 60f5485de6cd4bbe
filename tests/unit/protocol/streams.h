/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_PROTOCOL_STREAMS_H
#define TESTS_PROTOCOL_STREAMS_H

/* A protocol that is given pieces, and what it told of them, as text. */
#include <string.h>

#include "base/buf.h"
#include "protocol/protocol.h"

struct stream {
	const struct protocol *protocol;
	void *state;
	struct buf told; /* "request GET /; sent 20; answer 200; answered 40; done;" */
	struct protocol_losses losses;
};

static inline bool has_told(const struct stream *s, const char *words)
{
	return s->told.count && memmem(s->told.at, s->told.count, words, strlen(words));
}

static inline void told_stream(void *context, uint32_t number)
{
	buf_printf(&((struct stream *)context)->told, "#%u ", number);
}

static inline void told_upgraded(void *context, uint32_t number)
{
	buf_printf(&((struct stream *)context)->told, "upgraded to #%u; ", number);
}

static inline void told_request(void *context, const struct protocol_request *request)
{
	struct stream *s = context;

	buf_printf(&s->told, "request %s", request->endpoint);
	if (*request->id)
		buf_printf(&s->told, " id %s", request->id);
	buf_put_text(&s->told, "; ");
}

static inline void told_sent(void *context, uint64_t bytes)
{
	buf_printf(&((struct stream *)context)->told, "sent %llu; ", (unsigned long long)bytes);
}

static inline void told_answer(void *context, const struct protocol_answer *answer)
{
	buf_printf(&((struct stream *)context)->told, "answer %u%s; ", answer->status,
		   answer->failed ? " failed" : "");
}

static inline void told_failed(void *context)
{
	buf_put_text(&((struct stream *)context)->told, "failed; ");
}

static inline void told_status(void *context, uint32_t status, enum film_protocol protocol)
{
	(void)protocol;
	buf_printf(&((struct stream *)context)->told, "status %u; ", status);
}

static inline void told_answered(void *context, uint64_t bytes)
{
	buf_printf(&((struct stream *)context)->told, "answered %llu; ", (unsigned long long)bytes);
}

static inline void told_done(void *context, bool sure)
{
	buf_put_text(&((struct stream *)context)->told, sure ? "done; " : "done? ");
}

static inline struct protocol_sink stream_sink(struct stream *s)
{
	return (struct protocol_sink){
		.stream = told_stream,
		.upgraded = told_upgraded,
		.request = told_request,
		.sent = told_sent,
		.answer = told_answer,
		.failed = told_failed,
		.status = told_status,
		.answered = told_answered,
		.done = told_done,
		.context = s,
		.losses = &s->losses,
	};
}

/* That many bytes of text are there, of length. */
static inline void stream_give(struct stream *s, enum side side, const void *text, uint32_t copied,
			       uint32_t length, const char *tail)
{
	struct protocol_sink sink = stream_sink(s);
	struct piece piece = {text, copied, length, (const uint8_t *)tail};

	if (!s->state)
		s->state = calloc(1, s->protocol->size);
	s->protocol->parse(s->state, side, &piece, &sink);
}

static inline void stream_text(struct stream *s, enum side side, const char *text)
{
	uint32_t size = (uint32_t)strlen(text);

	stream_give(s, side, text, size, size, NULL);
}

static inline void stream_ended(struct stream *s)
{
	struct protocol_sink sink = stream_sink(s);

	if (s->state && s->protocol->ended)
		s->protocol->ended(s->state, &sink);
}

static inline void stream_free(struct stream *s)
{
	if (s->state && s->protocol->free)
		s->protocol->free(s->state);
	free(s->state);
	buf_free(&s->told);
}

#endif
