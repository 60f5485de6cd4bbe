/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_FEATURE_PROGRAMS_H
#define RECORD_FEATURE_PROGRAMS_H

#include "attach/feature.h"

/* For features_probe(): loads the programs of all that can be recorded, once. */
feature_try feature_try_programs;

#endif
