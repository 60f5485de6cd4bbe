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
 * Writes the film's rows for frames of language runtimes: names them while the process runs, and
 * writes each name once.
 */
struct runtime_frames;

/* kept_map: map of what the kernel side keeps for naming frames (bpf/runtime/kept.h). */
int runtime_frames_new(struct film_writer *film, int kept_map, struct runtime_frames **frames);
void runtime_frames_free(struct runtime_frames *frames);

/* The known frames of one runtime in one process. All zero: none. */
struct frame_book {
	struct map by_words; /* hash of a frame's words -> index in known */
	vec(struct known_frame) known;
	size_t limit;  /* most frames that are remembered */
	uint32_t film; /* number of the film that the ids belong to */
};
void frame_book_free(struct frame_book *book);

/* A frame in a sample, which has two words. */
struct runtime_place {
	const uint64_t *words, *end; /* the words up to end belong to outer frames */
	uint64_t time;		     /* of the sample */
};

/*
 * The id of a frame, named; 0: the film is full. Sets *is_part for a part (struct runtime_names),
 * otherwise leaves it unchanged.
 */
uint32_t runtime_frames_get(struct runtime_frames *frames, const struct runtime_type *type,
			    const struct runtime_at *at, void *state, struct frame_book *book,
			    const struct runtime_place *place, bool *is_part);

/* The same for a process that cannot be read; err: why, as returned by name_of(). */
uint32_t runtime_frames_unknown(struct runtime_frames *frames, const struct runtime_type *type,
				int err);

/*
 * The lock function of a frame that was named after runtime_frames_keep_codes(); LOCK_CODE_UNKNOWN:
 * the frame has no name.
 */
void runtime_frames_keep_codes(struct runtime_frames *frames);
enum lock_code runtime_frames_code(const struct runtime_frames *frames, uint32_t frame);

/* Continues with another film: frames are looked up and written again when they are next needed. */
void runtime_frames_turn(struct runtime_frames *frames, struct film_writer *film);

/* Writes the number of unnamed frames so far to the film, with reasons. */
void runtime_frames_report_losses(const struct runtime_frames *frames);

#endif
