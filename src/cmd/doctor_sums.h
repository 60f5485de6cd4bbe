/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_DOCTOR_SUMS_H
#define CMD_DOCTOR_SUMS_H

#include <stdbool.h>

#include "store/fleet/fleet.h"

/*
 * Runs each statement of "serve --sums" against a ClickHouse, in a database of its own that is
 * dropped at the end, and prints what fails. Returns an exit status.
 */
int doctor_sums(const struct fleet_options *options, bool as_json);

#endif
