/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_FLEET_CLIENT_H
#define STORE_FLEET_CLIENT_H

#include "base/buf.h"
#include "film/film.h"
#include "send/http.h"
#include "store/fleet/fleet.h"

enum {
	FLEET_URLS_MAX = 32,
	FLEET_DATABASE_MAX = 64,
	FLEET_CLUSTER_MAX = 64,
};

struct fleet {
	char *urls[FLEET_URLS_MAX];
	size_t url_count;
	atomic_uint good; /* the address that answered last */
	char database[FLEET_DATABASE_MAX + 1];
	char cluster[FLEET_CLUSTER_MAX + 1]; /* "": one server */
	char *ca;
	_Atomic uint64_t until, lost; /* as struct fleet_sent has them */
};

/* A connection, used by one thread. */
struct fleet_client {
	struct fleet *fleet;
	struct http *http;
};

/* stop: ends what is under way; may be null. Returns 0 or a negative errno with *why filled. */
int fleet_connect(struct fleet *fleet, const atomic_bool *stop, struct fleet_client *client,
		  struct fail *why);
void fleet_disconnect(struct fleet_client *client);

/*
 * Runs a statement. answer: what it says, in RowBinary; null: nothing is expected. -EIO with the
 * server's own words where it refuses.
 */
int fleet_run(struct fleet_client *client, const char *sql, struct buf *answer, struct fail *why);

/* The same with a statement that is freed. */
int fleet_run_once(struct fleet_client *client, struct buf *sql, struct buf *answer,
		   struct fail *why);
int fleet_not_understood(struct fail *why); /* -EBADMSG */

/* Inserts rows in RowBinary into a table; none: nothing is sent. */
int fleet_insert(struct fleet_client *client, const char *table, const struct buf *rows,
		 struct fail *why);

/* Of databases and tables, which may not be there yet. answer: may be null. */
int fleet_run_outside(struct fleet_client *client, const char *sql, struct buf *answer,
		      struct fail *why);

/* Appends a string of SQL, with its quotes. */
void fleet_quote(struct buf *sql, const char *text);

/* RowBinary. */
static inline void fleet_put_u64(struct buf *b, uint64_t value)
{
	for (int i = 0; i < 8; i++)
		buf_put_u8(b, (uint8_t)(value >> 8 * i));
}

static inline void fleet_put_u32(struct buf *b, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		buf_put_u8(b, (uint8_t)(value >> 8 * i));
}

void fleet_put_bytes(struct buf *b, const void *bytes, size_t count);
void fleet_put_text(struct buf *b, const char *text);

/* A string of an answer, to be freed; null: the answer is cut short, or no memory. */
char *fleet_read_text(struct bytes *b);
/* A build id of an answer into an image, whose other members stay. */
bool fleet_read_build(struct bytes *b, struct film_image *image);

#endif
