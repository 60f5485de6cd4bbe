// SPDX-License-Identifier: Apache-2.0
#include "server/quota.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"

#define HOUR_NS	  3600000000000.0
#define MINUTE_NS 60000000000.0

enum {
	ACCOUNTS = 16384
};

/* What is left to a sender; below 0 after one that was larger than that. */
struct account {
	double bytes, films;
	uint64_t since;	  /* when that was so */
	double questions; /* that are left, as of `asked` */
	uint64_t asked;	  /* 0: it has not asked yet */
};

struct quota {
	pthread_mutex_t lock;
	struct quota_limits limits;
	struct map by_sender; /* the place in accounts */
	vec(struct account) accounts;
};

struct quota *quota_new(const struct quota_limits *limits)
{
	struct quota *quota = calloc(1, sizeof(*quota));

	if (!quota)
		return NULL;
	pthread_mutex_init(&quota->lock, NULL);
	quota->limits = *limits;
	return quota;
}

void quota_free(struct quota *quota)
{
	if (!quota)
		return;
	map_free(&quota->by_sender);
	vec_free(&quota->accounts);
	pthread_mutex_destroy(&quota->lock);
	free(quota);
}

void quota_configure(struct quota *quota, const struct quota_limits *limits)
{
	pthread_mutex_lock(&quota->lock);
	quota->limits = *limits;
	pthread_mutex_unlock(&quota->lock);
}

/* What is there of one kind after some hours, or minutes: never more than is for one of them. */
static double refilled(double left, uint64_t limit, double times)
{
	left += times * (double)limit;
	return left < (double)limit ? left : (double)limit;
}

/*
 * With the lock held: the account as it is now; null: no memory. Senders beyond very many share
 * one.
 */
static struct account *account_of(struct quota *q, uint64_t sender, uint64_t now)
{
	const uint64_t *place = map_get(&q->by_sender, sender);
	struct account *a, fresh = {(double)q->limits.bytes, (double)q->limits.films, now, 0, 0};
	double hours;

	if (!place && q->accounts.count >= ACCOUNTS) {
		sender = 0;
		place = map_get(&q->by_sender, sender);
	}
	if (!place) {
		if (!vec_push(&q->accounts, fresh))
			return NULL;
		if (map_put(&q->by_sender, sender, q->accounts.count - 1))
			return vec_last(&q->accounts);
		q->accounts.count--;
		return NULL;
	}
	a = &q->accounts.at[*place];
	hours = now > a->since ? (double)(now - a->since) / HOUR_NS : 0;
	a->bytes = refilled(a->bytes, q->limits.bytes, hours);
	a->films = refilled(a->films, q->limits.films, hours);
	a->since = now;
	return a;
}

/* Until there is one of them left again. */
static double debt_ns(double left, uint64_t limit)
{
	return limit && left < 1 ? (1 - left) / (double)limit * HOUR_NS : 0;
}

uint64_t quota_wait(struct quota *q, uint64_t sender, uint64_t now)
{
	struct account *a;
	double bytes = 0, films = 0;

	pthread_mutex_lock(&q->lock);
	a = account_of(q, sender, now);
	if (a) {
		bytes = debt_ns(a->bytes, q->limits.bytes);
		films = debt_ns(a->films, q->limits.films);
	}
	pthread_mutex_unlock(&q->lock);
	return (uint64_t)(bytes > films ? bytes : films);
}

uint64_t quota_ask(struct quota *q, uint64_t sender, uint32_t a_minute, uint64_t now)
{
	uint64_t wait = 0;
	struct account *a;
	double left;

	pthread_mutex_lock(&q->lock);
	a = account_of(q, sender, now);
	if (a) {
		left = a->asked ? refilled(a->questions, a_minute,
					   (double)(now - a->asked) / MINUTE_NS)
				: a_minute;
		a->asked = now;
		a->questions = left;
		if (left >= 1)
			a->questions--;
		else
			wait = (uint64_t)((1 - left) / a_minute * MINUTE_NS) + 1;
	}
	pthread_mutex_unlock(&q->lock);
	return wait;
}

void quota_charge(struct quota *q, uint64_t sender, uint64_t bytes, uint64_t now)
{
	struct account *a;

	pthread_mutex_lock(&q->lock);
	a = account_of(q, sender, now);
	if (a) {
		a->bytes -= (double)bytes;
		a->films -= 1;
	}
	pthread_mutex_unlock(&q->lock);
}
