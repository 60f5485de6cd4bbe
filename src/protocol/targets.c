// SPDX-License-Identifier: Apache-2.0
/*
 * What is kept of the target of a request: "/find?q=*&session=*". Addresses have secrets in them:
 * sessions, keys of an API, links to change a password or to a private file. A film has neither the
 * values of a query, nor parts of a path that look random.
 */
#include "protocol/protocol.h"

#include <ctype.h>
#include <string.h>

enum {
	RANDOM_LEAST = 16, /* characters: 64 bits of hexadecimal digits */
	RANDOM_DIGITS = 4,
	RANDOM_SWITCHES = 4,
	RANDOM_CAPITALS = 4,
	NAME_MOST = 64,
};

/*
 * Many digits, or digits between letters again and again, or capitals that do not begin words, as
 * those of "getUserName" do.
 */
bool protocol_is_random(const char *word, size_t length)
{
	size_t digits = 0, switches = 0, capitals = 0, begin_words = 0;

	if (length < RANDOM_LEAST)
		return false;
	for (size_t i = 0; i < length; i++) {
		const unsigned char c = (unsigned char)word[i];
		const unsigned char next = i + 1 < length ? (unsigned char)word[i + 1] : 0;

		digits += isdigit(c) != 0;
		switches += (isdigit(c) && isalpha(next)) || (isalpha(c) && isdigit(next));
		if (!isupper(c))
			continue;
		capitals++;
		begin_words +=
			i + 2 < length && islower(next) && islower((unsigned char)word[i + 2]);
	}
	return digits >= RANDOM_DIGITS || switches >= RANDOM_SWITCHES ||
	       (capitals >= RANDOM_CAPITALS && 2 * begin_words < capitals);
}

void protocol_hide_random(char *text, const char *separators)
{
	char *to = text;

	while (*text) {
		const size_t length = strcspn(text, separators);

		if (protocol_is_random(text, length)) {
			*to++ = '*';
		} else {
			memmove(to, text, length);
			to += length;
		}
		text += length;
		if (*text)
			*to++ = *text++;
	}
	*to = 0;
}

struct target {
	const char *at, *end;
	char *to;
	size_t used, size;
	bool is_cut;
};

static void put(struct target *t, const char *text, size_t bytes)
{
	size_t room = t->size - 1 - t->used, kept = bytes < room ? bytes : room;

	protocol_put_text(t->to + t->used, kept + 1, text, kept);
	t->used += kept;
	t->is_cut |= kept < bytes;
}

static bool is_at(const struct target *t, const char *characters)
{
	return t->at < t->end && *t->at && strchr(characters, *t->at);
}

/* Skips what comes before one of these characters. Returns how much that is. */
static size_t until(struct target *t, const char *characters)
{
	const char *begin = t->at;

	while (t->at < t->end && !is_at(t, characters))
		t->at++;
	return (size_t)(t->at - begin);
}

static bool is_plain(const char *word, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!isalpha((unsigned char)word[i]) && !strchr("_-.", word[i]))
			return false;
	return true;
}

/* "NAME=VALUE", up to one of these characters. What has no '=' can be a value, too. */
static void put_parameter(struct target *t, const char *name_ends, const char *ends)
{
	const char *name = t->at;
	const size_t length = until(t, name_ends);
	const bool has_value = is_at(t, "=");

	if (length > NAME_MOST || protocol_is_random(name, length) ||
	    (!has_value && !is_plain(name, length)))
		put(t, "*", 1);
	else
		put(t, name, length);
	if (!has_value)
		return;
	put(t, t->at++, 1);
	if (until(t, ends))
		put(t, "*", 1);
}

/* "/orders/1234;session=*", up to its query. */
static void put_path(struct target *t, bool keep_query)
{
	while (t->at < t->end && !is_at(t, "?#")) {
		const char *word = t->at;
		const size_t length = until(t, "/;?#");

		if (protocol_is_random(word, length))
			put(t, "*", 1);
		else
			put(t, word, length);
		while (is_at(t, ";")) {
			word = t->at;
			put(t, t->at++, 1);
			if (keep_query)
				put(t, word + 1, until(t, "/;?#"));
			else
				put_parameter(t, "=/;?#", "/;?#");
		}
		if (is_at(t, "/"))
			put(t, t->at++, 1);
	}
}

static void put_query(struct target *t)
{
	put(t, t->at++, 1);
	while (t->at < t->end && !is_at(t, "#")) {
		put_parameter(t, "=&#", "&#");
		if (is_at(t, "&"))
			put(t, t->at++, 1);
	}
}

/* "http://user:password@host/path" has a secret, too. */
static void put_authority(struct target *t)
{
	const char *begin = t->at, *host = NULL;

	until(t, "/?#");
	if (t->at == begin || t->at[-1] != ':' || t->end - t->at < 2 || t->at[1] != '/') {
		t->at = begin;
		return;
	}
	t->at += 2;
	put(t, begin, (size_t)(t->at - begin));
	begin = t->at;
	for (until(t, "/?#"); t->at > begin && !host; t->at--)
		if (t->at[-1] == '@')
			host = t->at;
	t->at = host ? host - 1 : begin;
	if (host)
		put(t, "*", 1);
}

bool protocol_put_target(char *to, size_t size, const char *target, size_t bytes, bool keep_query)
{
	struct target t = {.at = target, .to = to, .size = size};

	*to = 0;
	t.end = target + strnlen(target, bytes);
	put_authority(&t);
	put_path(&t, keep_query);
	if (is_at(&t, "?") && !keep_query)
		put_query(&t);
	else
		put(&t, t.at, (size_t)(t.end - t.at));
	return !t.is_cut;
}
