/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_TRACE_LIST_H
#define CMD_TRACE_LIST_H

#include "sources/calls/plan.h"

/*
 * 'trace --list': prints what would be traced, at which cost, and what not, and why. Returns an
 * exit status.
 */
int trace_list(const struct plan_options *options);

#endif
