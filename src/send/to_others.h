/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEND_TO_OTHERS_H
#define SEND_TO_OTHERS_H

#include "exchange/gather.h"
#include "send/http.h"
#include "send/sender.h"

/*
 * Destinations that do not know films: each film is summed up, and sent as profiles of its
 * services.
 */
struct to_others_options {
	const char *where; /* a URL, or a folder */
	service_function *service_of;
	void *context;	   /* of service_of */
	struct http *http; /* the caller's, as long as the destination lives; null for a folder */
	uint64_t limit;	   /* bytes that the files in the folder may take */
};

/*
 * Pyroscope: POST URL/ingest, a profile of a service at a time, or many of them by
 * push.v1.PusherService/Push. A profile that was sent is not sent again when a later one of the
 * same film has to be. Pyroscope throws profiles without samples away (its pull request 2580): an
 * event of which nothing but losses is left is SENT_BUT.
 */
int to_pyroscope(const struct to_others_options *options, bool push,
		 struct destination *destination, struct fail *why);

/*
 * OTLP over HTTP: POST URL/v1development/profiles, or the path that the URL has; all services in
 * one message.
 */
int to_otlp(const struct to_others_options *options, struct destination *destination,
	    struct fail *why);

/*
 * Files for "go tool pprof": DIR/SERVICE/TIME.EVENT.pb.gz, the time as 20261121T143000.000Z. An
 * event of which nothing but losses is left has one without samples, in DIR/lost. The oldest go
 * when all take more than the limit.
 */
int to_pprof_folder(const struct to_others_options *options, struct destination *destination,
		    struct fail *why);

#endif
