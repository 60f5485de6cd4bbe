// SPDX-License-Identifier: Apache-2.0
/* Films that a bucket has may leave the store, and still answer. The bucket is a folder here. */
#include "../prelude.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "film/writer.h"
#include "kept_store.h"
#include "query/question.h"
#include "store/ask.h"
#include "store/bucket.h"

enum {
	FILMS = 6,			   /* of one hour each */
	LAST = BEGIN + FILMS * 3600 + 200, /* all hours are over */
};

/* What the bucket does, and what it was asked. */
struct bucket {
	int err; /* of each read; 0: it works */
	unsigned int reads;
};

static void copy(int from, int to)
{
	char bytes[4096];
	ssize_t count;

	while ((count = read(from, bytes, sizeof(bytes))) > 0)
		assert_int_equal(write(to, bytes, (size_t)count), count);
	assert_int_equal(count, 0);
}

static void path_in_bucket(const char *name, char path[256])
{
	snprintf(path, 256, "%s/%s", root, store_bucket_key(name));
	for (char *c = path + strlen(root) + 1; *c; c++)
		if (*c == '/')
			*c = '+';
}

static int fetch(void *context, const char *name, const struct store_object *object, int fd,
		 struct fail *why)
{
	struct bucket *bucket = context;
	char path[256];
	int from;

	bucket->reads++;
	if (bucket->err)
		return fail(why, bucket->err, NULL, "the bucket is away");
	path_in_bucket(name, path);
	from = open(path, O_RDONLY);
	assert_true(from >= 0);
	copy(from, fd);
	close(from);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), object->bytes);
	assert_string_equal(object->sha256, "0123");
	return 0;
}

static struct store *open_with(struct bucket *bucket, uint64_t cache, uint64_t age_max)
{
	struct store_options options = {
		.path = store_path,
		.age_max = age_max,
		.fetch = fetch,
		.cache_max = cache,
		.context = bucket,
	};
	struct store *store = NULL;
	struct fail why = {0};

	if (store_open(&options, &store, &why))
		fail_print(&why);
	assert_non_null(store);
	return store;
}

/* Sends all that waits; returns how many films that were. */
static unsigned int upload_all(struct store *store)
{
	struct store_upload upload;
	unsigned int count = 0;

	for (; store_next_upload(store, &upload); count++) {
		struct store_object sent = {.sha256 = "0123"};
		struct stat st = {0};
		char path[256];
		int from = open(upload.path, O_RDONLY), to;

		assert_true(from >= 0 && !fstat(from, &st));
		path_in_bucket(upload.name, path);
		to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		assert_true(to >= 0);
		copy(from, to);
		close(from);
		close(to);
		sent.bytes = (uint64_t)st.st_size;
		store_uploaded(store, &upload, &st, &sent);
	}
	return count;
}

static struct store_status status_of(struct store *store)
{
	struct store_status status;

	store_status(store, &status);
	return status;
}

/* A store whose films are packed and in the bucket, which does not know of that before a tick. */
static struct store *filled(struct bucket *bucket, uint64_t cache, uint64_t age_max)
{
	struct store *store = open_store(0, 0);
	bool again;

	for (unsigned int i = 0; i < FILMS; i++)
		assert_int_equal(send_film(store, "web7", "a", i + 1, BEGIN + i * 3600, &again), 0);
	store_free(store);
	/* what was there at the start has waited long enough */
	store = open_with(bucket, cache, age_max);
	for (unsigned int i = 0; i < 3 * FILMS && look().packed < FILMS; i++)
		tick(store, LAST);
	assert_int_equal(look().packed, FILMS);
	assert_int_equal(status_of(store).bucket_waiting, FILMS);
	return store;
}

static void limit(struct store *store, uint64_t bytes_max)
{
	const struct store_options options = {store_path, bytes_max, 0, NULL};

	assert_int_equal(store_configure(store, &options, NULL), 0);
	tick(store, LAST);
}

