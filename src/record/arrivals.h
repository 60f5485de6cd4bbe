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
 * Attaches probes to programs that targets execute during a recording, and to libraries that they
 * map. If the kernel holds such a process (attach/holds.h), the probes are attached before the code
 * runs, and no call is missed. A file that the recorder only notices from a process event has
 * already run for some time: that is reported as a loss.
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

/* Starts to hold programs. parts is copied, and what it points to must outlive *arrivals. */
int arrivals_new(const struct arrivals_parts *parts, struct arrivals **arrivals, struct fail *why);

/*
 * Stops holding, and reports what is not reported yet. These and the following functions accept
 * null.
 */
void arrivals_stop(struct arrivals *arrivals);
void arrivals_free(struct arrivals *arrivals);

/*
 * Attaches the probes of all processes that are held, and releases them. Call it as soon and as
 * often as possible.
 */
void arrivals_handle(struct arrivals *arrivals);

/*
 * Sets the event that samples handle next: the images that they report belong to its process. Null:
 * none.
 */
void arrivals_event(struct arrivals *arrivals, const struct target_event *event);

/* A process maps an image, maybe a known one: lets the sources attach their probes. */
void arrivals_image(struct arrivals *arrivals, pid_t pid, const struct image *image);

/* Statistics of the holds so far. */
struct holds_counts arrivals_held(const struct arrivals *arrivals);

/* Call it about once a second. */
void arrivals_tick(struct arrivals *arrivals, uint64_t now);

#endif
