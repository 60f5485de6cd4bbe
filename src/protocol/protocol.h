/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTOCOL_PROTOCOL_H
#define PROTOCOL_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "film/film.h"
#include "film/roles.h"

/*
 * Finds requests and answers in what a connection moves. What is read is copies of beginnings: each
 * piece says how many bytes were moved, and has some or all of them. All pieces are hostile: they
 * are parsed with bounds, and what does not fit is counted, never guessed.
 *
 * To add a protocol: a file with a struct protocol, and a row in protocols.c.
 */

/* What one call moved in one direction. */
struct piece {
	const uint8_t *data;
	uint32_t copied, length; /* bytes that are there, of those that were moved */
	const uint8_t *tail; /* the last PIECE_TAIL bytes, where not all is there; may be null */
};
#define PIECE_TAIL 8

/* The directions of a connection, as its client and its server have it. */
enum side {
	SIDE_REQUESTS,
	SIDE_ANSWERS,
	SIDES,
	SIDE_EITHER, /* both send such pieces, and nothing is lost without them */
};

enum {
	PROTOCOL_ENDPOINT_MAX = 256, /* bytes of an endpoint with its terminating zero */
	PROTOCOL_HEAD_MAX = 8192,    /* of a head that comes in several pieces */
};

/* What a request's head says. Texts are terminated; no control character is in them. */
struct protocol_request {
	char endpoint[PROTOCOL_ENDPOINT_MAX];
	char path[FILM_REQUEST_PATH + 1], id[FILM_REQUEST_ID + 1];
	uint8_t id_kind;  /* enum film_request_id_kind */
	uint8_t protocol; /* enum film_protocol, if not the connection's; else 0 */
	uint32_t flags;	  /* FILM_REQUEST_PATH_CUT, FILM_REQUEST_ID_CUT */
	/* of what a proxy passes on as it is: equal, if the client's part is; 0: not known */
	uint64_t says;
};

/* What an answer says of how it went. */
struct protocol_answer {
	uint32_t status;
	bool failed;
	uint8_t protocol; /* enum film_protocol, if not the request's; else 0 */
};

/* What could not be understood, and how often. */
struct protocol_losses {
	uint64_t strange;    /* messages that are not what the protocol has */
	uint64_t long_heads; /* heads of which the end was not there */
	uint64_t unseen;     /* messages that began within a piece, behind what was copied */
	uint64_t no_path;    /* requests whose path was sent before the recording, or lost */
};

/*
 * Where it tells what it has found. All are of the piece that is given just then. Where answers
 * come in any order, it tells the number of the stream first, which is not 0: what it tells then
 * is of the request with that number, else of the oldest one without an answer.
 */
struct protocol_sink {
	void (*stream)(void *context, uint32_t number);
	/* the oldest request without an answer is one of HTTP/2 from now on, of that stream */
	void (*upgraded)(void *context, uint32_t number);
	void (*request)(void *context, const struct protocol_request *request);
	/* bytes of the request that was reported last */
	void (*sent)(void *context, uint64_t bytes);
	/* the first bytes of the answer to the oldest request without one */
	void (*answer)(void *context, const struct protocol_answer *answer);
	/* it says that the request failed */
	void (*failed)(void *context);
	/* its status, which the end of the answer says, and what protocol's it is */
	void (*status)(void *context, uint32_t status, enum film_protocol protocol);
	/* more of that answer */
	void (*answered)(void *context, uint64_t bytes);
	/* it is complete. sure: where it ends was known */
	void (*done)(void *context, bool sure);
	void *context;
	struct protocol_losses *losses;
	bool keep_query; /* values in addresses are kept in a request's path */
};

struct protocol {
	enum film_protocol id;
	uint8_t kernel; /* what the kernel calls it: enum requests_protocol of the ABI */
	size_t size;	/* of what it knows of a connection; all zero is a new one */
	/*
	 * Which side a piece is of, if it is the first that is seen: SIDES: it cannot be said.
	 */
	enum side (*side_of)(const struct piece *piece);
	void (*parse)(void *state, enum side side, const struct piece *piece,
		      const struct protocol_sink *sink);
	/* The server will send nothing more. */
	void (*ended)(void *state, const struct protocol_sink *sink); /* may be null */
	void (*free)(void *state);				      /* may be null */
	/* what its endpoints mean: the film gets it; null: nothing */
	const struct film_role_row *roles;
};

/* The one that the kernel calls so; null: none. */
const struct protocol *protocol_of_kernel(uint8_t number);

/* -- what several of them need ----------------------------------------------------------------- */

/*
 * Puts a path into an endpoint: without its query, and with a star for what looks like a number,
 * an id or a secret. Returns the new length.
 */
size_t protocol_put_path(char *to, size_t size, size_t length, const char *path, size_t bytes);

/* The same of a key of a store: "user:12", "user12". */
size_t protocol_put_key(char *to, size_t size, size_t length, const char *key, size_t bytes);

/*
 * Copies the target of a request without secrets: values of its query, unless keep_query, and long
 * random parts of its path become stars. False: it was cut.
 */
bool protocol_put_target(char *to, size_t size, const char *target, size_t bytes, bool keep_query);

/* Whether a word is like a secret: long, and not like words that people choose. */
bool protocol_is_random(const char *word, size_t length);

/* Makes stars of such words of a text, between these characters. */
void protocol_hide_random(char *text, const char *separators);

/* Copies a text of that many bytes, without control characters. False: it was cut. */
bool protocol_put_text(char *to, size_t size, const void *text, size_t bytes);

/* SQL without the values in it: "SELECT * FROM t WHERE a = ?". */
void protocol_put_sql(char *to, size_t size, const char *sql, size_t bytes);

/* The same, of a dialect with these quotes around texts. */
void protocol_put_sql_of(char *to, size_t size, const char *sql, size_t bytes, const char *quotes);

#endif
