/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEND_SENDER_H
#define SEND_SENDER_H

#include <stdatomic.h>

#include "base/fail.h"
#include "send/http.h"
#include "send/spool.h"

/*
 * Where films go: a server of stackcam's own, or one of others. Its functions are called by one
 * thread.
 */
enum sent {
	SENT,	    /* the film is there */
	SENT_BUT,   /* the same, but for what *why tells */
	SENT_LATER, /* not now: to be tried again after a while */
	/* the same, but the server may have it: no other may get it until this one answers */
	SENT_DOUBT,
	/* the same, and those behind it need not wait: *retry_after says when to try it again */
	SENT_HELD,
	/* not as things are: a user must act; to be tried again after a longer while */
	SENT_REFUSED,
	SENT_USELESS, /* never: this film is of no use there */
	/* the film is not there any more: it made room for others, or a user removed it */
	SENT_GONE,
};
struct destination {
	/*
	 * *why is filled if it is neither SENT, SENT_HELD nor SENT_GONE; *retry_after (ns) is set
	 * if the server asks for some time.
	 */
	enum sent (*send)(void *self, const struct spool_film *film, uint64_t *retry_after,
			  struct fail *why);
	void (*free)(void *self);
	void *self;
};

/*
 * Whether a server of stackcam may have kept what it did not confirm: by its status, as 503, 507
 * and those of 4xx say that it has not.
 */
bool sent_is_doubtful(unsigned int status);

/* What the reply of a server means for what was sent; fills *why if it is not SENT. */
enum sent sent_by_reply(const char *url, const struct http_reply *reply, struct fail *why);

/* The same for a film that could not be read or packed, by the errno of that. */
enum sent sent_by_error(int err);

/* A thread that takes films from a spool to a destination, in order. */
struct sender;
struct sender_options {
	struct spool *spool;
	struct destination destination; /* the caller's, until sender_stop() has returned */
	atomic_bool *stop; /* the caller's: sender_stop() sets it, http_new() takes it */
	/*
	 * Sending does not work; told once until it works again, or another reason stands in the
	 * way.
	 */
	void (*trouble)(void *context, const struct fail *why);
	/* It works, after there was trouble; films: how many wait. */
	void (*works)(void *context, uint64_t films);
	/* The film was sent, but for what *why tells. */
	void (*almost)(void *context, const struct fail *why);
	/* The film was set aside. */
	void (*useless)(void *context, const struct spool_film *film, const struct fail *why);
	void *context; /* all four are called by the thread */
};
int sender_start(const struct sender_options *options, struct sender **sender, struct fail *why);

/*
 * Sends what waits, for at most that long (ns) and as long as it works, and ends the thread. Null
 * is allowed.
 */
void sender_stop(struct sender *sender, uint64_t patience);

#endif
