/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_LOSS_KINDS_H
#define FILM_LOSS_KINDS_H

/*
 * What a reason of a loss costs, by its words: films say no more about that. A reason that is not
 * known, of a later version or of a push, is another one.
 */
enum film_loss_kind {
	FILM_LOSS_SAMPLE, /* a whole sample, call, wait or thread: its time is missing */
	FILM_LOSS_STACK,  /* it is there, with a part of its stack or of one beside it */
	FILM_LOSS_NAME,	  /* the frame is there, and has no name, or not all of them */
	FILM_LOSS_OTHER,
	FILM_LOSS_KINDS,
};

enum film_loss_kind film_loss_kind(const char *reason);
/* "sample", "stack", "name", "other" */
const char *film_loss_kind_name(enum film_loss_kind kind);

#endif
