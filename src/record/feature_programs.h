/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_FEATURE_PROGRAMS_H
#define RECORD_FEATURE_PROGRAMS_H

#include "attach/feature.h"

/* For features_probe(): tries to load the programs of all sources. */
feature_try feature_try_programs;

#endif
