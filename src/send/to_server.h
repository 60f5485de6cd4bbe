/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEND_TO_SERVER_H
#define SEND_TO_SERVER_H

#include "send/http.h"
#include "send/sender.h"
#include "send/spool.h"

/*
 * Films go as they are to "stackcam serve" elsewhere: POST URL/api/v1/films, compressed by zstd on
 * their way, with the agent's id and the film's number, so that one that is sent twice is taken
 * once.
 */
struct to_server_options {
	const char *url;  /* "https://host:port" */
	const char *host; /* the name of this machine */
	const char *agent;
	/*
	 * Puts another header of a film, "Name: value", no line's end; called before the film is
	 * sent. Null: there is none.
	 */
	void (*header)(void *context, const struct spool_film *film, char *to, size_t size);
	void *context;
};

/* http stays the caller's, and must live as long as the destination. */
int to_server(const struct to_server_options *options, struct http *http,
	      struct destination *destination, struct fail *why);

#endif
