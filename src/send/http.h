/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEND_HTTP_H
#define SEND_HTTP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"

/*
 * A client that sends over HTTP: one connection, which is kept. Redirections are not followed, the
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

/* Appends a text as a value in a URL: letters and digits as they are, the rest as %41. */
void http_escape(struct buf *to, const char *text);

/* A URL as messages show it: from its host on, if it has a name and password. A part of user. */
const char *http_shown(const char *url);

/* Signs a request as AWS does (Signature Version 4). Strings stay the caller's. */
struct http_signer {
	const char *id, *secret;
	const char *region; /* "us-east-1" … */
};

/*
 * What is posted: bytes, or what read() gives piece by piece. With read(), a size of 0 means that
 * it is not known before the end.
 */
struct http_post {
	const char *url;
	const char *const *headers; /* "Name: value", null behind the last */
	/* null: POST; PUT has a body, too; GET, HEAD and DELETE have none */
	const char *method;
	const struct http_signer *signer; /* null: it is not signed */
	unsigned int seconds;		  /* that it may take; 0: as usual */
	const void *body;
	size_t size;
	/*
	 * Puts up to room bytes; 0: the end; negative: it cannot go on. To begin anew, rewind() is
	 * called.
	 */
	long (*read)(void *context, char *to, size_t room);
	int (*rewind)(void *context);
	/* The body of a reply with status 2xx, by pieces; false: it cannot go on. May be null. */
	bool (*write)(void *context, const char *from, size_t size);
	/* Each header of the reply, a line without its end. May be null. */
	void (*header)(void *context, const char *line);
	void *context; /* of all four */
};

struct http_reply {
	unsigned int status;  /* 200 … */
	uint64_t retry_after; /* ns that the server asks for; 0: it did not */
	char words[1024];     /* how its body begins, if write() does not get it … */
	size_t size;	      /* … in that many bytes */
};

/*
 * Sends, and waits for the reply. Returns 0 when there was one, with any status; else a negative
 * errno with *why filled: -ECANCELED, it was stopped.
 */
int http_post(struct http *http, const struct http_post *post, struct http_reply *reply,
	      struct fail *why);

#endif
