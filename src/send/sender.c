// SPDX-License-Identifier: Apache-2.0
#include "send/sender.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "film/writer.h"

/* How long to wait after a failure: twice as long each time. */
#define PAUSE_MIN     SECOND_NS
#define PAUSE_MAX     (60 * SECOND_NS)
#define PAUSE_REFUSED (60 * SECOND_NS)

/* How long without films until the sender looks whether there is one: they announce themselves. */
#define IDLE_NS (3600 * SECOND_NS)

struct sender {
	struct sender_options options;
	pthread_t thread;
	atomic_bool ending; /* what waits is sent, and then it is over */
	uint64_t pause;	    /* of the last failure; 0: it works */
	/* films up to this number were held back since the oldest was looked at; 0: none */
	uint64_t held;
	uint64_t held_ns; /* the shortest time after which one of them is tried again */
	char said[sizeof(((struct fail *)NULL)->what)];
};

/*
 * What a server says, for people: its first line; of stackcam's own, which is JSON, the words in
 * it.
 */
static void words_of(const struct http_reply *reply, char *words, size_t size)
{
	static const char begin[] = "{\"error\":\"";
	const char *from = reply->words;
	size_t length = 0;

	if (strncmp(from, begin, strlen(begin)) != 0) {
		snprintf(words, size, "%s", from);
		words[strcspn(words, "\r\n")] = 0;
		return;
	}
	for (from += strlen(begin); *from && *from != '"' && length < size - 1; from++) {
		if (*from == '\\' && from[1])
			from++;
		words[length++] = *from;
	}
	words[length] = 0;
}

enum sent sent_by_reply(const char *url, const struct http_reply *reply, struct fail *why)
{
	char words[sizeof(reply->words)];

	url = http_shown(url);
	if (reply->status >= 200 && reply->status < 300)
		return SENT;
	words_of(reply, words, sizeof(words));
	switch (reply->status) {
	case 401:
	case 403:
		fail(why, -EACCES, "give it the server's token with --token-file",
		     "%s refuses what is sent: %u %s", url, reply->status, words);
		return SENT_REFUSED;
	case 400:
	case 413:
	case 422:
		fail(why, -EBADMSG, NULL, "%s cannot use what is sent: %u %s", url, reply->status,
		     words);
		return SENT_USELESS;
	case 408:
	case 425:
	case 429:
		break;
	default:
		if (reply->status >= 500)
			break;
		fail(why, -EPROTO, "is this the address of the right server?",
		     "%s does not take what is sent: %u %s", url, reply->status, words);
		return SENT_REFUSED;
	}
	fail(why, -EAGAIN, NULL, "%s cannot take what is sent now: %u %s", url, reply->status,
	     words);
	return SENT_LATER;
}

bool sent_is_doubtful(unsigned int status)
{
	return status >= 500 && status != 503 && status != 507;
}

enum sent sent_by_error(int err)
{
	switch (-err) {
	case ENOENT:
		return SENT_GONE;
	case ENOMEM:
	case ENOSPC:
	case EACCES:
	case EMFILE:
		return SENT_LATER;
	default:
		return SENT_USELESS;
	}
}

/*
 * Between half that time and half more, so that agents that failed together do not come back
 * together.
 */
static uint64_t jittered(uint64_t ns)
{
	uint32_t random = 1u << 31;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random = (uint32_t)(uintptr_t)&random * 2654435761u;
	return ns / 2 + (uint64_t)((unsigned __int128)ns * random >> 32);
}

static void have_trouble(struct sender *s, enum sent sent, uint64_t retry_after,
			 const struct fail *why)
{
	uint64_t pause = s->pause ? s->pause * 2 : PAUSE_MIN;

	if (pause > PAUSE_MAX)
		pause = PAUSE_MAX;
	if (sent == SENT_REFUSED)
		pause = PAUSE_REFUSED;
	s->pause = pause;
	if (strcmp(s->said, why->what)) {
		snprintf(s->said, sizeof(s->said), "%s", why->what);
		s->options.trouble(s->options.context, why);
	}
	pause = jittered(pause);
	spool_pause(s->options.spool, pause > retry_after ? pause : retry_after);
}

static void works_again(struct sender *s)
{
	struct spool_status status;

	s->pause = 0;
	if (!*s->said)
		return;
	s->said[0] = 0;
	spool_status(s->options.spool, &status);
	s->options.works(s->options.context, status.films);
}

/* What is missing before this film is said in the film itself, where it will be seen. */
static void note_lost(const struct spool_film *film)
{
	struct film_writer *writer;
	struct fail ignored;

	if (!film->lost || film_open_for_naming(film->path, &writer, &ignored))
		return;
	film_loss(writer, 0, "films before this one that the agent's spool had no room for",
		  film->lost);
	film_close(writer, 0, &ignored);
}

/* False: it does not work, and it is over. */
static bool send_film(struct sender *s, const struct spool_film *film)
{
	struct fail why = {0};
	uint64_t retry_after = 0;
	struct destination *to = &s->options.destination;
	enum sent sent;

	note_lost(film);
	sent = to->send(to->self, film, &retry_after, &why);
	if (sent == SENT_HELD) {
		if (!s->held || retry_after < s->held_ns)
			s->held_ns = retry_after;
		s->held = film->number;
		return true;
	}
	/* what is held back is older, and comes first */
	s->held = 0;
	switch (sent) {
	case SENT:
		spool_sent(s->options.spool, film);
		works_again(s);
		return true;
	case SENT_BUT:
		spool_sent(s->options.spool, film);
		works_again(s);
		s->options.almost(s->options.context, &why);
		return true;
	case SENT_GONE:
		spool_gone(s->options.spool, film);
		return true;
	case SENT_USELESS:
		spool_set_aside(s->options.spool, film);
		s->options.useless(s->options.context, film, &why);
		return true;
	default:
		if (atomic_load(s->options.stop))
			return false;
		if (atomic_load(&s->ending)) {
			if (strcmp(s->said, why.what) != 0)
				s->options.trouble(s->options.context, &why);
			return false;
		}
		have_trouble(s, sent, retry_after, &why);
		return true;
	}
}

static void *run(void *context)
{
	struct sender *s = context;
	struct spool_film film;

	while (!atomic_load(s->options.stop)) {
		if (spool_after(s->options.spool, s->held, &film)) {
			if (!send_film(s, &film))
				break;
		} else if (atomic_load(&s->ending)) {
			break;
		} else {
			spool_wait(s->options.spool, s->held, s->held ? s->held_ns : IDLE_NS);
			s->held = 0;
		}
	}
	return NULL;
}

int sender_start(const struct sender_options *options, struct sender **sender, struct fail *why)
{
	struct sender *s = calloc(1, sizeof(*s));
	int err = s ? 0 : ENOMEM;

	if (!err) {
		s->options = *options;
		err = pthread_create(&s->thread, NULL, run, s);
	}
	if (err) {
		free(s);
		return fail_errno(why, -err, NULL, "cannot start to send");
	}
	*sender = s;
	return 0;
}

void sender_stop(struct sender *s, uint64_t patience)
{
	struct timespec until;

	if (!s)
		return;
	atomic_store(&s->ending, true);
	spool_wake(s->options.spool);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(patience / SECOND_NS);
	if (pthread_clockjoin_np(s->thread, NULL, CLOCK_MONOTONIC, &until)) {
		atomic_store(s->options.stop, true);
		spool_wake(s->options.spool);
		pthread_join(s->thread, NULL);
	}
	free(s);
}
