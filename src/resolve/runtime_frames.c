// SPDX-License-Identifier: Apache-2.0
#include "resolve/runtime_frames.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "film/known.h"

/*
 * Frames of one process that are remembered, at first and at most: what makes functions without end
 * must not fill our memory, and what has many must not be looked up all the time.
 */
#define FRAMES_FEW 8192
#define FRAMES_MAX 262144

/*
 * What is remembered of all processes' names; what comes again after it was forgotten is in the
 * film twice.
 */
#define PATHS_KNOWN 4096
#define NAMES_KNOWN 32768

/*
 * Different labels of a film's samples at most: each has the stacks below it for itself, and a
 * program may have as many as it has requests.
 */
#define LABELS_MAX 16384

/*
 * A frame that has its name. What the words point to may have been freed, and another such thing
 * may have taken its place since: so the name is looked up again, ever more seldom as long as it
 * stays the same.
 */
struct known_frame {
	uint64_t key;	  /* hash of its words */
	uint32_t frame;	  /* the film's */
	bool used;	  /* again, since frames were last forgotten */
	bool is_part;	  /* as struct runtime_names has it */
	uint64_t since;	  /* samples before that may have meant something else */
	uint64_t checked; /* when it was looked up */
	uint64_t again;	  /* when it will be, for samples from then on */
};

#define CHECK_FIRST_NS 100000000ull
#define CHECK_LAST_NS  30000000000ull

/* Why frames have no name. */
enum frame_loss {
	LOSS_STALE,
	LOSS_UNREADABLE,
	LOSS_GONE,
	LOSS_UNKNOWN,
	LOSS_FULL,
	LOSSES
};

static const char *const loss_words[LOSSES] = {
	[LOSS_STALE] = "its function was gone when it was looked up",
	[LOSS_UNREADABLE] = "memory of the process could not be read",
	[LOSS_GONE] = "the process had ended",
	[LOSS_UNKNOWN] = "its structures were not what they should be",
	[LOSS_FULL] = "a film has at most 16384 different ones",
};

struct runtime_frames {
	struct film_writer *film;
	int kept_map;
	uint64_t losses[UNWIND_RUNTIME_COUNT][LOSSES];
	struct known by_path;  /* is it a script, path -> film image */
	struct known by_names; /* hash of image and names -> the film's frame */
	bool keeps_codes;
	struct map codes;    /* frame: enum lock_code of its functions */
	uint64_t last_place; /* addresses of frames are just numbers */
	uint32_t film_number;
	uint32_t labels; /* of the film's samples, different ones */
	/* while a frame is named */
	struct runtime_names names;
	uint64_t kept[2][UNWIND_KEPT_BYTES / 8];
};

int runtime_frames_new(struct film_writer *film, int kept_map, struct runtime_frames **result)
{
	struct runtime_frames *frames = calloc(1, sizeof(*frames));

	if (!frames)
		return -ENOMEM;
	frames->film = film;
	frames->kept_map = kept_map;
	frames->by_path.limit = PATHS_KNOWN;
	frames->by_names.limit = NAMES_KNOWN;
	*result = frames;
	return 0;
}

void runtime_frames_free(struct runtime_frames *frames)
{
	if (!frames)
		return;
	known_clear(&frames->by_path);
	known_clear(&frames->by_names);
	map_free(&frames->codes);
	free(frames);
}

void runtime_frames_turn(struct runtime_frames *frames, struct film_writer *film)
{
	frames->film = film;
	frames->film_number++;
	frames->labels = 0;
	known_clear(&frames->by_path);
	known_clear(&frames->by_names);
	map_free(&frames->codes);
}

void runtime_frames_keep_codes(struct runtime_frames *frames)
{
	frames->keeps_codes = true;
}

enum lock_code runtime_frames_code(const struct runtime_frames *frames, uint32_t frame)
{
	const uint64_t *code = map_get(&frames->codes, frame);

	return code ? (enum lock_code) * code : LOCK_CODE_UNKNOWN;
}

/* What its functions are: the innermost one that is anything. */
static void keep_code(struct runtime_frames *frames, uint32_t frame)
{
	enum lock_code code = LOCK_CODE_NONE;

	for (size_t i = 0; !code && i < frames->names.count; i++)
		code = lock_code_named(frames->names.at[i].function);
	/* without memory it is not known */
	(void)!map_put(&frames->codes, frame, code);
}

void frame_book_free(struct frame_book *book)
{
	map_free(&book->by_words);
	vec_free(&book->known);
	book->limit = 0;
}

