/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAMERA_REQUESTS_MARKER_PROBES_H
#define CAMERA_REQUESTS_MARKER_PROBES_H

#include <stdint.h>

#include "camera/source.h"

struct probes;

/* --markers, and the one without a name that ends them. */
extern const struct source_option requests_marker_options[];

/*
 * Before programs are loaded: leaves out those by which markers are not to be seen. where: the
 * value of --markers.
 */
void requests_marker_prepare(struct probes *probes, uint64_t where);

#endif
