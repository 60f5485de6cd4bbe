/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_REQUESTS_MARKER_H
#define SOURCES_REQUESTS_MARKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sources/requests/record.h"

/*
 * Requests that programs mark by lines to /dev/null (protocol/marker.h): each is one that is
 * served, of that id within its process, from where it is begun to where it is ended.
 *
 * The thread that begins it works for it, until it ends, or another thread begins it, too: then it
 * goes on there. A request that a thread makes is made for the one that it works for, if that is
 * one alone: several that are open on a thread, as in an event loop, are none, unless
 *
 *	- each is the parent of the next one, by parent=ID
 *	- the thread takes turns: it has begun one again that was open already; then the last one
 *	  counts that it began
 *
 * A request that came by a socket to the same thread is the parent of what the thread begins, if it
 * serves that one alone. In Go, goroutines stand for threads, and so do tasks of Python's event
 * loops. Bounded: a process that does not end what it begins gives its oldest up, which is written
 * as not over.
 */
struct requests_marker;
struct requests_track;

struct requests_marker_counts {
	uint64_t strange;  /* lines that are no markers */
	uint64_t unread;   /* writes that may have been some, and could not be read */
	uint64_t cut;	   /* lines whose end was not copied */
	uint64_t unbegun;  /* ends of requests that were not begun, or before the recording */
	uint64_t given_up; /* requests that were not ended, of which there were too many */
	uint64_t refused;  /* requests for which there was no room */
};

struct requests_marker *requests_marker_new(struct requests_track *track);
void requests_marker_free(struct requests_marker *marker); /* null is allowed */

/* A REQUESTS_MARKED of a process that is meant. */
void requests_marker_handle(struct requests_marker *marker, const struct requests_record *record);

/* The process has ended: what it has not ended is not over. now: ns. */
void requests_marker_process_ended(struct requests_marker *marker, pid_t pid, uint64_t now);

struct requests_marker_counts requests_marker_counts(const struct requests_marker *marker);

#endif
