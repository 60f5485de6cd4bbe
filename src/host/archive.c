// SPDX-License-Identifier: Apache-2.0
#include "host/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "host/say.h"
#include "send/bucket.h"
#include "store/bucket.h"

/* How often films are looked for that the store has packed. */
#define IDLE_MS 2000
/* How long to wait after a failure: twice as long each time. */
#define PAUSE_MIN_MS 1000u
#define PAUSE_MAX_MS 60000u

struct archive {
	struct store *store;
	/* one for the thread, one for archive_fetch() */
	struct bucket *buckets[ARCHIVE_VERBS];
	atomic_bool stop;
	int end; /* eventfd: it is to end */
	pthread_t thread;
	bool is_started;
	unsigned int pause_ms; /* of the last failure; 0: it works. Of the thread */

	pthread_mutex_t lock; /* of what follows */
	struct archive_state state;
	char troubles[ARCHIVE_VERBS][sizeof(((struct archive_state *)NULL)->trouble)];
};

const char *archive_verb_name(enum archive_verb verb)
{
	return verb == ARCHIVE_PUT ? "put" : "get";
}

const char *archive_reason_name(enum archive_reason reason)
{
	static const char *const names[] = {
		[ARCHIVE_BUSY] = "busy",       [ARCHIVE_REFUSED] = "refused",
		[ARCHIVE_MISSING] = "missing", [ARCHIVE_DIFFERS] = "differs",
		[ARCHIVE_OTHER] = "other",
	};

	return names[reason];
}

int archive_new(const struct archive_options *options, struct archive **result, struct fail *why)
{
	struct archive *archive = calloc(1, sizeof(*archive));
	struct bucket_options bucket = {options->address, options->key_file, options->ca, NULL};
	int err = 0;

	if (!archive)
		return fail_errno(why, -ENOMEM, NULL, "cannot use a bucket");
	pthread_mutex_init(&archive->lock, NULL);
	bucket.stop = &archive->stop;
	archive->end = eventfd(0, EFD_CLOEXEC);
	if (archive->end < 0)
		err = fail_errno(why, -errno, NULL, "cannot use a bucket");
	for (int i = 0; !err && i < ARCHIVE_VERBS; i++)
		err = bucket_new(&bucket, &archive->buckets[i], why);
	if (err) {
		archive_free(archive);
		return err;
	}
	*result = archive;
	return 0;
}

static enum archive_reason reason_of(int err)
{
	switch (-err) {
	case EAGAIN:
		return ARCHIVE_BUSY;
	case EACCES:
	case ENXIO:
		return ARCHIVE_REFUSED;
	case ENOENT:
		return ARCHIVE_MISSING;
	case EBADMSG:
		return ARCHIVE_DIFFERS;
	default:
		return ARCHIVE_OTHER;
	}
}

/* Counts what was tried; the log has the first failure, and the end of failures. */
static void note(struct archive *archive, enum archive_verb verb, uint64_t bytes, int err,
		 const struct fail *why)
{
	static const char *const names[] = {[ARCHIVE_PUT] = "kept in", [ARCHIVE_GET] = "read from"};
	struct archive_state *state = &archive->state;
	char *trouble = archive->troubles[verb];
	bool began, ended;

	pthread_mutex_lock(&archive->lock);
	began = err && !*trouble;
	ended = !err && *trouble;
	if (err) {
		state->failed[verb][reason_of(err)]++;
		snprintf(trouble, sizeof(archive->troubles[verb]), "%s", why->what);
	} else {
		state->films[verb]++;
		state->bytes[verb] += bytes;
		*trouble = 0;
	}
	pthread_mutex_unlock(&archive->lock);
	if (began)
		host_say_fail(why, "; it is tried again until it works");
	if (ended)
		host_say("films can be %s the bucket again", names[verb]);
}

void archive_state(struct archive *archive, struct archive_state *state)
{
	pthread_mutex_lock(&archive->lock);
	*state = archive->state;
	for (int i = 0; i < ARCHIVE_VERBS && !*state->trouble; i++)
		strcpy(state->trouble, archive->troubles[i]);
	pthread_mutex_unlock(&archive->lock);
}

