// SPDX-License-Identifier: Apache-2.0
#include "cmd/doctor_bucket.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "send/bucket.h"

static const char content[] =
	"stackcam doctor wrote this to see whether it can; it can be removed.\n";

struct step {
	const char *name, *about;
	int (*run)(struct bucket *bucket, const char *key, struct bucket_object *object,
		   struct fail *why);
	bool was_run;
	struct fail why;
};

/* A file that has no name. */
static int open_nameless(struct fail *why)
{
	FILE *file = tmpfile();
	int fd = file ? dup(fileno(file)) : -1;

	if (fd < 0)
		fail_errno(why, -errno, "see whether TMPDIR has room", "cannot make a file");
	if (file)
		fclose(file);
	return fd;
}

static int put(struct bucket *bucket, const char *key, struct bucket_object *object,
	       struct fail *why)
{
	int fd = open_nameless(why), err;

	if (fd < 0)
		return -EIO;
	err = file_write_all(fd, content, strlen(content));
	if (err)
		fail_errno(why, err, NULL, "cannot write a file");
	else
		err = bucket_put(bucket, key, fd, object, why);
	close(fd);
	return err;
}

static int get(struct bucket *bucket, const char *key, struct bucket_object *object,
	       struct fail *why)
{
	int fd = open_nameless(why), err;

	if (fd < 0)
		return -EIO;
	err = bucket_get(bucket, key, object, fd, why);
	close(fd);
	return err;
}

static int is_wanted(void *context, const char *key)
{
	return !strcmp(context, key);
}

static int list(struct bucket *bucket, const char *key, struct bucket_object *object,
		struct fail *why)
{
	int found = bucket_list(bucket, key, is_wanted, (void *)key, why);

	(void)object;
	if (found < 0)
		return found;
	return found ? 0
		     : fail(why, -ENOENT, "check what the keys allow",
			    "the list of the bucket has no %s", key);
}

static int delete (struct bucket *bucket, const char *key, struct bucket_object *object,
		   struct fail *why)
{
	(void)object;
	return bucket_delete(bucket, key, why);
}

static void print_text(const struct step *steps, size_t count, bool works)
{
	puts(works ? "films can be kept in this bucket\n"
		   : "films cannot be kept in this bucket\n");
	for (size_t i = 0; i < count; i++) {
		const struct step *s = &steps[i];
		bool failed = s->was_run && s->why.err;

		printf("%-8s %-8s ", !s->was_run ? "untried" : failed ? "failed" : "ok", s->name);
		text_print_safe(stdout, failed ? s->why.what : s->about);
		if (failed && *s->why.to_do) {
			fputs("; ", stdout);
			text_print_safe(stdout, s->why.to_do);
		}
		putchar('\n');
	}
}

static void print_json(const struct step *steps, size_t count, bool works)
{
	struct json j = {stdout};

	json_open(&j, NULL, '{');
	json_bool(&j, "bucket", works);
	json_open(&j, "steps", '[');
	for (size_t i = 0; i < count; i++) {
		const struct step *s = &steps[i];

		json_open(&j, NULL, '{');
		json_text(&j, "name", s->name);
		json_text(&j, "state", !s->was_run ? "untried" : s->why.err ? "failed" : "ok");
		json_text(&j, "why", s->why.err ? s->why.what : "");
		json_text(&j, "to_do", s->why.err ? s->why.to_do : "");
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	putchar('\n');
}

/* Without the object there is nothing to read; but what was put is removed in any case. */
static bool run_steps(struct bucket *bucket, struct step *steps, size_t count)
{
	struct bucket_object object;
	bool works = true;
	char key[64];

	snprintf(key, sizeof(key), "stackcam-doctor-%d-%" PRIu64, (int)getpid(), clock_wall());
	for (size_t i = 0; i < count; i++) {
		struct step *s = &steps[i];

		if (i && steps[0].why.err && steps[0].why.err != -EBADMSG)
			continue;
		s->was_run = true;
		s->why.err = s->run(bucket, key, &object, &s->why);
		works &= !s->why.err;
	}
	return works;
}

int doctor_bucket(const char *address, const char *key_file, const char *ca, bool as_json)
{
	const struct bucket_options options = {.address = address, .key_file = key_file, .ca = ca};
	struct step steps[] = {
		{.name = "put",
		 .about = "an object was put, and the server confirmed it",
		 .run = put},
		{.name = "get", .about = "it was read, and is the same", .run = get},
		{.name = "list", .about = "it is in the list", .run = list},
		{.name = "delete", .about = "it was deleted", .run = delete},
	};
	const size_t count = sizeof(steps) / sizeof(steps[0]);
	struct bucket *bucket;
	struct fail why = {0};
	bool works;

	if (bucket_new(&options, &bucket, &why)) {
		fail_print(&why);
		return EXIT_FAILURE;
	}
	works = run_steps(bucket, steps, count);
	bucket_free(bucket);
	if (as_json)
		print_json(steps, count, works);
	else
		print_text(steps, count, works);
	return works ? 0 : EXIT_FAILURE;
}
