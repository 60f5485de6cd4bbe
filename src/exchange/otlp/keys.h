/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXCHANGE_OTLP_KEYS_H
#define EXCHANGE_OTLP_KEYS_H

#include "film/film.h"

/*
 * Attributes of a profile of OTLP that only stackcam knows, for what sends and what takes in: how
 * much the host lost, in all, of the profile's event and of none; and, with "." and its words
 * behind, of each reason.
 */
#define OTLP_LOST	      "stackcam.host.lost"
#define OTLP_LOST_OF_NO_EVENT "stackcam.host.lost_of_no_event"

/* Attributes of a location and of a mapping, by the semantic conventions of OpenTelemetry. */
#define OTLP_FRAME_TYPE "profile.frame.type"
#define OTLP_BUILD_ID	"process.executable.build_id.gnu"

/* The value of OTLP_FRAME_TYPE for a kind of frame; null: there is no word for it. */
const char *otlp_frame_type(enum film_frame_kind kind);

/* The kind that a value stands for; 0: that is not known. */
enum film_frame_kind otlp_frame_kind(const char *type);

#endif
