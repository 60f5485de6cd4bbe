/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_REQUESTS_MARKER_PROBES_H
#define SOURCES_REQUESTS_MARKER_PROBES_H

#include <stdint.h>

#include "sources/source.h"

struct probes;

enum requests_markers {
	MARKERS_NEVER,
	MARKERS_FREE,	/* where other system calls cost nothing more */
	MARKERS_ALWAYS, /* else as each of them ends */
};

/*
 * Before programs are loaded: leaves out those by which markers are not to be seen. where: the
 * value of --markers (enum requests_markers).
 */
void requests_marker_prepare(struct probes *probes, uint64_t where);

/* Behind that: says where markers would be seen, but not by default. */
void requests_marker_say(const struct source_host *host, uint64_t where);

#endif
