/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_ARRIVALS_H
#define RECORD_ARRIVALS_H

#include <stdint.h>

#include "base/fail.h"
#include "attach/holds.h"
#include "process/image.h"
#include "process/select.h"
#include "process/targets.h"

/*
 * Programs that targets execute while sources probe their files, and libraries that they map. The
 * first chance to set their probes is while they are held (attach/holds.h): then no call is
 * missed. A file that is seen in the events of a process alone has run already, for as long as it
 * took: that is a loss, and told as one.
 */
struct arrivals;

struct probes;
struct samples;
struct source;
struct sources;

struct arrivals_parts {
	struct probes *probes; /* loaded */
	struct samples *samples;
	struct sources *sources; /* started */
	const struct selection *selection;
};

/* From here on programs are held. */
int arrivals_new(const struct arrivals_parts *parts, struct arrivals **arrivals, struct fail *why);

/* Holds no more; what is not reported yet is. All of these may be called with null. */
void arrivals_stop(struct arrivals *arrivals);
void arrivals_free(struct arrivals *arrivals);

/*
 * Sets the probes of what is held now, and lets it go: to be called as soon and as often as
 * possible.
 */
void arrivals_take(struct arrivals *arrivals);

/*
 * The event that is given to samples next: images that it brings are of its process. Null: there is
 * none.
 */
void arrivals_event(struct arrivals *arrivals, const struct target_event *event);

/* A process maps an image, maybe one that is known: sources set their probes. */
void arrivals_image(struct arrivals *arrivals, pid_t pid, const struct image *image);

/* What was held so far. */
struct holds_counts arrivals_held(const struct arrivals *arrivals);

/* About once a second. */
void arrivals_tick(struct arrivals *arrivals, uint64_t now);

#endif
