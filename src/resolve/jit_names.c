// SPDX-License-Identifier: Apache-2.0
#include "resolve/jit_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "resolve/jit_code.h"
#include "symbol/symbols.h"

/*
 * A runtime that replaces more code than that in the time of a film keeps the names of its last
 * age.
 */
#define AGES_MAX 1024

/*
 * Frames that are kept of one process; all are looked at whenever its runtime has written
 * something.
 */
#define FRAMES_MAX 65536

struct jit_frame {
	uint32_t frame; /* of the film */
	uint32_t source;
	uint64_t address;
	uint64_t seen;	 /* ns of CLOCK_MONOTONIC: soon after it ran first */
	uint64_t record; /* of its name: with source, what it is */
	uint64_t name;	 /* hash; 0: it has none */
	bool past;	 /* of an age that is over */
};

struct jit_names {
	struct jit_code *code;
	vec(struct jit_frame) frames;
	size_t asked;		 /* those before were looked for in all that was read */
	uint32_t age, first_age; /* the first one of the film */
	int err;		 /* of the last reading */
	size_t forgotten;	 /* frames without a name, for that reason */
};

struct jit_names *jit_names_new(pid_t pid, struct far_files *far)
{
	struct jit_names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->code = jit_code_new(pid, far);
	if (!names->code) {
		free(names);
		return NULL;
	}
	return names;
}

void jit_names_free(struct jit_names *names)
{
	if (!names)
		return;
	jit_code_free(names->code);
	vec_free(&names->frames);
	free(names);
}

bool jit_names_want(struct jit_names *names, uint32_t frame, uint64_t address)
{
	return vec_push(&names->frames, (struct jit_frame){
						.frame = frame,
						.address = address,
						.seen = clock_ns(),
					});
}

uint32_t jit_names_age(const struct jit_names *names)
{
	return names->age;
}

static uint64_t hash_name(const struct code_name *name)
{
	uint64_t hash = hash_bytes(name->function, strlen(name->function));

	hash = hash_u64(hash ^ hash_bytes(name->file, strlen(name->file)) ^ name->line);
	return hash ? hash : 1;
}

static void name_frame(struct film_writer *film, uint32_t frame, const struct code_name *name)
{
	char *function = symbol_demangle(name->function);
	struct film_name told = {function, name->file, name->line};

	if (function)
		film_name_frame(film, frame, &told, 1);
	free(function);
}

/*
 * Questions for all frames, or for those that could be seen again and have a name. Null: no memory.
 */
static struct code_question *make_questions(const struct jit_names *names, bool now, size_t *count)
{
	size_t all = names->frames.count;
	struct code_question *questions = calloc(all ? all : 1, sizeof(*questions));

	*count = 0;
	for (size_t i = 0; questions && i < all; i++) {
		const struct jit_frame *f = &names->frames.at[i];

		if (now && (f->past || !f->name))
			continue;
		questions[(*count)++] = (struct code_question){
			.address = f->address,
			.time = now ? UINT64_MAX : f->seen,
			.index = (uint32_t)i,
		};
	}
	return questions;
}

static bool is_known(const struct jit_frame *f, const struct code_question *q)
{
	return f->name && f->record == q->answer.record && f->source == q->source;
}

/* What lay at each frame's address when it was seen, as it is known by now. */
static uint64_t name_frames(struct jit_names *names, struct film_writer *film,
			    struct code_name *name)
{
	size_t count;
	struct code_question *questions = make_questions(names, false, &count);
	uint64_t named = 0;

	if (!questions || jit_code_find(names->code, questions, count))
		count = 0;
	for (size_t i = 0; i < count; i++) {
		const struct code_question *q = &questions[i];
		struct jit_frame *f = &names->frames.at[q->index];
		uint64_t hash;

		if (!q->answer.size || is_known(f, q) || !jit_code_name(names->code, q, name))
			continue;
		hash = hash_name(name);
		if (hash != f->name)
			name_frame(film, f->frame, name);
		named += !f->name;
		f->name = hash;
		f->record = q->answer.record;
		f->source = q->source;
	}
	free(questions);
	return named;
}

/* Whether what lies at some named frame's address now has another name. */
static bool is_outdated(struct jit_names *names, struct code_name *name)
{
	size_t count;
	struct code_question *questions = make_questions(names, true, &count);
	bool outdated = false;

	if (!questions || jit_code_find(names->code, questions, count))
		count = 0;
	for (size_t i = 0; i < count && !outdated; i++) {
		const struct code_question *q = &questions[i];
		const struct jit_frame *f = &names->frames.at[q->index];

		outdated = q->answer.size && !is_known(f, q) &&
			   jit_code_name(names->code, q, name) && hash_name(name) != f->name;
	}
	free(questions);
	return outdated;
}

/* Among the first frames. */
static uint64_t count_unbelieved(const struct jit_names *names, size_t frames)
{
	uint64_t count = 0;

	if (!names->err || names->err == -ENOENT || names->err == -ESRCH)
		return 0;
	for (size_t i = 0; i < frames; i++)
		count += !names->frames.at[i].name;
	return count;
}

static void new_age(struct jit_names *names)
{
	names->age++;
	vec_foreach (&names->frames, f)
		f->past = true;
}

/*
 * Forgets the older half; names stay as they are in the film. Frames of the same places that are
 * seen from now on are others, so that what lies there then is not called as what lay there before.
 */
static void forget_half(struct jit_names *names)
{
	size_t half = names->frames.count / 2, kept = names->frames.count - half;

	names->forgotten += count_unbelieved(names, half);
	new_age(names);
	memmove(names->frames.at, names->frames.at + half, kept * sizeof(*names->frames.at));
	names->frames.count = kept;
}

uint64_t jit_names_round(struct jit_names *names, struct film_writer *film, bool last)
{
	struct code_name *name;
	uint64_t named;
	bool more;

	/* what cannot be read names nothing: the frames are shown as [jit] */
	names->err = jit_code_read(names->code, last, &more, NULL);
	if (!more && names->asked == names->frames.count)
		return 0;
	name = malloc(sizeof(*name));
	if (!name)
		return 0;
	named = name_frames(names, film, name);
	if (names->age - names->first_age < AGES_MAX && is_outdated(names, name))
		new_age(names);
	if (names->frames.count >= FRAMES_MAX)
		forget_half(names);
	names->asked = names->frames.count;
	free(name);
	return named;
}

void jit_names_losses(const struct jit_names *names, struct jit_losses *losses)
{
	losses->refused += jit_code_refused(names->code);
	losses->passed += jit_code_passed(names->code) ? 1 : 0;
	losses->unbelieved += names->forgotten + count_unbelieved(names, names->frames.count);
}

size_t jit_names_held(const struct jit_names *names)
{
	return jit_code_held(names->code);
}

void jit_names_forget(struct jit_names *names)
{
	jit_code_forget(names->code);
}

void jit_names_turn(struct jit_names *names, struct jit_losses *losses)
{
	losses->unbelieved += names->forgotten + count_unbelieved(names, names->frames.count);
	names->frames.count = names->asked = names->forgotten = 0;
	names->first_age = names->age;
}
