/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_CLOSING_H
#define ATTACH_CLOSING_H

/*
 * Closes descriptors of probes in background threads: for each, the kernel waits about 40 ms until
 * no probe runs any more, and several threads can wait at the same time.
 */
struct closing;

/* Returns 0 or -ENOMEM. */
int closing_new(struct closing **closing);

/* Takes ownership of a descriptor. Without memory or a thread it is closed at once. */
void closing_add(struct closing *closing, int fd);

/* Waits until all descriptors are closed. */
void closing_wait(struct closing *closing);

/* Waits likewise, and frees closing. */
void closing_free(struct closing *closing);

#endif
