/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_WAIT_CLASS_H
#define QUERY_WAIT_CLASS_H

#include "film/reader.h"
#include "film/wait_rules.h"

/*
 * What the waits of a film were for, by the rules of film/wait_rules.h, and with what the frames
 * of their stacks say. All zero is empty.
 */
struct wait_classes {
	const struct film *film;
	uint8_t *frames; /* by stack: enum wait_frames */
	struct wait_decider decider;
};

/* 0 or -ENOMEM; wait_classes_free() is needed in either case. */
int wait_classes_init(struct wait_classes *classes, const struct film *film);
void wait_classes_free(struct wait_classes *classes);

/* The class of wait i. */
enum wait_class wait_class_of(struct wait_classes *classes, const struct film_waits *waits,
			      size_t i);

/*
 * Its name for people: that of the class; of WAIT_OTHER the system call and what the kernel did,
 * "ioctl, tty_wait".
 */
void wait_class_words(struct wait_classes *classes, const struct film_waits *waits, size_t i,
		      char *words, size_t size);

/* The same of a class, a system call (its number and 1, 0: none) and a stack. */
void wait_words(const struct film *film, enum wait_class class, uint32_t nr, uint32_t stack,
		char *words, size_t size);

#endif