static uint32_t image_of(struct runtime_frames *frames, const char *path, bool is_script)
{
	struct film_image words = {.kind = is_script ? FILM_IMAGE_SCRIPT : FILM_IMAGE_ANON,
				   .path = path};
	struct known_key key = {.a = is_script, .text = path};
	uint32_t image = known_find(&frames->by_path, &key);

	if (image)
		return image;
	image = film_add_image(frames->film, &words);
	/* a film that is full has no more of them */
	if (image)
		known_add(&frames->by_path, &key, image);
	return image;
}

/* The same function at the same line is the same frame in all processes. */
static uint32_t frame_of_names(struct runtime_frames *frames, const struct runtime_type *type)
{
	struct runtime_names *names = &frames->names;
	struct film_name chain[RUNTIME_NAMES_MAX];
	char path[64];
	struct known_key known = {0};
	uint32_t image, frame;
	uint64_t key;
	size_t i;

	snprintf(path, sizeof(path), "[%s]", type->name);
	image = image_of(frames, names->image ? names->image : path, names->image != NULL);
	key = hash_u64((uint64_t)image << 8 | names->kind);
	for (i = 0; i < names->count; i++) {
		const char *file = names->at[i].file;

		key = hash_u64(key ^
			       hash_bytes(names->at[i].function, strlen(names->at[i].function)));
		key = hash_u64((key ^ (file ? hash_bytes(file, strlen(file)) : 0)) +
			       names->at[i].line);
		chain[i] = (struct film_name){names->at[i].function, file, names->at[i].line};
	}
	known.a = key;
	frame = known_find(&frames->by_names, &known);
	if (frame)
		return frame;
	if (type->labels_threads && frames->labels++ >= LABELS_MAX)
		return 0;
	frame = film_frame(frames->film, image, (enum film_frame_kind)names->kind,
			   ++frames->last_place);
	if (!frame)
		return 0;
	film_name_frame(frames->film, frame, chain, names->count);
	if (frames->keeps_codes)
		keep_code(frames, frame);
	known_add(&frames->by_names, &known, frame);
	return frame;
}

static void clear_names(struct runtime_frames *frames, const struct runtime_type *type)
{
	frames->names.kind = type->frame_kind;
	frames->names.image = NULL;
	frames->names.is_part = frames->names.is_kept = false;
	frames->names.count = frames->names.used = 0;
}

static uint32_t without_name(struct runtime_frames *frames, const struct runtime_type *type,
			     int err)
{
	enum frame_loss loss = err == -ESTALE	? LOSS_STALE
			       : err == -EFAULT ? LOSS_UNREADABLE
			       : err == -ESRCH	? LOSS_GONE
						: LOSS_UNKNOWN;
	char words[64];

	frames->losses[type->id][loss]++;
	/* a sample goes without labels */
	if (type->labels_threads)
		return 0;
	clear_names(frames, type);
	snprintf(words, sizeof(words), "[unknown %s function]", type->name);
	runtime_names_add(&frames->names, words, NULL, 0);
	return frame_of_names(frames, type);
}

uint32_t runtime_frames_unknown(struct runtime_frames *frames, const struct runtime_type *type,
				int err)
{
	return without_name(frames, type, err);
}

/* The words of the next outer frame of the same runtime, if its name depends on that; or null. */
static const uint64_t *caller_of(const struct runtime_type *type, const uint64_t *words,
				 const uint64_t *end)
{
	const uint64_t *at = words + 2;

	if (!(type->named_by_caller >> UNWIND_WORD_VARIANT(*words) & 1))
		return NULL;
	while (at < end) {
		if (!(*at & UNWIND_IS_RUNTIME))
			at++;
		else if (UNWIND_WORD_RUNTIME(*at) != type->id)
			at += 2;
		else
			return end - at >= 2 ? at : NULL;
	}
	return NULL;
}

/* What the kernel side has kept for a frame, or null. */
static const void *kept_of(const struct runtime_frames *frames, const struct runtime_type *type,
			   const uint64_t *words, void *to)
{
	uint64_t key;

	if (!type->keeps || !words || frames->kept_map < 0)
		return NULL;
	key = type->kept_under ? type->kept_under(words) : words[1];
	return bpf_map_lookup_elem(frames->kept_map, &key, to) ? NULL : to;
}

/* Looks a name up in the process, into frames->names. */
static int look_up(struct runtime_frames *frames, const struct runtime_type *type,
		   struct runtime_at *at, void *state, const uint64_t *words)
{
	int err;

	at->kept = kept_of(frames, type, words, frames->kept[0]);
	at->caller_kept = kept_of(frames, type, at->caller, frames->kept[1]);
	if (at->process->end && !at->kept)
		return -ESRCH;
	clear_names(frames, type);
	err = type->name_of(at, state, words, &frames->names);
	return err || frames->names.count ? err : -EINVAL;
}

