/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_WAIT_CLASS_H
#define QUERY_WAIT_CLASS_H

#include "film/reader.h"
#include "film/wait_rules.h"

/*
 * Classifies the waits of a film by the rules of film/wait_rules.h and by the frames of their
 * stacks. All zero is empty.
 */
struct wait_classes {
	const struct film *film;
	uint8_t *frames; /* by stack: enum wait_frames */
	struct wait_decider decider;
};

/* Returns 0 or -ENOMEM; call wait_classes_free() in both cases. */
int wait_classes_init(struct wait_classes *classes, const struct film *film);
void wait_classes_free(struct wait_classes *classes);

/* The class of wait i. */
enum wait_class wait_class_of(struct wait_classes *classes, const struct film_waits *waits,
			      size_t i);

/*
 * Formats the class of wait i for display: its name; for WAIT_OTHER the system call and the
 * kernel's function: "ioctl, tty_wait".
 */
void wait_class_words(struct wait_classes *classes, const struct film_waits *waits, size_t i,
		      char *words, size_t size);

/* The same for a class, a system call (number + 1; 0: none) and a stack. */
void wait_words(const struct film *film, enum wait_class class, uint32_t nr, uint32_t stack,
		char *words, size_t size);

#endif
