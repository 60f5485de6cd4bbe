// SPDX-License-Identifier: Apache-2.0
#include "send/bucket_address.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "send/http.h"

#define LETTERS	   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define UNRESERVED LETTERS "0123456789-._~"
#define REGION	   "us-east-1"

enum {
	FILE_MAX = 64 << 10, /* bytes of a file of keys */
	KEY_LONGEST = 4096,
};

/* A user may have written keys into it: it is not shown. */
static int bad_address(struct fail *why)
{
	return fail(why, -EINVAL, "write it as s3://BUCKET@HOST:PORT/PREFIX",
		    "the address of the bucket is invalid");
}

/* Segments that curl or a server would fold are not what a user wants. */
static bool is_prefix(const char *prefix)
{
	size_t length;

	if (!*prefix)
		return true;
	for (;; prefix += length + 1) {
		length = strcspn(prefix, "/");
		if (!length || (length <= 2 && !strncmp(prefix, "..", length)))
			return false;
		if (!prefix[length])
			return true;
	}
}

static bool is_bucket(const char *name, size_t length)
{
	return length >= 3 && length <= 63 && strspn(name, UNRESERVED) >= length && *name != '.';
}

int bucket_address_parse(const char *text, struct bucket_address *address, struct fail *why)
{
	const char *rest = strstr(text, "://"), *at, *path;
	bool is_plain = !strncmp(text, "s3+http:", 8);
	size_t length;

	*address = (struct bucket_address){0};
	if (!rest || (!is_plain && strncmp(text, "s3:", 3) != 0))
		return bad_address(why);
	rest += 3;
	at = strchr(rest, '@');
	if (!at || !is_bucket(rest, (size_t)(at - rest)))
		return bad_address(why);
	path = at + 1 + strcspn(at + 1, "/?#@");
	length = strlen(path);
	while (length && path[length - 1] == '/')
		length--;
	if (path == at + 1 || (*path && *path != '/'))
		return bad_address(why);
	address->bucket = strndup(rest, (size_t)(at - rest));
	address->prefix = strndup(length ? path + 1 : "", length ? length - 1 : 0);
	if (asprintf(&address->server, "http%s://%.*s", is_plain ? "" : "s", (int)(path - at - 1),
		     at + 1) < 0)
		address->server = NULL;
	if (!address->bucket || !address->prefix || !address->server) {
		bucket_address_free(address);
		return fail_errno(why, -ENOMEM, NULL, "cannot use a bucket");
	}
	if (is_prefix(address->prefix) && !http_check_url(address->server, false, NULL))
		return 0;
	bucket_address_free(address);
	return bad_address(why);
}

void bucket_address_free(struct bucket_address *address)
{
	free(address->server);
	free(address->bucket);
	free(address->prefix);
	*address = (struct bucket_address){0};
}

void bucket_put_escaped(struct buf *to, const char *text, bool keep_slash)
{
	for (const char *c = text; *c; c++) {
		if (strchr(UNRESERVED, *c) || (keep_slash && *c == '/'))
			buf_put_u8(to, (uint8_t)*c);
		else
			buf_printf(to, "%%%02X", (uint8_t)*c);
	}
}

/* Where a line's value goes; null: it is of no interest. */
static char **place_of(struct bucket_keys *keys, const char *name, size_t length)
{
	static const char *const names[] = {"aws_access_key_id", "aws_secret_access_key",
					    "aws_session_token", "aws_region"};
	char **places[] = {&keys->id, &keys->secret, &keys->session, &keys->region};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (length == strlen(names[i]) && !strncasecmp(name, names[i], length))
			return places[i];
	return NULL;
}

/* "NAME=VALUE", with blanks around both: as in a file for systemd, or in AWS's own. */
static int parse_line(struct bucket_keys *keys, char *line)
{
	char *value, **place;
	size_t length;

	line += strspn(line, " \t");
	length = strcspn(line, " \t=");
	value = line + length + strspn(line + length, " \t");
	place = place_of(keys, line, length);
	if (!place || *value != '=')
		return 0;
	value += 1 + strspn(value + 1, " \t");
	value[strcspn(value, " \t\r")] = 0;
	free(*place);
	*place = strdup(value);
	return *place ? 0 : -ENOMEM;
}

