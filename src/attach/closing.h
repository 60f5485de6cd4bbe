/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_CLOSING_H
#define ATTACH_CLOSING_H

/*
 * Closes descriptors of probes beside what else is done: with each, the kernel waits about 40 ms
 * until no probe runs any more, and several threads can wait at the same time.
 */
struct closing;

/* Returns 0 or -ENOMEM. */
int closing_new(struct closing **closing);

/* Takes over a descriptor. Where there is no memory or thread to be had, it is closed at once. */
void closing_add(struct closing *closing, int fd);

/* Returns when all are closed. */
void closing_wait(struct closing *closing);

/* The same. */
void closing_free(struct closing *closing);

#endif
