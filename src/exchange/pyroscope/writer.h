/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXCHANGE_PYROSCOPE_WRITER_H
#define EXCHANGE_PYROSCOPE_WRITER_H

#include "base/buf.h"
#include "exchange/gather.h"

/* What stands around a profile of pprof that is pushed to Pyroscope. Failures are kept in to. */

/* The parameter name of /ingest: "SERVICE{hostname=HOST,KEY=VALUE…}", not yet escaped for a URL. */
void pyroscope_put_name(struct buf *to, const struct gathered *gathered, const char *service);

/*
 * A RawProfileSeries of push.v1.PushRequest: the labels of a part, and one sample, which is its
 * profile of that many bytes.
 */
void pyroscope_put_series(struct buf *to, const struct gathered *gathered,
			  const struct gathered_part *part, const char *profile, size_t size);

#endif
