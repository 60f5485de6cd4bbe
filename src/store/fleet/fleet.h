/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_FLEET_H
#define STORE_FLEET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

/*
 * Sums of many collectors in ClickHouse, spoken to over HTTP. Each collector copies what its index
 * knows of whole hours there (export.c), and answers questions about hours from there, over all
 * collectors (answer.c). Films stay where they are.
 *
 *	functions, stacks, fn_stacks	what frames and stacks are, and which stacks have a function
 *	names				what places are called, by who got their names later
 *	sums_hour			values by hour, service, event, stack and collector
 *	series_minute			sums by minute and series, without stacks
 *	filmed_hour, lost_hour		when hosts were filmed; what was lost
 *	collectors			until when each collector has sent all that it has
 *
 * A row is the whole of its hour or minute, as its collector knows it, with the number of the batch
 * that it came in: a later batch replaces it (ReplacingMergeTree). So a batch that is sent twice
 * counts once, on any engine, and nothing but the list of what was sent is kept until ClickHouse
 * confirms it.
 *
 * The SQL is what ClickHouse 18.16 and 26.7 both take.
 */
struct fleet;

#define FLEET_SCHEMA_VERSION 1

struct fleet_options {
	/* "http://a:8123,http://b:8123/DATABASE": several addresses of the same tables */
	const char *urls;
	/* the name of the cluster whose servers these are; null: one server has the tables */
	const char *cluster;
	const char *ca; /* file in PEM of who signs their certificates; null: the system's */
};

/* Whether urls is well-formed: 0, or -EINVAL with *why filled. Nothing is sent. */
int fleet_check_urls(const char *urls, struct fail *why);

/* The same of the name of a cluster. */
int fleet_check_cluster(const char *name, struct fail *why);

/* Strings are copied. Nothing is sent. Returns 0 or a negative errno with *why filled. */
int fleet_new(const struct fleet_options *options, struct fleet **fleet, struct fail *why);
void fleet_free(struct fleet *fleet); /* null is allowed */

/* What the own collector has sent; from any thread. */
struct fleet_sent {
	uint64_t until; /* ns since 1970: until then ClickHouse has everything; 0: not yet */
	uint64_t lost;	/* samples whose films were removed before ClickHouse had their sums */
};
struct fleet_sent fleet_sent(const struct fleet *fleet);

/*
 * What a user's own server says to each statement that stackcam sends, in a database that is made
 * for that and dropped at the end. line() is called with what was tried, and why it failed or null.
 * Returns how many failed, or a negative errno with *why filled.
 */
int fleet_try(struct fleet *fleet,
	      void (*line)(void *context, const char *what, const struct fail *failed),
	      void *context, struct fail *why);

#endif
