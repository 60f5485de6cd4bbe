// SPDX-License-Identifier: Apache-2.0
#include "symbol/dwarf_process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define KEPT_PART  4	       /* of the memory, when all is forgotten */
#define NAME_LIMIT (16u << 10) /* mangled */
#define PATH_LIMIT (4u << 10)

/*
 * What goes through the pipe: for each answer 1, index, count, and for each place function, file
 * (with their zero bytes; "" for null) and line; at the end 2 and the negated errno. Numbers are
 * ULEB128.
 */
enum {
	SAID_ANSWER = 1,
	SAID_END = 2
};

struct speaker {
	int pipe;
	struct buf said;
};

static void say_text(struct buf *b, const char *text, size_t limit)
{
	if (text)
		buf_put(b, text, strnlen(text, limit));
	buf_put_u8(b, 0);
}

static void say(void *context, size_t index, const struct dwarf_place *places, size_t count)
{
	struct speaker *s = context;

	buf_put_u8(&s->said, SAID_ANSWER);
	buf_put_varint(&s->said, index);
	buf_put_varint(&s->said, count);
	for (size_t i = 0; i < count; i++) {
		say_text(&s->said, places[i].function, NAME_LIMIT);
		say_text(&s->said, places[i].file, PATH_LIMIT);
		buf_put_varint(&s->said, places[i].line);
	}
	if (s->said.count >= SANDBOX_SAY_AT)
		sandbox_say(s->pipe, &s->said);
}

/* What is asked for. */
struct question {
	int fd, alternate_fd;
	const uint64_t *addresses;
	size_t count;
	bool inlines;
	const struct sandbox_limits *limits;
};

static void work(void *context, int pipe, int err)
{
	const struct question *q = context;
	struct speaker s = {.pipe = pipe};

	if (!err)
		err = dwarf_answer(q->fd, q->alternate_fd, q->addresses, q->count, q->inlines,
				   q->limits->memory / KEPT_PART, say, &s);
	buf_put_u8(&s.said, SAID_END);
	buf_put_varint(&s.said, (uint64_t)-err);
	sandbox_say(pipe, &s.said);
}

static bool read_answer(struct dwarf_answers *answers, struct bytes *b, size_t count)
{
	uint64_t index = bytes_varint(b), places = bytes_varint(b);
	struct dwarf_answer answer = {.first = answers->place_count};

	if (b->failed || index >= count || !places || places > DWARF_PLACES_MAX)
		return false;
	if (answers->place_count + places > answers->place_room &&
	    !vec_grow_raw((void **)&answers->places, &answers->place_room,
			  answers->place_count + places, sizeof(*answers->places)))
		return false;
	for (; answer.count < places; answer.count++) {
		struct dwarf_place *place = &answers->places[answers->place_count + answer.count];
		const char *function = bytes_text(b), *file = bytes_text(b);
		uint64_t line = bytes_varint(b);

		if (b->failed || line > UINT32_MAX)
			return false;
		*place = (struct dwarf_place){
			.function = function[0] ? function : NULL,
			.file = file[0] ? file : NULL,
			.line = (uint32_t)line,
		};
	}
	answers->place_count += answer.count;
	answers->at[index] = answer;
	return true;
}

/*
 * Reads what was said up to where it ends in the middle of an answer. Returns the child's result.
 */
static int read_all(struct dwarf_answers *answers, size_t count)
{
	struct bytes b = buf_bytes(&answers->text);

	while (bytes_left(&b)) {
		uint8_t what = bytes_u8(&b);

		if (what == SAID_END) {
			uint64_t err = bytes_varint(&b);

			return b.failed || err > 4095 ? -EBADMSG : -(int)err;
		}
		if (what != SAID_ANSWER || !read_answer(answers, &b, count))
			break;
	}
	return -ECHILD;
}

int dwarf_ask(int fd, int alternate_fd, const uint64_t *addresses, size_t count, bool inlines,
	      const struct sandbox_limits *limits, const struct sandbox_files *files,
	      struct dwarf_answers *answers, struct fail *why)
{
	const int keep[] = {fd, alternate_fd};
	struct question question = {fd, alternate_fd, addresses, count, inlines, limits};
	int err, said;

	*answers = (struct dwarf_answers){0};
	answers->at = calloc(count + 1, sizeof(*answers->at));
	if (!answers->at)
		return fail_errno(why, -ENOMEM, NULL, "reading DWARF");
	err = sandbox_run(keep, 2, limits, files, work, &question, &answers->text);
	said = read_all(answers, count);
	if (!err)
		err = said;
	switch (err) {
	case 0:
		return 0;
	case -ECHILD:
		return fail(why, err, NULL,
			    "the DWARF needs more than %zu MiB of memory or %u s, or is broken",
			    limits->memory >> 20, limits->cpu_seconds);
	case -EBADMSG:
		return fail(why, err, NULL, "the DWARF is broken");
	case -ENOLINK:
		return fail(why, err, NULL,
			    "inlined functions are in .dwo files, which are not there");
	case -E2BIG:
	case -ETIMEDOUT:
		return fail(why, err, NULL, "the DWARF is too large or too tangled");
	default:
		return fail_errno(why, err, NULL, "reading DWARF");
	}
}

void dwarf_answers_free(struct dwarf_answers *answers)
{
	free(answers->at);
	free(answers->places);
	buf_free(&answers->text);
	*answers = (struct dwarf_answers){0};
}
