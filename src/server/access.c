// SPDX-License-Identifier: Apache-2.0
#include "server/access.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"

/* Takes as long whatever the first difference is. That the length shows does no harm. */
static bool is_same_secret(const char *given, size_t length, const char *token)
{
	size_t wanted = strlen(token);
	volatile unsigned char differs = length != wanted;

	for (size_t i = 0; i < length; i++)
		differs |= (unsigned char)given[i] ^ (unsigned char)token[i % wanted];
	return !differs;
}

static int base64_digit(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* "user:password" in base64; the password is compared. */
static bool is_basic(const char *text, const char *token)
{
	struct buf plain = {0};
	const uint8_t *colon;
	uint32_t bits = 0;
	int count = 0;
	bool is_same = false;

	for (; base64_digit(*text) >= 0 && plain.count < 2 * ACCESS_TOKEN_MAX; text++) {
		bits = bits << 6 | (uint32_t)base64_digit(*text);
		count += 6;
		if (count >= 8) {
			count -= 8;
			buf_put_u8(&plain, (uint8_t)(bits >> count));
		}
	}
	colon = plain.count ? memchr(plain.at, ':', plain.count) : NULL;
	if (colon && !plain.failed)
		is_same = is_same_secret((const char *)colon + 1,
					 (size_t)(plain.at + plain.count - colon - 1), token);
	buf_free(&plain);
	return is_same;
}

static bool has_token(const char *authorization, const char *token)
{
	if (!token || !authorization)
		return false;
	if (!strncasecmp(authorization, "Bearer ", 7))
		return is_same_secret(authorization + 7, strlen(authorization + 7), token);
	return !strncasecmp(authorization, "Basic ", 6) && is_basic(authorization + 6, token);
}

/* Whether a Host header, "NAME" or "NAME:PORT", has that name; of an IPv6 address "[::1]". */
static bool is_host(const char *host, const char *name)
{
	size_t length = strlen(name);

	if (strncasecmp(host, name, length))
		return false;
	if (!host[length])
		return true;
	return host[length] == ':' &&
	       strspn(host + length + 1, "0123456789") == strlen(host + length + 1);
}

static bool is_this_machine(const char *host, const char *address)
{
	char literal[64];

	snprintf(literal, sizeof(literal), strchr(address, ':') ? "[%s]" : "%s", address);
	return host && (is_host(host, "localhost") || is_host(host, "127.0.0.1") ||
			is_host(host, "[::1]") || is_host(host, literal));
}

/* A browser says where a page that sends something came from. */
static bool is_cross_origin(const struct access_request *r)
{
	const char *name;

	if (r->fetch_site && strcmp(r->fetch_site, "same-origin") && strcmp(r->fetch_site, "none"))
		return true;
	if (!r->origin)
		return false;
	name = strstr(r->origin, "://");
	return !name || !r->host || strcasecmp(name + 3, r->host) != 0;
}

int access_check(const char *token, const char *address, const struct access_request *r,
		 struct fail *why)
{
	if (has_token(r->authorization, token))
		return 0;
	if (address && !is_this_machine(r->host, address))
		return fail(why, -EPERM, "open it as http://localhost or http://127.0.0.1",
			    "this server answers this machine only, and the request's Host header "
			    "names another");
	if (r->is_post && is_cross_origin(r))
		return fail(why, -EPERM, NULL, "a page of another site may not send anything here");
	if (!token || r->is_open)
		return 0;
	return fail(why, -EACCES, "send it as 'Authorization: Bearer TOKEN'",
		    r->authorization ? "the token is not the right one"
				     : "this server answers only with its token");
}

int access_take_token(const char *text, char **token, struct fail *why)
{
	size_t length = strcspn(text, "\r\n");

	while (length && (text[length - 1] == ' ' || text[length - 1] == '\t'))
		length--;
	if (length < ACCESS_TOKEN_MIN || length > ACCESS_TOKEN_MAX)
		return fail(why, -EINVAL, "'openssl rand -hex 32' makes a good one",
			    "a token has %d to %d characters, this one %zu", ACCESS_TOKEN_MIN,
			    ACCESS_TOKEN_MAX, length);
	for (size_t i = 0; i < length; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return fail(
				why, -EINVAL, NULL,
				"a token has printable characters of ASCII only, and no blanks");
	*token = strndup(text, length);
	return *token ? 0 : fail_errno(why, -ENOMEM, NULL, "cannot keep the token");
}

int access_read_token(const char *path, char **token, struct fail *why)
{
	char line[2 * ACCESS_TOKEN_MAX] = "";
	FILE *file = fopen(path, "re");
	int err;

	if (!file)
		return fail_errno(why, -errno,
				  errno == EACCES ? "it must be readable by the user that runs this"
						  : "name the file that it stands in",
				  "cannot read the token in %s", path);
	if (!fgets(line, sizeof(line), file) && ferror(file))
		err = fail_errno(why, -EIO, NULL, "cannot read the token in %s", path);
	else
		err = access_take_token(line, token, why);
	fclose(file);
	explicit_bzero(line, sizeof(line));
	return err;
}
