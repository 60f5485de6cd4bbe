/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEND_HTTP_H
#define SEND_HTTP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

/*
 * A client that posts over HTTP: one connection, which is kept. Redirections are not followed, the
 * certificate of the server is checked, and nothing may take for ever. Used by one thread.
 */
struct http;

struct http_options {
	const char *ca; /* file in PEM of who signs the server's certificate; null: the system's */
	const char *certificate, *key; /* of the client, files in PEM; null: none */
	const char *token_file;	       /* its first token that allows to send; null: none */
	const atomic_bool *stop;       /* ends what is under way; null: nothing does */
};

/* Strings are copied. Returns 0 or a negative errno with *why filled. */
int http_new(const struct http_options *options, struct http **http, struct fail *why);
void http_free(struct http *http); /* null is allowed */

/*
 * Whether no third party can read what is sent there, or it does not leave the machine: https, or
 * this machine. Returns 0, or -EINVAL with *why filled.
 */
int http_check_url(const char *url, bool has_token, struct fail *why);

/* Whether a URL leads to this machine by its loopback address. */
bool http_is_local(const char *url);

/*
 * How many bytes of a text at *user are the name and password that a URL in it has, with the '@'
 * behind them: what no message may show. 0: it has none, and *user is its end.
 */
size_t http_user(const char *text, const char **user);

/* A URL as messages show it: from its host on, if it has a name and password. A part of user. */
const char *http_shown(const char *url);

/* What is posted: bytes, or what read() gives piece by piece. */
struct http_post {
	const char *url;
	const char *const *headers; /* "Name: value", null behind the last */
	const void *body;
	size_t size;
	/*
	 * Puts up to room bytes; 0: the end; negative: it cannot go on. To begin anew, rewind() is
	 * called.
	 */
	long (*read)(void *context, char *to, size_t room);
	int (*rewind)(void *context);
	void *context;
};

struct http_reply {
	unsigned int status;  /* 200 … */
	uint64_t retry_after; /* ns that the server asks for; 0: it did not */
	char words[256];      /* how its body begins … */
	size_t size;	      /* … in that many bytes */
};

/*
 * Posts, and waits for the reply. Returns 0 when there was one, with any status; else a negative
 * errno with *why filled: -ECANCELED, it was stopped.
 */
int http_post(struct http *http, const struct http_post *post, struct http_reply *reply,
	      struct fail *why);

#endif
