/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_REQUESTS_PASSED_H
#define SOURCES_REQUESTS_PASSED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * For which request a proxy makes another one, by what both say: a proxy passes on what it was
 * asked for, with the headers that a client alone chooses (struct protocol_request, says). Its
 * threads and their order say less where requests wait in its queue, where another thread asks
 * for them, or where it sends only once the kernel says that it may.
 *
 * Of a request that is made, it is the one that says the same: if the process serves just one that
 * does, and has made none for it yet. If several do, the way back tells: when the first piece of
 * the answer to one of them is sent, just one of those made for them has an answer that was not
 * passed on, with the same status.
 *
 * By chance a program may ask others for what it is just asked for itself, too. So a process is
 * believed only while 19 of 20 of the requests that it makes say what one says that it serves, of
 * 20 at least. And the one that is served must not have been answered before the other one was.
 *
 * says: of requests that say the same; 0: it is not known what they say.
 */
struct requests_passed;

/* A request that was made, and was kept, is for that one (0: not known); kept is the caller's. */
typedef void requests_passed_release(void *context, void *kept, uint64_t parent);

struct requests_passed *requests_passed_new(requests_passed_release *release, void *context);
void requests_passed_free(struct requests_passed *passed);

/* A request is served; later it is over. */
void requests_passed_asked(struct requests_passed *passed, pid_t pid, uint64_t says,
			   uint64_t number, uint64_t time);
void requests_passed_served(struct requests_passed *passed, uint64_t number, uint64_t time);

/*
 * The process makes one. known: the request that it is for, if that is sure already; 0: it is not.
 * Returns whether it may yet turn out which one.
 */
bool requests_passed_made(struct requests_passed *passed, pid_t pid, uint64_t says, uint64_t number,
			  uint64_t known, uint64_t time);

/* What the answer to one says, of either kind, whose first piece that was. */
void requests_passed_answered(struct requests_passed *passed, uint64_t number, uint32_t status,
			      uint64_t time);

/*
 * One that was made is over: whether kept is kept until it is known for which one it was made.
 * kept: null, if that is known by something else.
 */
bool requests_passed_over(struct requests_passed *passed, uint64_t number, void *kept);

/* About once a second: releases those that are over since the one before. */
void requests_passed_tick(struct requests_passed *passed);
/* Releases all that is kept: their film ends. */
void requests_passed_flush(struct requests_passed *passed);

#endif
