/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEND_BUCKET_H
#define SEND_BUCKET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

/*
 * A client of object storage that has the API of S3: puts, gets, lists and deletes objects of one
 * bucket, all below one prefix. Requests are signed (AWS Signature Version 4). An object is sent
 * and read whole. Used by one thread.
 *
 *	s3://BUCKET@HOST[:PORT][/PREFIX]	by HTTPS
 *	s3+http://BUCKET@HOST[:PORT][/PREFIX]	without TLS: objects can be read on the way
 *
 * All functions return 0 or a negative errno with *why filled:
 *
 *	-EAGAIN	   not now: the server is busy or away; to be tried again after a while
 *	-ECANCELED bucket_options.stop was set
 *	-EACCES	   the keys, the region or their rights are wrong
 *	-ENXIO	   there is no such bucket
 *	-ENOENT	   there is no such object
 *	-EBADMSG   what arrived is not what was sent; bucket_put() has not confirmed it then
 *	others	   of the file at hand, such as -ENOSPC, and -EIO
 */
struct bucket;

struct bucket_options {
	const char *address;
	/*
	 * A file of mode 0600 with lines such as AWS_ACCESS_KEY_ID=… and AWS_SECRET_ACCESS_KEY=…;
	 * null: the environment has variables of these names. AWS_SESSION_TOKEN and AWS_REGION may
	 * stand there, too.
	 */
	const char *key_file;
	const char *ca;		 /* as in struct http_options */
	const atomic_bool *stop; /* ends what is under way; null: nothing does */
};

/* Reads the keys. Strings are copied. */
int bucket_new(const struct bucket_options *options, struct bucket **bucket, struct fail *why);
void bucket_free(struct bucket *bucket); /* null is allowed */

/* Whether an address can be one of a bucket: 0 or -EINVAL. Asks no server. */
int bucket_check_address(const char *address, struct fail *why);

struct bucket_object {
	uint64_t size;
	char sha256[65]; /* of its bytes, in hexadecimal digits */
};

/* ns that the server asked for with its last -EAGAIN; 0: it did not. */
uint64_t bucket_retry_after(const struct bucket *bucket);

/*
 * Sends all of an open file, which may not be empty, and asks the server for the object's size and
 * checksum again: with 0 it has confirmed them. *object says what was sent.
 */
int bucket_put(struct bucket *bucket, const char *key, int fd, struct bucket_object *object,
	       struct fail *why);

/* Writes an object into an empty file; -EBADMSG: it is not the one that is expected. */
int bucket_get(struct bucket *bucket, const char *key, const struct bucket_object *expected, int fd,
	       struct fail *why);

/*
 * Calls each() with the keys that begin so, without the bucket's prefix, in their order; at most
 * BUCKET_LIST_MAX of them. A value other than 0 ends the list and is returned.
 */
enum {
	BUCKET_LIST_MAX = 1000
};
int bucket_list(struct bucket *bucket, const char *begin,
		int (*each)(void *context, const char *key), void *context, struct fail *why);

/* 0 also where there is none of that name. */
int bucket_delete(struct bucket *bucket, const char *key, struct fail *why);

#endif
