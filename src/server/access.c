// SPDX-License-Identifier: Apache-2.0
#include "server/access.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"

/* Takes as long wherever the first difference is. That the length shows does no harm. */
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

/* Decodes "user:password" in base64 into *plain, which the caller frees. The password, or null. */
static const char *password_of(const char *text, struct buf *plain)
{
	const char *colon;
	uint32_t bits = 0;
	int count = 0;

	for (; base64_digit(*text) >= 0 && plain->count < 2 * TOKEN_MAX; text++) {
		bits = bits << 6 | (uint32_t)base64_digit(*text);
		count += 6;
		if (count >= 8) {
			count -= 8;
			buf_put_u8(plain, (uint8_t)(bits >> count));
		}
	}
	buf_put_u8(plain, 0);
	if (plain->failed)
		return NULL;
	colon = strchr((const char *)plain->at, ':');
	return colon ? colon + 1 : NULL;
}

/* As is_same_secret(), of a token of which the digest alone is known. */
static bool is_same_digest(const uint8_t given[TOKEN_DIGEST], const uint8_t digest[TOKEN_DIGEST])
{
	volatile unsigned char differs = 0;

	for (size_t i = 0; i < TOKEN_DIGEST; i++)
		differs |= given[i] ^ digest[i];
	return !differs;
}

static bool is_given(const char *given, const uint8_t *digest, const struct token *token)
{
	return token->text ? is_same_secret(given, strlen(given), token->text)
			   : digest && is_same_digest(digest, token->digest);
}

/* The token that was sent, if it is one of ours. All are compared, whichever it is. */
static const struct token *find_token(const struct tokens *tokens, const char *authorization)
{
	const struct token *found = NULL;
	uint8_t digest[TOKEN_DIGEST];
	const char *given = NULL;
	struct buf plain = {0};
	bool has_digest;

	if (authorization && !strncasecmp(authorization, "Bearer ", 7))
		given = authorization + 7;
	else if (authorization && !strncasecmp(authorization, "Basic ", 6))
		given = password_of(authorization + 6, &plain);
	has_digest = given && !gnutls_hash_fast(GNUTLS_DIG_SHA256, given, strlen(given), digest);
	vec_foreach (&tokens->all, token)
		if (given && is_given(given, has_digest ? digest : NULL, token) && !found)
			found = token;
	if (plain.at)
		explicit_bzero(plain.at, plain.count);
	buf_free(&plain);
	return found;
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

static int fail_read_only(struct fail *why)
{
	return fail(why, -EPERM, NULL, "this server takes no films");
}

/* Without a token, or with one that is none of ours. */
static int check_stranger(const struct access_rules *rules, const struct access_request *r,
			  struct fail *why)
{
	if (rules->address && !is_this_machine(r->host, rules->address))
		return fail(why, -EPERM, "open it as http://localhost or http://127.0.0.1",
			    "this server answers this machine only, and the request's Host header "
			    "names another");
	if (r->is_post && is_cross_origin(r))
		return fail(why, -EPERM, NULL, "a page of another site may not send anything here");
	if (r->is_push && rules->is_read_only)
		return fail_read_only(why);
	if (r->is_open || (r->is_push ? rules->write_open : rules->read_open))
		return 0;
	return fail(why, -EACCES, "send it as 'Authorization: Bearer TOKEN'",
		    r->authorization ? "the token is not the right one"
		    : r->is_push     ? "this server takes films only with a token to write"
				     : "this server answers only with a token to read");
}

static void fill(struct access_grant *grant, const struct token *token)
{
	grant->sender = token->id;
	grant->questions = token->questions;
	snprintf(grant->host, sizeof(grant->host), "%s", token->host ? token->host : "");
	snprintf(grant->name, sizeof(grant->name), "%s", token->name ? token->name : "");
	snprintf(grant->services, sizeof(grant->services), "%s",
		 token->services ? token->services : "");
}

static bool allows(const struct token *token, const struct access_rules *rules,
		   const struct access_request *r)
{
	if (r->is_push)
		return r->is_record ? token->may_record : token->may_upload;
	return token->may_read || rules->read_open || r->is_open;
}

int access_check(const struct access_rules *rules, const struct access_request *r,
		 struct access_grant *grant, struct fail *why)
{
	static const char other[] = "use another token of the server's file";
	const struct token *token = find_token(rules->tokens, r->authorization);

	*grant = (struct access_grant){0};
	if (!token)
		return check_stranger(rules, r, why);
	fill(grant, token);
	if (r->is_push && rules->is_read_only)
		return fail_read_only(why);
	if (!allows(token, rules, r))
		return fail(why, -EPERM, other,
			    r->is_record ? "this token does not allow to record"
			    : r->is_push ? "this token allows to read, not to send"
					 : "this token allows to send, not to read");
	if (token->services && r->is_of_all)
		return fail(why, -EPERM, other,
			    "this token shows some services only, and this view is of all that a "
			    "machine does");
	return 0;
}