/* The samples that films alone can tell: of a name of threads. */
static struct store_sum ask_films_of(struct store *store)
{
	const char *names[] = {"*"};
	struct question question = {.filter.comms = {.at = names, .count = 1}};
	struct store_ask ask = {.question = &question};
	struct store_answer answer = {0};
	struct store_sum sum;
	struct fail why = {0};

	if (store_flame(store, &ask, &answer, &why))
		fail_print(&why);
	assert_int_equal(why.err, 0);
	sum = answer.sum;
	store_answer_free(&answer);
	assert_true(sum.by_films);
	return sum;
}

static void test_local_copies_make_room(void **state)
{
	struct bucket bucket = {0};
	struct store *store = filled(&bucket, 1 << 20, 0);
	struct store_sum sum;
	struct store_upload upload;

	(void)state;
	assert_int_equal(upload_all(store), FILMS);
	/* confirmed, but not yet written down */
	assert_int_equal(status_of(store).bucket_films, 0);
	assert_false(store_next_upload(store, &upload));
	tick(store, LAST);
	assert_int_equal(status_of(store).bucket_films, FILMS);
	assert_int_equal(status_of(store).bucket_here, FILMS);
	assert_int_equal(status_of(store).bucket_waiting, 0);

	/* there is room for none: nothing is lost */
	limit(store, 1);
	assert_int_equal(look().films, 0);
	assert_int_equal(status_of(store).bucket_released, FILMS);
	assert_int_equal(status_of(store).removed, 0);
	assert_int_equal(status_of(store).bucket_here, 0);
	assert_int_equal(indexed(store), FILMS * SAMPLES);
	assert_int_equal(bucket.reads, 0);
	sum = ask_films_of(store);
	assert_int_equal(sum.samples, FILMS * SAMPLES);
	assert_int_equal(sum.films_unread, 0);
	assert_int_equal(bucket.reads, FILMS);
	/* they are still there */
	assert_int_equal(ask_films_of(store).samples, FILMS * SAMPLES);
	assert_int_equal(bucket.reads, FILMS);
	store_free(store);

	/* a start knows them, too, and begins with an empty cache */
	store = open_with(&bucket, 1 << 20, 0);
	tick(store, LAST);
	assert_int_equal(status_of(store).bucket_films, FILMS);
	assert_int_equal(indexed(store), FILMS * SAMPLES);
	assert_int_equal(ask_films_of(store).samples, FILMS * SAMPLES);
	assert_int_equal(bucket.reads, 2 * FILMS);
	store_free(store);

	/* and one without a bucket says what it lacks */
	store = open_store(0, 0);
	sum = ask_films_of(store);
	assert_int_equal(sum.samples, 0);
	assert_int_equal(sum.films_unfetched, FILMS);
	assert_int_equal(sum.films_damaged, 0);
	store_free(store);
}

static void test_a_bucket_that_is_away(void **state)
{
	struct bucket bucket = {.err = -EAGAIN};
	struct store *store = filled(&bucket, 1 << 20, 0);
	struct store_sum sum;

	(void)state;
	upload_all(store);
	tick(store, LAST);
	limit(store, 1);
	sum = ask_films_of(store);
	assert_int_equal(sum.samples, 0);
	assert_int_equal(sum.films_unread, FILMS);
	assert_int_equal(sum.films_unfetched, FILMS);
	assert_int_equal(sum.complete_from, sum.complete_until);
	/* each question asks it once, not for each film */
	assert_int_equal(bucket.reads, 1);
	assert_int_equal(status_of(store).bucket_unfetched, FILMS);
	assert_int_equal(indexed(store), FILMS * SAMPLES);
	store_free(store);

	/* one film is missing: the others answer */
	bucket = (struct bucket){.err = -ENOENT};
	store = open_with(&bucket, 1 << 20, 0);
	assert_int_equal(ask_films_of(store).films_unfetched, FILMS);
	assert_int_equal(bucket.reads, FILMS);
	bucket.err = 0;
	assert_int_equal(ask_films_of(store).samples, FILMS * SAMPLES);
	store_free(store);
}

