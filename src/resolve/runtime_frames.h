/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_RUNTIME_FRAMES_H
#define RESOLVE_RUNTIME_FRAMES_H

#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "resolve/lock_code.h"
#include "film/writer.h"
#include "runtime/runtime.h"

/*
 * The film's rows for frames of language runtimes: named while the process lives, each name once in
 * the film.
 */
struct runtime_frames;

/* kept_map: what the kernel side has kept for the names of frames (bpf/runtime/kept.h). */
int runtime_frames_new(struct film_writer *film, int kept_map, struct runtime_frames **frames);
void runtime_frames_free(struct runtime_frames *frames);

/* What is known of the frames of one runtime of one process. All zero: nothing. */
struct frame_book {
	struct map by_words; /* hash of a frame's words -> index in known */
	vec(struct known_frame) known;
	size_t limit;  /* at most this many are remembered */
	uint32_t film; /* number of the film that they are of */
};
void frame_book_free(struct frame_book *book);

/* A frame of two words in a sample. */
struct runtime_place {
	const uint64_t *words, *end; /* up to end are the words of frames further out */
	uint64_t time;		     /* of the sample */
};

/*
 * Its row, named; 0: the film is full. *is_part is set if it is (struct runtime_names), else left
 * alone.
 */
uint32_t runtime_frames_get(struct runtime_frames *frames, const struct runtime_type *type,
			    const struct runtime_at *at, void *state, struct frame_book *book,
			    const struct runtime_place *place, bool *is_part);

/* The same where the process cannot be asked, for the reason of err (as name_of() returns it). */
uint32_t runtime_frames_unknown(struct runtime_frames *frames, const struct runtime_type *type,
				int err);

/*
 * What the functions of a frame are, of those that were named since it was asked to keep that;
 * LOCK_CODE_UNKNOWN: it has no name.
 */
void runtime_frames_keep_codes(struct runtime_frames *frames);
enum lock_code runtime_frames_code(const struct runtime_frames *frames, uint32_t frame);

/* Another film: frames are looked up and written again when they are next needed. */
void runtime_frames_turn(struct runtime_frames *frames, struct film_writer *film);

/* Tells the film what has no name so far, and why. */
void runtime_frames_tell_losses(const struct runtime_frames *frames);

#endif
