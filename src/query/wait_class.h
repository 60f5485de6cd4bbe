/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_WAIT_CLASS_H
#define QUERY_WAIT_CLASS_H

#include "base/map.h"
#include "film/reader.h"

/*
 * What waits were for, decided from the evidence that a film has: by a table of rules in order, of
 * which the first one that holds counts. It is decided when the film is read, so that a better rule
 * also holds for films that are there.
 */
enum wait_class {
	WAIT_OTHER, /* none of these: named by its system call and what the kernel did */
	WAIT_READY, /* it could have run: for a CPU */
	WAIT_STOPPED,
	WAIT_FAULT,
	WAIT_DISK,
	WAIT_WORK, /* a thread of the kernel without work */
	WAIT_IO_URING,
	WAIT_CHILD,
	WAIT_SLEEP,
	WAIT_POLL,
	WAIT_LOCK,
	WAIT_ACCEPT,
	WAIT_CONNECT,
	WAIT_RECEIVE,
	WAIT_SEND,
	WAIT_IPC,
	WAIT_SIGNAL,
	WAIT_FILE,
	WAIT_CLASSES,
};

/* "lock", "page-fault" …, as a user gives it. */
const char *wait_class_name(enum wait_class class);
/* WAIT_CLASSES: there is none of that name. */
enum wait_class wait_class_named(const char *name, size_t length);

/* What frames of the kernel a stack has. */
enum wait_frames {
	WAIT_HAS_FAULT = 1, /* it brings in a page, or makes room for one */
	WAIT_HAS_DISK = 2,  /* it waits for a block device */
};

/* What a rule looks at. */
struct wait_evidence {
	const char *call; /* the system call's name; "": in none; "?": one without a known name */
	uint8_t state, descriptor; /* as in struct film_wait */
	uint32_t flags;
	unsigned int frames; /* of enum wait_frames */
};

/* The number of the first rule that holds; wait_rule_count(): none does. */
unsigned int wait_rule_of(const struct wait_evidence *evidence);
unsigned int wait_rule_count(void);
enum wait_class wait_rule_class(unsigned int rule);

/* For the waits of a film. All zero is empty. */
struct wait_classes {
	const struct film *film;
	uint8_t *frames;  /* by stack: enum wait_frames */
	struct map known; /* evidence: its class */
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

#endif