static uint64_t bytes_in_cache(unsigned int *count)
{
	char pattern[128];
	uint64_t bytes = 0;
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/cache/*", store_path);
	*count = 0;
	if (!glob(pattern, 0, NULL, &found)) {
		for (; *count < found.gl_pathc; ++*count) {
			struct stat st;

			assert_int_equal(stat(found.gl_pathv[*count], &st), 0);
			bytes += (uint64_t)st.st_size;
		}
		globfree(&found);
	}
	return bytes;
}

/* The cache keeps to its size: what has no room is said to be missing, and what was used goes. */
static void test_the_cache_is_small(void **state)
{
	struct bucket bucket = {0};
	struct store *store = filled(&bucket, 1 << 20, 0);
	uint64_t bytes;
	unsigned int count;
	struct store_sum sum;

	(void)state;
	upload_all(store);
	tick(store, LAST);
	limit(store, 1);
	ask_films_of(store);
	bytes = bytes_in_cache(&count);
	assert_int_equal(count, FILMS);
	store_free(store);
	/* room for half of them */
	store = open_with(&bucket, bytes / 2 + bytes / 20, 0);
	assert_int_equal(bytes_in_cache(&count), 0);
	for (int i = 0; i < 2; i++) {
		sum = ask_films_of(store);
		assert_int_equal(sum.films_unfetched, FILMS / 2);
		assert_int_equal(sum.samples, FILMS / 2 * SAMPLES);
		/* the newest were read */
		assert_true(sum.complete_from > (BEGIN + (FILMS / 2 - 1) * 3600) * SECOND);
	}
	assert_true(bytes_in_cache(&count) <= bytes / 2 + bytes / 20);
	assert_int_equal(count, FILMS / 2);
	store_free(store);
}

/* What comes late becomes another film, and a film that changes is sent again. */
static void test_late_parts(void **state)
{
	struct bucket bucket = {0};
	struct store *store = filled(&bucket, 1 << 20, 0);
	struct store_upload upload;
	bool again;

	(void)state;
	upload_all(store);
	tick(store, LAST);
	/* the first of them goes; of the second the film is still here */
	assert_int_equal(status_of(store).bucket_here, FILMS);
	store_free(store);
	{
		char path[256];

		snprintf(path, sizeof(path), "%s/films/web7/2026-01-02/03.film", store_path);
		assert_int_equal(unlink(path), 0);
	}
	store = open_with(&bucket, 1 << 20, 0);
	assert_int_equal(send_film(store, "web7", "a", 100, BEGIN + 600, &again), 0);
	assert_int_equal(send_film(store, "web7", "a", 101, BEGIN + 3600 + 600, &again), 0);
	store_free(store);
	store = open_with(&bucket, 1 << 20, 0);
	for (unsigned int i = 0; i < FILMS; i++)
		tick(store, LAST);
	assert_int_equal(status_of(store).bucket_films, FILMS - 1);
	assert_int_equal(status_of(store).bucket_waiting, 2);
	assert_true(store_next_upload(store, &upload));
	assert_string_equal(upload.name, "films/web7/2026-01-02/03.2.film");
	store_upload_failed(store, &upload, HOUR);
	assert_true(store_next_upload(store, &upload));
	assert_string_equal(upload.name, "films/web7/2026-01-02/04.film");
	assert_int_equal(upload_all(store), 1);
	tick(store, LAST);
	assert_int_equal(status_of(store).bucket_films, FILMS);
	assert_int_equal(ask_films_of(store).samples, (FILMS + 2) * SAMPLES);
	store_free(store);
}

/* A film that was replaced while it was sent is not the one that the bucket has. */
static void test_replaced_meanwhile(void **state)
{
	struct bucket bucket = {0};
	struct store *store = filled(&bucket, 1 << 20, 0);
	struct store_object object = {.sha256 = "0123"};
	struct store_upload upload;
	struct stat st;
	char copy_path[256];
	int from, to;

	(void)state;
	assert_true(store_next_upload(store, &upload));
	assert_int_equal(stat(upload.path, &st), 0);
	object.bytes = (uint64_t)st.st_size;
	snprintf(copy_path, sizeof(copy_path), "%s/copy", root);
	from = open(upload.path, O_RDONLY);
	to = open(copy_path, O_WRONLY | O_CREAT, 0400);
	copy(from, to);
	close(from);
	close(to);
	assert_int_equal(rename(copy_path, upload.path), 0);
	store_uploaded(store, &upload, &st, &object);
	tick(store, LAST);
	assert_int_equal(status_of(store).bucket_films, 0);
	assert_true(store_next_upload(store, &upload));
	store_free(store);
}

/* A copy that someone changed after it was sent is not the bucket's: others make room. */
static void test_changed_after_it_was_sent(void **state)
{
	const struct timespec times[2] = {{0, UTIME_OMIT}, {1, 0}};
	struct bucket bucket = {0};
	struct store *store = filled(&bucket, 1 << 20, 0);
	struct store_upload first, again;
	struct stat st;

	(void)state;
	assert_true(store_next_upload(store, &first));
	upload_all(store);
	tick(store, LAST);
	assert_int_equal(status_of(store).bucket_here, FILMS);
	assert_int_equal(utimensat(AT_FDCWD, first.path, times, 0), 0);
	/* the index is larger than the films, which have half of the room: some must go */
	assert_int_equal(stat(first.path, &st), 0);
	limit(store, 2 * (status_of(store).bucket_bytes - 2 * (uint64_t)st.st_size));
	assert_in_range(status_of(store).bucket_released, 1, FILMS - 1);
	assert_int_equal(status_of(store).removed, 0);
	assert_int_equal(access(first.path, F_OK), 0);
	assert_true(store_next_upload(store, &again));
	assert_string_equal(again.name, first.name);
	store_free(store);
}

/* One that someone removed is the bucket's alone, and is not forgotten when there is no room. */
static void test_removed_after_it_was_sent(void **state)
{
	struct bucket bucket = {0};
	struct store *store = filled(&bucket, 1 << 20, 0);
	struct store_upload first;

	(void)state;
	assert_true(store_next_upload(store, &first));
	upload_all(store);
	tick(store, LAST);
	assert_int_equal(unlink(first.path), 0);
	limit(store, 1);
	assert_int_equal(status_of(store).removed, 0);
	assert_int_equal(status_of(store).bucket_films, FILMS);
	assert_int_equal(ask_films_of(store).samples, FILMS * SAMPLES);
	store_free(store);
}

/* keep-age ends both: the copy that is here, and what is known of the bucket's. */
static void test_age(void **state)
{
	struct bucket bucket = {0};
	struct store *store = filled(&bucket, 1 << 20, 0);

	(void)state;
	upload_all(store);
	tick(store, LAST);
	limit(store, 1);
	store_free(store);
	store = open_with(&bucket, 1 << 20, 3 * HOUR);
	tick(store, LAST);
	assert_int_equal(status_of(store).bucket_films, 2);
	assert_int_equal(indexed(store), status_of(store).bucket_films * SAMPLES);
	store_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KEPT_TEST(test_local_copies_make_room),
		KEPT_TEST(test_a_bucket_that_is_away),
		KEPT_TEST(test_the_cache_is_small),
		KEPT_TEST(test_late_parts),
		KEPT_TEST(test_replaced_meanwhile),
		KEPT_TEST(test_changed_after_it_was_sent),
		KEPT_TEST(test_removed_after_it_was_sent),
		KEPT_TEST(test_age),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
