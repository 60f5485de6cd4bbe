// SPDX-License-Identifier: Apache-2.0

/*
 * Connections of any bytes, in pieces of any length of which any part is there. For any input: no
 * answer without a request, no more bytes than were moved, texts that end and hold no control
 * characters.
 *
 * The input: which protocol; then pieces: a byte of flags, lengths of what is there and of what is
 * missing, and the bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "protocol/protocols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct sums {
	uint64_t requests, answers, sent, answered;
};

static void is_text(const char *text, size_t size)
{
	check(memchr(text, 0, size));
	for (; *text; text++)
		check((unsigned char)*text >= ' ' && *text != 0x7f);
}

static void take_stream(void *context, uint32_t number)
{
	(void)context;
	check(number);
}

static void take_request(void *context, const struct protocol_request *request)
{
	((struct sums *)context)->requests++;
	is_text(request->endpoint, sizeof(request->endpoint));
	is_text(request->path, sizeof(request->path));
	is_text(request->id, sizeof(request->id));
}

static void take_sent(void *context, uint64_t bytes)
{
	((struct sums *)context)->sent += bytes;
}

static void take_answer(void *context, const struct protocol_answer *answer)
{
	(void)answer;
	((struct sums *)context)->answers++;
}

static void take_failed(void *context)
{
	check(((struct sums *)context)->requests || ((struct sums *)context)->answers);
}

static void take_status(void *context, uint32_t status, enum film_protocol protocol)
{
	check(protocol);
	(void)status;
	check(((struct sums *)context)->answers);
}

static void take_answered(void *context, uint64_t bytes)
{
	((struct sums *)context)->answered += bytes;
}

static void take_done(void *context, bool sure)
{
	(void)sure;
	check(((struct sums *)context)->requests || ((struct sums *)context)->answers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct protocol *const protocols[] = {&protocol_http1,	 &protocol_redis,
							   &protocol_postgresql, &protocol_http2,
							   &protocol_mysql,	 &protocol_fastcgi};
	const uint8_t *end = data + size;
	const struct protocol *protocol;
	struct protocol_losses losses = {0};
	struct sums sums = {0};
	const struct protocol_sink sink = {take_stream, take_stream, take_request, take_sent,
					   take_answer, take_failed, take_status,  take_answered,
					   take_done,	&sums,	     &losses};
	uint64_t moved[SIDES] = {0};
	void *state;

	if (!size)
		return 0;
	protocol = protocols[*data++ % (sizeof(protocols) / sizeof(protocols[0]))];
	state = calloc(1, protocol->size);
	check(state);
	while (end - data > 3) {
		uint8_t flags = data[0];
		uint32_t copied = data[1], missing = (uint32_t)data[2] << (flags >> 4);
		enum side side = flags & 1 ? SIDE_ANSWERS : SIDE_REQUESTS;
		struct piece piece;
		uint8_t *copy;

		data += 3;
		if (copied > (uint32_t)(end - data))
			copied = (uint32_t)(end - data);
		/* memory of just that size, so that the sanitizer sees what is read behind it */
		copy = malloc(copied + 1);
		check(copy);
		memcpy(copy, data, copied);
		piece = (struct piece){copy, copied, copied + missing, NULL};
		if (missing && flags & 2 && end - data >= PIECE_TAIL)
			piece.tail = data;
		data += copied;
		protocol->side_of(&piece);
		if (piece.length) {
			moved[side] += piece.length;
			protocol->parse(state, side, &piece, &sink);
		}
		free(copy);
		if (flags & 4 && protocol->ended)
			protocol->ended(state, &sink);
	}
	check(sums.sent <= moved[SIDE_REQUESTS]);
	check(sums.answered <= moved[SIDE_ANSWERS]);
	if (protocol->free)
		protocol->free(state);
	free(state);
	return 0;
}
