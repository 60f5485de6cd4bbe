/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXCHANGE_OTLP_WRITER_H
#define EXCHANGE_OTLP_WRITER_H

#include "base/buf.h"
#include "exchange/gather.h"

/*
 * Writes what was gathered of a film, by container, as an ExportProfilesServiceRequest of OTLP.
 * Field numbers are those of
 * github.com/open-telemetry/opentelemetry-proto/opentelemetry/proto/profiles/v1development/profiles.proto
 * as of version 1.9 to 1.11; the format is not stable yet, and nothing else of this room knows it.
 * id: what tells profiles of this film from all others. Nothing is written where there is neither a
 * sample nor a loss; to must be empty. Returns 0 or -ENOMEM.
 *
 * What the host lost is in attributes of each profile, whose keys exchange/otlp/keys.h has.
 */
int otlp_write(const struct gathered *gathered, uint64_t id, struct buf *to);

/*
 * How many profiles the receiver refused, by the begin of its reply: ExportProfilesServiceResponse.
 */
uint64_t otlp_refused(const void *reply, size_t size);

#endif
