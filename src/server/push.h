/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_PUSH_H
#define SERVER_PUSH_H

#include "server/route.h"

/*
 * What other profilers push: profiles become films of the store. All bodies are in memory.
 *
 *	POST /ingest?name=APP{LABELS}&from=&until=&format=	Pyroscope: pprof, folded, lines
 *	POST /push.v1.PusherService/Push			Pyroscope's protobuf, as Connect has
 *								it
 *	POST /v1development/profiles				OTLP over HTTP, protobuf
 *
 * And spans, which the store keeps beside its films:
 *
 *	POST /v1/traces						OTLP over HTTP, protobuf or JSON
 */
int push_ingest(const struct http_request *request, struct answer *answer, struct fail *why);
int push_pusher(const struct http_request *request, struct answer *answer, struct fail *why);
int push_opentelemetry(const struct http_request *request, struct answer *answer, struct fail *why);
int push_traces(const struct http_request *request, struct answer *answer, struct fail *why);

#endif
