/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

/*
 * A store: films of many hosts in a folder, one per host and hour, and an index that answers fast.
 *
 *	DIR/films/HOST/2026-11-21/14.film	an hour (UTC) of a host; any verb reads it
 *	DIR/inbox/HOST/START_AGENT_NUMBER.film	what was sent and is not yet part of an hour's film
 *	DIR/aside/…				damaged films, kept for who wants to look at them
 *	DIR/cache/…				films that were read from a bucket
 *	DIR/index.db				sums by service and minute, made from the films
 *						(store/index.h)
 *
 * The films are the truth: an index that is lost or damaged is made again from them. Times in this
 * room are ns since 1970 unless said otherwise, as films of several machines meet here.
 *
 * All functions may be called from any thread.
 */
struct store;
struct identity;
struct fleet;

/* A film as a bucket has it (store/bucket.h). */
struct store_object {
	uint64_t bytes;
	char sha256[65]; /* in hexadecimal digits */
};

struct store_options {
	const char *path;   /* the folder; made if it is not there */
	uint64_t bytes_max; /* films go when all take more (store/retention.c); 0: no limit */
	uint64_t age_max;   /* ns; films that ended longer ago go; 0: no limit */
	const struct identity *identity; /* how services get their names; copied */
	/* ClickHouse with the sums of many collectors (store/fleet/fleet.h); null: none */
	const char *sums, *sums_cluster, *sums_ca;
	/*
	 * Is given a sentence about each file that is set aside, passed over or removed from
	 * aside/; may be null. Any thread.
	 */
	void (*log)(void *context, const char *words);
	/*
	 * Reads a film that only the bucket has into an empty file, and checks it; null: there is
	 * no bucket. Any thread. Those that were read are kept in DIR/cache, cache_max bytes of
	 * them.
	 */
	int (*fetch)(void *context, const char *name, const struct store_object *object, int fd,
		     struct fail *why);
	uint64_t cache_max;
	void *context;
};

/* Returns 0 or a negative errno with *why filled. An existing store answers at once. */
int store_open(const struct store_options *options, struct store **store, struct fail *why);

/*
 * A store of one film that stays where it is; nothing is written. For "stackcam play". Of one that
 * is being recorded, store_tick() takes what was added.
 */
int store_open_film(const char *film, struct store **store, struct fail *why);

void store_free(struct store *store); /* null is allowed */

/* The sums of many collectors, which answer questions about hours; null: there are none. */
struct fleet *store_fleet(const struct store *store);

/*
 * Where its films are: the folder, or, *is_film, the one that stays where it is. 0 or
 * -ENAMETOOLONG.
 */
int store_films_path(const struct store *store, bool *is_film, char *to, size_t size);

/* New limits and rules: for films that come from now on. */
int store_configure(struct store *store, const struct store_options *options, struct fail *why);

/*
 * The path where the recorder of this machine is to write the film that begins at that time; its
 * folders are made. Never that of a film that is there: the next one of the same hour is 14.2.film.
 */
int store_film_path(struct store *store, const char *host, uint64_t time, char *to, size_t size,
		    struct fail *why);

/*
 * The recorder of this machine has closed the film at that path, or will write none there: what is
 * there is all that there will be. From any thread.
 */
void store_film_done(struct store *store, const char *path);

/* The sender of a film: a film whose number is not above the agent's last one was taken before. */
struct store_sender {
	const char *host; /* as the sender calls itself: hostile */
	const char *
		/* what tells agents apart, 1 to 64 of [0-9A-Za-z-]; "" with number 0: no agent */
		agent;
	uint64_t number; /* rises with each film of the agent */
	uint64_t
		/*
		 * whose films of that host are from now on, such as the id of a token; 0: as before
		 */
		owner;
};

/* Whose the films of a host are. */
struct store_host {
	bool is_own;	/* they are recorded here */
	uint64_t owner; /* 0: no owner was given */
};
void store_host(struct store *store, const char *host, struct store_host *of);

/*
 * Adds a film, a file on the store's file system, which is moved in or, when it is damaged, is
 * removed. Safe on disk when it returns 0; *again: it was added before. -EBADMSG: it is not a film,
 * or a damaged one.
 */
int store_add_film(struct store *store, const char *path, const struct store_sender *sender,
		   bool *again, struct fail *why);

/*
 * What is to be done regularly, by one thread, about every ten seconds: brings the index up to date
 * with films that grow, merges what agents have sent, removes what is too old. Damaged films are
 * set aside, and counted.
 */
int store_tick(struct store *store, uint64_t now, struct fail *why);

/* By the same thread between two ticks: just brings the index up to date. */
int store_follow(struct store *store, struct fail *why);

struct store_status {
	uint64_t films, bytes; /* on disk, with the index */
	uint64_t first, last;  /* the time that they cover; 0: none */
	uint64_t hosts, series;
	uint64_t in_others; /* since the start: samples for which the index had no room */
	uint64_t set_aside; /* damaged films since the start */
	uint64_t
		/* films that a later version of stackcam wrote: they stay, and are not read */
		later;
	uint64_t taken, again; /* films of agents since the start */
	uint64_t removed;      /* by age and size since the start */
	uint64_t partial; /* since the start: answers that had no time to read all their films */
	bool has_sums;	  /* in ClickHouse; then what follows is as struct fleet_sent has it */
	uint64_t sums_until, sums_lost;
	/* films of the bucket (store/bucket.h), with their bytes, and how many are here, too */
	uint64_t bucket_films, bucket_bytes, bucket_here;
	uint64_t bucket_waiting; /* films that it is to get */
	/* since the start: local copies that made room; films that were read from it, or not */
	uint64_t bucket_released, bucket_fetched, bucket_unfetched;
	uint64_t behind; /* ns: until so long ago answers of the index have all that was filmed */
	bool is_full;	 /* the disk was full when last written to */
	/* of a store of one film, when it was last looked at: it is being recorded, */
	bool is_growing;
	bool is_cut_off;  /* or its recorder did not come to its end */
	bool has_devices; /* films have what streams of devices ran (store/devices.h) */
};
/*
 * Waits for no reader, and for milliseconds at most for those who move films: then it is as it was
 * when it was asked for before.
 */
void store_status(struct store *store, struct store_status *status);

/*
 * The events that films were seen to have, at most max, each name once; as above. The strings live
 * as long as the store.
 */
enum {
	STORE_EVENTS_MAX = 255 /* as many as an index has */
};
struct store_event {
	const char *name, *unit;
};
size_t store_events(struct store *store, struct store_event *events, size_t max);

#endif
