// SPDX-License-Identifier: Apache-2.0
#include "server/watch.h"

#include <errno.h>
#include <linux/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/thread.h"

#define TICK_NS 100000000ull

struct watched {
	struct watched *next, *previous; /* in the order in which they came, the newest first */
	int socket;
	struct peer peer;    /* as messages name it */
	struct peer network; /* as it is counted */
	enum watch_state state;
	uint64_t since;
	bool is_known, is_ended;
	bool has_asked; /* a request came: its header is no longer that of a stranger who waits */
	uint64_t received; /* bytes, when it became idle */
	uint64_t head;	   /* when the first byte of a header was seen; 0: it was not */
	atomic_bool is_gone;
};

struct watch {
	struct watch_options options;
	pthread_mutex_t lock;
	pthread_cond_t changed; /* the first came, or it is to end */
	struct watched *first;
	uint32_t open, strangers; /* all that were not ended, and of these those */
	bool is_ending;
	pthread_t thread;
};

/* Bytes that came from the client so far, as the kernel counts them; 0: it does not say. */
static uint64_t received_by(int socket)
{
	struct tcp_info info = {0};
	socklen_t size = sizeof(info);

	if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) ||
	    size < offsetof(struct tcp_info, tcpi_bytes_received) + sizeof(uint64_t))
		return 0;
	return info.tcpi_bytes_received;
}

static bool is_stranger(const struct watched *w)
{
	return !w->is_known && !w->is_ended;
}

/* With the lock held. libmicrohttpd notices, and closes it. */
static void end(struct watch *watch, struct watched *w)
{
	if (w->is_ended)
		return;
	watch->open--;
	watch->strangers -= !w->is_known;
	w->is_ended = true;
	shutdown(w->socket, SHUT_RDWR);
}

/* With the lock held: whether it is silent for too long, or slow. */
static bool is_late(const struct watch *watch, struct watched *w, uint64_t now)
{
	if (w->state == WATCH_ANSWERING)
		return false;
	if (w->state != WATCH_IDLE)
		return now - w->since > watch->options.request_max;
	if (!w->head && received_by(w->socket) > w->received)
		w->head = now;
	if (w->head)
		return now - w->head > watch->options.head_max;
	/* between two requests libmicrohttpd's own limit counts */
	return !w->has_asked && now - w->since > watch->options.first_byte_max;
}

/*
 * A client that has closed its connection, or will send no more, waits for nothing: so servers see
 * it since there are any, as what closes and what merely ends its half looks the same until
 * something is sent.
 */
static void look_whether_gone(struct watched *w)
{
	struct pollfd fd = {.fd = w->socket, .events = POLLRDHUP};

	if (poll(&fd, 1, 0) > 0 && (fd.revents & (POLLRDHUP | POLLHUP | POLLERR)))
		atomic_store(&w->is_gone, true);
}

/* With the lock held. */
static void look_at_all(struct watch *watch)
{
	uint64_t now = clock_ns();

	for (struct watched *w = watch->first; w; w = w->next) {
		if (w->is_ended)
			continue;
		if (w->state == WATCH_ANSWERING)
			look_whether_gone(w);
		else if (now > w->since && is_late(watch, w, now))
			end(watch, w);
	}
}

static void *run(void *context)
{
	struct watch *watch = context;
	struct timespec until;

	pthread_setname_np(pthread_self(), "watch");
	pthread_mutex_lock(&watch->lock);
	while (!watch->is_ending) {
		if (!watch->first) {
			pthread_cond_wait(&watch->changed, &watch->lock);
			continue;
		}
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += TICK_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (pthread_cond_timedwait(&watch->changed, &watch->lock, &until) == ETIMEDOUT)
			look_at_all(watch);
	}
	pthread_mutex_unlock(&watch->lock);
	return NULL;
}

