/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTOCOL_HTTP_HEAD_H
#define PROTOCOL_HTTP_HEAD_H

#include "protocol/protocol.h"

/* A message's head of HTTP/1, as RFC 9112 has it. */
enum http_length {
	HTTP_NONE,	 /* nothing follows it */
	HTTP_COUNTED,	 /* as many bytes as the head says */
	HTTP_CHUNKED,	 /* chunks */
	HTTP_UNTIL_CLOSE /* all until the connection ends */
};

struct http_head {
	bool is_request;
	bool is_head; /* the method: its answer has no body */
	bool is_connect;
	bool is_h2c; /* an answer that goes over to HTTP/2 (RFC 7540, 3.2) */
	uint32_t status;
	enum http_length length;
	uint64_t count;
	struct protocol_request request;
};

/* Whether a message may begin with this: a method and a blank, or a version. */
bool http_begins(const uint8_t *data, size_t size, bool *is_request);

/*
 * Where the head ends, behind its empty line; 0: it does not end there.
 */
size_t http_head_end(const uint8_t *data, size_t size);

/* Reads a head of that many bytes, maybe cut. False: it is none. keep_query: as of the sink. */
bool http_head_read(const uint8_t *data, size_t size, bool keep_query, struct http_head *head);

/* Keeps the id of a header that carries one, if the request has none that says more. */
void http_parse_id(struct protocol_request *request, const char *name, size_t name_size,
		   const char *value, size_t value_size);

/*
 * What a request says by a header (struct protocol_request, says): of those that the client alone
 * chooses, and proxies leave as they are.
 */
void http_say_header(struct protocol_request *request, const char *name, size_t name_size,
		     const char *value, size_t value_size);

/* The path and the endpoint of a request for a target, of a method that is short. */
void http_put_target(struct protocol_request *request, const char *method, const char *target,
		     size_t size, bool keep_query);

#endif
