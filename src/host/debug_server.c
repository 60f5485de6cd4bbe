// SPDX-License-Identifier: Apache-2.0
#include "host/debug_server.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/map.h"
#include "host/say.h"
#include "send/to_collectors.h"
#include "symbol/debuginfod.h"

#define FOLDER	    "debuginfod"
#define SECONDS_MAX 300
#define PAUSE_MIN   (5 * SECOND_NS)
#define PAUSE_MAX   (600 * SECOND_NS)
#define DAY_NS	    (86400 * SECOND_NS)
#define ASKED_MAX   65536
/* Files of 0 bytes say that no server has a build. */
#define FILES_MAX 4096

struct debug_server {
	char cache[PATH_MAX];
	const atomic_bool *stop;
	struct debuginfod *client; /* null: the next one is made when it is needed */
	struct map asked;	   /* by hashes of build ids: ns when they may be asked for again */
	uint64_t pause, until;	   /* ns; 0: they work */
	uint64_t again;		   /* see debug_server_again() */
	char said[sizeof(((struct fail *)NULL)->what)];
	pthread_mutex_t lock; /* of state */
	struct debug_server_state state;
};

static int check_url(void *context, const char *url, struct fail *why)
{
	(void)context;
	/* the library wants them with spaces between */
	if ((strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) ||
	    strpbrk(url, " \t\r\n"))
		return fail(why, -EINVAL, NULL,
			    "--debuginfod takes addresses such as https://debuginfod.example.com, "
			    "with commas between, not '%s'",
			    http_shown(url));
	return 0;
}

int debug_server_check_urls(const char *urls, struct fail *why)
{
	return collectors_each(urls, check_url, NULL, why);
}

static int put_cache(char to[PATH_MAX], const char *store, struct fail *why)
{
	if (snprintf(to, PATH_MAX, "%s/" FOLDER, store) < PATH_MAX)
		return 0;
	return fail_errno(why, -ENAMETOOLONG, NULL, "cannot keep debug files in '%s'", store);
}

int debug_server_settings(const char *urls, const char *store, struct fail *why)
{
	struct debuginfod_settings settings = {.bytes = DEBUG_SERVER_FILE_MAX,
					       .seconds = SECONDS_MAX};
	char cache[PATH_MAX], *spaced = strdup(urls), *comma;
	int err = put_cache(cache, store, why);

	if (!err && !spaced)
		err = -ENOMEM;
	for (comma = spaced; !err && (comma = strchr(comma, ','));)
		*comma = ' ';
	settings.urls = spaced;
	settings.cache = cache;
	if (!err)
		err = debuginfod_settings(&settings);
	free(spaced);
	return err == -ENOMEM ? fail_errno(why, err, NULL, "cannot start") : err;
}

static void trim(struct debug_server *s)
{
	uint64_t bytes = 0, removed = 0;

	debug_server_trim(s->cache, DEBUG_SERVER_CACHE_MAX, FILES_MAX, &bytes, &removed);
	pthread_mutex_lock(&s->lock);
	s->state.cache_bytes = bytes;
	s->state.cache_removed += removed;
	pthread_mutex_unlock(&s->lock);
}

int debug_server_new(const char *store, const atomic_bool *stop, struct debug_server **server,
		     struct fail *why)
{
	struct debug_server *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return fail_errno(why, -ENOMEM, NULL, "cannot start");
	pthread_mutex_init(&s->lock, NULL);
	s->stop = stop;
	s->state.works = true;
	s->again = UINT64_MAX;
	err = put_cache(s->cache, store, why);
	if (!err && mkdir(s->cache, 0700) && errno != EEXIST)
		err = fail_errno(why, -errno, "may it be written to?", "cannot make %s", s->cache);
	if (err) {
		debug_server_free(s);
		return err;
	}
	trim(s);
	*server = s;
	return 0;
}