int watch_start(const struct watch_options *options, struct watch **to, struct fail *why)
{
	struct watch *watch = calloc(1, sizeof(*watch));
	pthread_condattr_t monotonic;
	int err;

	if (!watch)
		return fail_errno(why, -ENOMEM, NULL, "cannot start the server");
	watch->options = *options;
	pthread_mutex_init(&watch->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&watch->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	err = thread_spawn(&watch->thread, run, watch);
	if (err) {
		watch_free(watch);
		return fail_errno(why, err, NULL, "cannot start the server");
	}
	*to = watch;
	return 0;
}

void watch_stop(struct watch *watch)
{
	if (!watch)
		return;
	pthread_mutex_lock(&watch->lock);
	watch->is_ending = true;
	pthread_cond_signal(&watch->changed);
	pthread_mutex_unlock(&watch->lock);
	pthread_join(watch->thread, NULL);
}

void watch_free(struct watch *watch)
{
	if (!watch)
		return;
	while (watch->first)
		watch_remove(watch, watch->first);
	pthread_cond_destroy(&watch->changed);
	pthread_mutex_destroy(&watch->lock);
	free(watch);
}

/*
 * With the lock held: of those that have shown a token and ask for nothing, the one that asked
 * longest ago; null: none. Its client connects again when it has something to send.
 */
static struct watched *find_unused(struct watch *watch)
{
	struct watched *found = NULL;

	for (struct watched *w = watch->first; w; w = w->next) {
		if (w->is_known && !w->is_ended && w->state == WATCH_IDLE &&
		    (!found || w->since < found->since))
			found = w;
	}
	return found;
}

/*
 * With the lock held: ends one of the strangers where they are too many, before another comes. One
 * that waits for its answer, or takes it, is not ended, unless there is no other. Where all seats
 * are taken, one that is not used is ended.
 */
static void make_room(struct watch *watch, struct peer network)
{
	struct watched *of_all = NULL, *of_one = NULL, *unused;
	/* all of this machine have one address: no limit but that of all strangers */
	bool is_local = IN6_IS_ADDR_LOOPBACK(&network.at);
	uint32_t count = 0;

	for (struct watched *w = watch->first; w; w = w->next) {
		bool is_own = is_stranger(w) && peer_same(w->network, network);

		count += is_own;
		if (!is_stranger(w) || w->state != WATCH_IDLE)
			continue;
		/* the last that is found is the oldest */
		of_all = w;
		if (is_own)
			of_one = w;
	}
	if (!is_local && count >= watch->options.strangers_of_one && of_one)
		end(watch, of_one);
	else if (watch->strangers >= watch->options.strangers && of_all)
		end(watch, of_all);
	else if (watch->open >= watch->options.connections && (unused = find_unused(watch)))
		end(watch, unused);
}

struct watched *watch_add(struct watch *watch, int socket, struct peer peer)
{
	struct watched *watched = calloc(1, sizeof(*watched));

	if (!watched)
		return NULL;
	watched->socket = socket;
	watched->peer = peer;
	watched->network = peer_network(peer);
	watched->since = clock_ns();
	pthread_mutex_lock(&watch->lock);
	make_room(watch, watched->network);
	watch->open++;
	watch->strangers++;
	watched->next = watch->first;
	if (watch->first)
		watch->first->previous = watched;
	else
		pthread_cond_signal(&watch->changed);
	watch->first = watched;
	pthread_mutex_unlock(&watch->lock);
	return watched;
}

void watch_remove(struct watch *watch, struct watched *watched)
{
	if (!watched)
		return;
	pthread_mutex_lock(&watch->lock);
	watch->open -= !watched->is_ended;
	watch->strangers -= is_stranger(watched);
	if (watched->previous)
		watched->previous->next = watched->next;
	else
		watch->first = watched->next;
	if (watched->next)
		watched->next->previous = watched->previous;
	pthread_mutex_unlock(&watch->lock);
	free(watched);
}

struct peer watch_peer(const struct watched *watched)
{
	return watched ? watched->peer : peer_of(NULL);
}

void watch_set(struct watch *watch, struct watched *watched, enum watch_state state)
{
	if (!watched)
		return;
	pthread_mutex_lock(&watch->lock);
	watched->state = state;
	watched->since = clock_ns();
	watched->has_asked = true;
	watched->head = 0;
	if (state == WATCH_IDLE)
		watched->received = received_by(watched->socket);
	pthread_mutex_unlock(&watch->lock);
}

void watch_know(struct watch *watch, struct watched *watched)
{
	if (!watched)
		return;
	pthread_mutex_lock(&watch->lock);
	watch->strangers -= is_stranger(watched);
	watched->is_known = true;
	pthread_mutex_unlock(&watch->lock);
}

const atomic_bool *watch_gone(const struct watched *watched)
{
	return watched ? &watched->is_gone : NULL;
}