static int check_file(int fd, const char *file, struct fail *why)
{
	struct stat st;

	if (fstat(fd, &st))
		return fail_errno(why, -errno, NULL, "cannot read the keys in %s", file);
	if (!S_ISREG(st.st_mode))
		return fail(why, -EINVAL, NULL, "cannot read the keys in %s: it is not a file",
			    file);
	if (st.st_mode & (S_IRWXG | S_IRWXO))
		return fail(why, -EPERM, "make it yours alone with chmod 600",
			    "the keys in %s are not used: other users can read the file "
			    "(mode %04o)",
			    file, st.st_mode & 07777);
	return 0;
}

static int read_file(const char *file, struct bucket_keys *keys, struct fail *why)
{
	char text[FILE_MAX + 1], *rest = NULL;
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err;
	ssize_t count;

	if (fd < 0)
		return fail_errno(why, -errno, "name a file that this user can read",
				  "cannot read the keys in %s", file);
	err = check_file(fd, file, why);
	count = err ? 0 : read(fd, text, FILE_MAX);
	if (count < 0)
		err = fail_errno(why, -errno, NULL, "cannot read the keys in %s", file);
	close(fd);
	text[count > 0 ? count : 0] = 0;
	for (char *line = strtok_r(text, "\n", &rest); !err && line;
	     line = strtok_r(NULL, "\n", &rest))
		if (parse_line(keys, line))
			err = fail_errno(why, -ENOMEM, NULL, "cannot read the keys in %s", file);
	explicit_bzero(text, sizeof(text));
	return err;
}

static int read_environment(struct bucket_keys *keys, struct fail *why)
{
	static const char *const names[] = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
					    "AWS_SESSION_TOKEN", "AWS_REGION"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);
		char **place = place_of(keys, names[i], strlen(names[i]));

		if (!value || !*value || !place)
			continue;
		*place = strdup(value);
		if (!*place)
			return fail_errno(why, -ENOMEM, NULL, "cannot use a bucket");
	}
	return 0;
}

/* What stands in a header may not end it. */
static bool is_clean(const char *text)
{
	if (strlen(text) > KEY_LONGEST)
		return false;
	for (const char *c = text; *c; c++)
		if (*c <= ' ' || *c > '~')
			return false;
	return true;
}

static int check_keys(const struct bucket_keys *keys, const char *file, struct fail *why)
{
	const char *where = file ? file : "the environment";

	if (!keys->id || !keys->secret || !*keys->id || !*keys->secret)
		return fail(why, -EACCES,
			    file ? "write AWS_ACCESS_KEY_ID=… and AWS_SECRET_ACCESS_KEY=… there"
				 : "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a "
				   "file that has them with --bucket-keys",
			    "there are no keys of the bucket in %s", where);
	if (!is_clean(keys->id) || !is_clean(keys->secret) || strchr(keys->id, ':') ||
	    (keys->session && !is_clean(keys->session)) ||
	    strspn(keys->region, LETTERS "0123456789-") != strlen(keys->region))
		return fail(why, -EACCES, "copy them again",
			    "the keys of the bucket in %s have invalid characters", where);
	return 0;
}

int bucket_keys_read(const char *file, struct bucket_keys *keys, struct fail *why)
{
	int err;

	*keys = (struct bucket_keys){0};
	err = file ? read_file(file, keys, why) : read_environment(keys, why);
	if (!err && !keys->region) {
		keys->region = strdup(REGION);
		if (!keys->region) {
			fail_errno(why, -ENOMEM, NULL, "cannot use a bucket");
			err = -ENOMEM;
		}
	}
	if (!err)
		err = check_keys(keys, file, why);
	if (err)
		bucket_keys_free(keys);
	return err;
}

void bucket_keys_free(struct bucket_keys *keys)
{
	if (keys->secret)
		explicit_bzero(keys->secret, strlen(keys->secret));
	if (keys->session)
		explicit_bzero(keys->session, strlen(keys->session));
	free(keys->id);
	free(keys->secret);
	free(keys->session);
	free(keys->region);
	*keys = (struct bucket_keys){0};
}
