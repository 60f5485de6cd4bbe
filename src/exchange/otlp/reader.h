/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXCHANGE_OTLP_READER_H
#define EXCHANGE_OTLP_READER_H

#include "exchange/import.h"

/*
 * Reads an ExportProfilesServiceRequest of OTLP, the protocol of OpenTelemetry, and makes films of
 * it: one for the profiles of each host with the same labels. Field numbers are those of
 * github.com/open-telemetry/opentelemetry-proto/opentelemetry/proto/profiles/v1development/profiles.proto
 * as of version 1.9 to 1.11; the format is not stable yet, and nothing else of stackcam knows it.
 */
struct otlp_reader;

/*
 * Looks at the whole profile. size bytes at body must live until otlp_reader_free(). Returns 0, or
 * -EBADMSG, -E2BIG or -ENOMEM with *why filled.
 */
int otlp_reader_open(const uint8_t *body, size_t size, struct otlp_reader **request,
		     struct fail *why);
void otlp_reader_free(struct otlp_reader *request); /* null is allowed */

/* Whose profiles are in it, each origin once. */
size_t otlp_reader_count(const struct otlp_reader *request);
const struct import_origin *otlp_reader_origin(const struct otlp_reader *request, size_t i);

/* The time of the profiles of an origin; what they do not say stays. */
void otlp_reader_span(const struct otlp_reader *request, size_t i, struct import_span *span);

/* Emits their samples to a film. Returns 0, or -EBADMSG or -ENOMEM with *why filled. */
int otlp_reader_import(struct otlp_reader *request, size_t i, struct import *film,
		       struct fail *why);

#endif
