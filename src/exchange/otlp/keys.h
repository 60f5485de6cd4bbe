/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXCHANGE_OTLP_KEYS_H
#define EXCHANGE_OTLP_KEYS_H

/*
 * Attributes of a profile of OTLP that only stackcam knows, for what sends and what takes in: how
 * much the host lost, in all, of the profile's event and of none; and, with "." and its words
 * behind, of each reason.
 */
#define OTLP_LOST	      "stackcam.host.lost"
#define OTLP_LOST_OF_NO_EVENT "stackcam.host.lost_of_no_event"

#endif
