/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_PUSH_OTLP_H
#define SERVER_PUSH_OTLP_H

#include "server/push_film.h"

/*
 * Reads an ExportProfilesServiceRequest of OTLP, the protocol of OpenTelemetry, and makes films of
 * it: one for the profiles of each host with the same labels. Field numbers are those of
 * github.com/open-telemetry/opentelemetry-proto/opentelemetry/proto/profiles/v1development/profiles.proto
 * as of version 1.9 to 1.11; the format is not stable yet, and nothing else of stackcam knows it.
 */
struct push_otlp;

/*
 * Looks at the whole profile. size bytes at body must live until push_otlp_free(). Returns 0, or
 * -EBADMSG, -E2BIG or -ENOMEM with *why filled.
 */
int push_otlp_open(const uint8_t *body, size_t size, struct push_otlp **request, struct fail *why);
void push_otlp_free(struct push_otlp *request); /* null is allowed */

/* Whose profiles are in it, each origin once. */
size_t push_otlp_count(const struct push_otlp *request);
const struct push_origin *push_otlp_origin(const struct push_otlp *request, size_t i);

/* The time of the profiles of an origin; what they do not say stays. */
void push_otlp_span(const struct push_otlp *request, size_t i, struct push_span *span);

/* Gives their samples to a film. Returns 0, or -EBADMSG or -ENOMEM with *why filled. */
int push_otlp_give(struct push_otlp *request, size_t i, struct push_film *film, struct fail *why);

#endif