void debug_server_free(struct debug_server *s)
{
	if (!s)
		return;
	debuginfod_free(s->client);
	map_free(&s->asked);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static void count(struct debug_server *s, enum debug_server_outcome outcome)
{
	pthread_mutex_lock(&s->lock);
	s->state.builds[outcome]++;
	s->state.works = outcome != DEBUG_SERVER_AWAY;
	pthread_mutex_unlock(&s->lock);
}

static void note_answer(struct debug_server *s)
{
	s->pause = s->until = 0;
	if (*s->said)
		host_say("debuginfod servers answer again");
	*s->said = 0;
}

static void note_failure(struct debug_server *s, int err, uint64_t now)
{
	uint64_t pause = s->pause ? s->pause * 2 : PAUSE_MIN;
	struct fail why;

	s->pause = pause < PAUSE_MAX ? pause : PAUSE_MAX;
	s->until = now + s->pause;
	/* a client that has failed twice asks no more */
	debuginfod_free(s->client);
	s->client = NULL;
	fail_errno(&why, err, err == -ENOSYS ? "install libdebuginfod" : "see --debuginfod",
		   "cannot ask debuginfod servers");
	if (!strcmp(s->said, why.what))
		return;
	snprintf(s->said, sizeof(s->said), "%s", why.what);
	host_say_fail(&why, "; they are asked again later");
}

static struct debuginfod *client_of(struct debug_server *s)
{
	const struct debuginfod_bounds bounds = {s->stop, DEBUG_SERVER_FILE_MAX, s->cache};

	if (!s->client)
		s->client = debuginfod_new();
	if (s->client)
		debuginfod_bound(s->client, &bounds);
	return s->client;
}

static enum debug_server_outcome outcome_of(int err)
{
	switch (-err) {
	case ENOENT:
		return DEBUG_SERVER_MISSING;
	case EFBIG:
		return DEBUG_SERVER_TOO_LARGE;
	case ESTALE:
		return DEBUG_SERVER_OTHER_BUILD;
	default:
		return DEBUG_SERVER_AWAY;
	}
}

static int ask(struct debug_server *s, const struct film_image *image, struct debug_file *found)
{
	struct debuginfod *client = client_of(s);
	struct fail why;
	int err;

	if (!client)
		return -ENOMEM;
	err = debuginfod_fetch(client, image->build_id, image->build_id_size, false, found, &why);
	/* what was never split has its names in itself */
	if (err == -ENOENT)
		err = debuginfod_fetch(client, image->build_id, image->build_id_size, true, found,
				       &why);
	return err;
}

static int leave_out(struct debug_server *s, uint64_t until)
{
	if (until < s->again)
		s->again = until;
	return -EAGAIN;
}

int debug_server_fetch(struct debug_server *s, const struct film_image *image,
		       struct debug_file *found)
{
	uint64_t build = hash_bytes(image->build_id, image->build_id_size), now = clock_ns();
	const uint64_t *again = map_get(&s->asked, build);
	enum debug_server_outcome outcome;
	int err;

	*found = (struct debug_file){.fd = -1};
	if (now < s->until)
		return leave_out(s, s->until);
	if (again && now < *again)
		return leave_out(s, *again);
	err = ask(s, image, found);
	if (err == -ECANCELED)
		return err;
	trim(s);
	if (s->asked.count >= ASKED_MAX)
		map_free(&s->asked);
	outcome = outcome_of(err);
	if (err)
		count(s, outcome);
	now = clock_ns();
	/* without memory, a build is only asked for sooner */
	if (err && outcome == DEBUG_SERVER_AWAY) {
		note_failure(s, err, now);
		/* one that servers are silent about lets others go first */
		map_put(&s->asked, build, now + 2 * s->pause);
		leave_out(s, now + 2 * s->pause);
	} else {
		map_put(&s->asked, build, now + DAY_NS);
		note_answer(s);
	}
	return err;
}

void debug_server_used(struct debug_server *s, bool has_names)
{
	count(s, has_names ? DEBUG_SERVER_NAMED : DEBUG_SERVER_NAMELESS);
}

uint64_t debug_server_again(struct debug_server *s)
{
	uint64_t again = s->again;

	s->again = UINT64_MAX;
	return again;
}

const char *debug_server_outcome_name(enum debug_server_outcome outcome)
{
	static const char *const names[] = {
		[DEBUG_SERVER_NAMED] = "named",
		[DEBUG_SERVER_NAMELESS] = "without names",
		[DEBUG_SERVER_MISSING] = "missing",
		[DEBUG_SERVER_TOO_LARGE] = "too large",
		[DEBUG_SERVER_OTHER_BUILD] = "another file",
		[DEBUG_SERVER_AWAY] = "not asked",
	};

	return names[outcome];
}

void debug_server_state(struct debug_server *s, struct debug_server_state *state)
{
	pthread_mutex_lock(&s->lock);
	*state = s->state;
	pthread_mutex_unlock(&s->lock);
}