int archive_fetch(struct archive *archive, const char *name, const struct store_object *object,
		  int fd, struct fail *why)
{
	struct bucket_object expected = {.size = object->bytes};
	struct fail failed = {0};
	int err;

	snprintf(expected.sha256, sizeof(expected.sha256), "%s", object->sha256);
	err = bucket_get(archive->buckets[ARCHIVE_GET], store_bucket_key(name), &expected, fd,
			 &failed);
	if (err && why)
		*why = failed;
	if (err != -ECANCELED)
		note(archive, ARCHIVE_GET, object->bytes, err, &failed);
	return err;
}

/* Sends the file as it is open. */
static int put(struct archive *archive, const struct store_upload *upload, int fd, struct fail *why)
{
	struct bucket_object object;
	struct store_object stored = {0};
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return fail_errno(why, -errno, NULL, "cannot read %s", upload->path);
	err = bucket_put(archive->buckets[ARCHIVE_PUT], store_bucket_key(upload->name), fd, &object,
			 why);
	if (err)
		return err;
	stored.bytes = object.size;
	memcpy(stored.sha256, object.sha256, sizeof(stored.sha256));
	store_uploaded(archive->store, upload, &st, &stored);
	return 0;
}

/* Returns how long to wait until the next one, in ms; 0: not at all. */
static unsigned int pause_after(struct archive *archive, int err)
{
	uint64_t wanted = bucket_retry_after(archive->buckets[ARCHIVE_PUT]) / MS_NS;

	if (!err) {
		archive->pause_ms = 0;
		return 0;
	}
	archive->pause_ms = archive->pause_ms ? archive->pause_ms * 2 : PAUSE_MIN_MS;
	if (archive->pause_ms > PAUSE_MAX_MS)
		archive->pause_ms = PAUSE_MAX_MS;
	return wanted > archive->pause_ms ? (unsigned int)wanted : archive->pause_ms;
}

/* Sends the oldest film that waits, if there is one; returns as pause_after(). */
static unsigned int step(struct archive *archive)
{
	struct store_upload upload;
	struct fail why = {0};
	struct stat st = {0};
	unsigned int pause;
	int fd, err;

	if (!store_next_upload(archive->store, &upload))
		return IDLE_MS;
	fd = open(upload.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	/* it was merged or removed: the store knows soon */
	if (fd < 0 && errno == ENOENT) {
		store_upload_failed(archive->store, &upload, IDLE_MS * MS_NS);
		return 0;
	}
	if (fd < 0)
		err = fail_errno(&why, -errno, NULL, "cannot read %s", upload.path);
	else
		err = put(archive, &upload, fd, &why);
	if (fd >= 0) {
		(void)!fstat(fd, &st);
		close(fd);
	}
	if (err == -ECANCELED)
		return IDLE_MS;
	note(archive, ARCHIVE_PUT, (uint64_t)st.st_size, err, &why);
	pause = pause_after(archive, err);
	/* others may work, and come first */
	if (err && reason_of(err) != ARCHIVE_BUSY && reason_of(err) != ARCHIVE_REFUSED)
		store_upload_failed(archive->store, &upload, 2 * pause * MS_NS);
	return pause;
}

static void *run(void *context)
{
	struct archive *archive = context;
	struct pollfd end = {.fd = archive->end, .events = POLLIN};

	pthread_setname_np(pthread_self(), "archive");
	while (poll(&end, 1, (int)step(archive)) <= 0)
		;
	return NULL;
}

int archive_start(struct archive *archive, struct store *store, struct fail *why)
{
	int err;

	archive->store = store;
	err = thread_spawn(&archive->thread, run, archive);
	if (err)
		return fail_errno(why, err, NULL, "cannot start a thread");
	archive->is_started = true;
	return 0;
}

void archive_stop(struct archive *archive)
{
	if (!archive)
		return;
	atomic_store(&archive->stop, true);
	eventfd_write(archive->end, 1);
}

void archive_free(struct archive *archive)
{
	if (!archive)
		return;
	archive_stop(archive);
	if (archive->is_started)
		pthread_join(archive->thread, NULL);
	for (int i = 0; i < ARCHIVE_VERBS; i++)
		bucket_free(archive->buckets[i]);
	if (archive->end >= 0)
		close(archive->end);
	pthread_mutex_destroy(&archive->lock);
	free(archive);
}
