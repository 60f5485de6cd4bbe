/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXCHANGE_PYROSCOPE_READER_H
#define EXCHANGE_PYROSCOPE_READER_H

#include "exchange/import.h"

/*
 * Is called with each profile of a push, size bytes in the format of pprof, and with the origin
 * that its labels name. Returns 0, or a negative errno with *why filled, which ends the reading.
 */
typedef int pyroscope_profile_function(void *context, struct import_origin *origin,
				       const uint8_t *profile, size_t size, struct fail *why);

/*
 * Reads a push.v1.PushRequest of Pyroscope, whose labels and profiles are hostile. Returns 0,
 * -EBADMSG, -E2BIG (too many profiles), -ENOMEM or what emit() returned, with *why filled.
 */
int pyroscope_read_push(const uint8_t *body, size_t size, pyroscope_profile_function *emit,
			void *context, struct fail *why);

#endif