static struct known_frame *find_known(const struct frame_book *book, uint64_t key)
{
	const uint64_t *index = map_get(&book->by_words, key);

	if (!index)
		return NULL;
	book->known.at[*index].used = true;
	return &book->known.at[*index];
}

/*
 * Forgets what was not used since the last time. If that leaves much, more is remembered from now
 * on.
 */
static void forget_unused(struct frame_book *book)
{
	size_t count = 0, i;

	map_free(&book->by_words);
	for (i = 0; i < book->known.count; i++) {
		struct known_frame *known = &book->known.at[count];

		if (!book->known.at[i].used)
			continue;
		*known = book->known.at[i];
		known->used = false;
		if (map_put(&book->by_words, known->key, count))
			count++;
	}
	book->known.count = count;
	if (count <= book->limit / 2)
		return;
	if (book->limit < FRAMES_MAX) {
		book->limit *= 2;
		return;
	}
	map_free(&book->by_words);
	book->known.count = 0;
}

static void remember(struct frame_book *book, const struct known_frame *frame)
{
	if (!book->limit)
		book->limit = FRAMES_FEW;
	if (book->known.count >= book->limit)
		forget_unused(book);
	if (vec_push(&book->known, *frame) &&
	    !map_put(&book->by_words, frame->key, book->known.count - 1))
		book->known.count--;
}

/*
 * Looks a name up again. What is gone by now was there when the sample was taken: its checksum was.
 * But if another one is there, with the same checksum, it cannot be known which of them the sample
 * meant.
 */
static void check_again(struct runtime_frames *frames, const struct runtime_type *type,
			struct runtime_at *at, void *state, const uint64_t *words,
			struct known_frame *known)
{
	uint64_t now = clock_ns(), interval = 2 * (now - known->checked);
	uint32_t frame;

	if (interval > CHECK_LAST_NS)
		interval = CHECK_LAST_NS;
	if (!look_up(frames, type, at, state, words) && !frames->names.is_kept) {
		frame = frame_of_names(frames, type);
		if (frame != known->frame) {
			known->frame = frame;
			known->is_part = frames->names.is_part;
			known->since = now;
			interval = CHECK_FIRST_NS;
		}
	}
	known->checked = now;
	known->again = now + interval;
}

uint32_t runtime_frames_get(struct runtime_frames *frames, const struct runtime_type *type,
			    const struct runtime_at *where, void *state, struct frame_book *book,
			    const struct runtime_place *place, bool *is_part)
{
	const uint64_t *words = place->words;
	struct known_frame *known, fresh = {0};
	struct runtime_at at = *where;
	uint64_t key;
	int err;

	if (book->film != frames->film_number) {
		frame_book_free(book);
		book->film = frames->film_number;
	}
	at.caller = caller_of(type, words, place->end);
	key = hash_u64(hash_u64(words[0] & ~UNWIND_GUESS) ^ words[1]);
	if (at.caller)
		key = hash_u64(hash_u64(key ^ at.caller[0]) ^ at.caller[1]);
	known = find_known(book, key);
	if (!known) {
		err = look_up(frames, type, &at, state, words);
		if (err == -ENODATA)
			return 0;
		if (err)
			return without_name(frames, type, err);
		fresh.key = key;
		fresh.frame = frame_of_names(frames, type);
		fresh.is_part = frames->names.is_part;
		fresh.checked = clock_ns();
		fresh.again = fresh.checked + CHECK_FIRST_NS;
		remember(book, &fresh);
		known = &fresh;
	} else if (place->time >= known->again && !at.process->end) {
		check_again(frames, type, &at, state, words, known);
	}
	if (place->time < known->since)
		return without_name(frames, type, -ESTALE);
	*is_part = known->is_part;
	frames->losses[type->id][LOSS_FULL] += type->labels_threads && !known->frame;
	return known->frame;
}

void runtime_frames_report_losses(const struct runtime_frames *frames)
{
	char words[128];
	size_t i;
	int loss;

	for (i = 0; runtime_types[i]; i++) {
		const struct runtime_type *type = runtime_types[i];

		for (loss = 0; loss < LOSSES; loss++) {
			uint64_t count = frames->losses[type->id][loss];

			snprintf(words, sizeof(words), "%s %s: %s", type->name,
				 type->labels_threads ? "labels of a sample lost"
						      : "frame without a name",
				 loss_words[loss]);
			if (count)
				film_loss(frames->film, 0, words, count);
		}
	}
}
