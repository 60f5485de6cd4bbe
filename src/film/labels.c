// SPDX-License-Identifier: Apache-2.0
#include "film/labels.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define HOW_TO "give KEY=VALUE, such as env=prod"

bool film_label_key_ok(const char *key, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++) {
		unsigned char c = (unsigned char)key[i];

		/* not isalnum(): that depends on the locale */
		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
		    !(c && strchr("_.-", c)))
			return false;
	}
	return length && length <= FILM_LABEL_KEY_MAX;
}

bool film_label_value_ok(const char *value, size_t length)
{
	size_t i, n;

	for (i = 0; i < length; i += n) {
		uint32_t point;

		n = text_utf8(value + i, length - i, &point);
		if (!n || point < 0x20 || point == ',' || (point >= 0x7f && point < 0xa0))
			return false;
	}
	return length && length <= FILM_LABEL_VALUE_MAX;
}

const char *film_labels_next(const char **at, char key[FILM_LABEL_KEY_MAX + 1], size_t *length)
{
	const char *equals = strchr(*at, '='), *value;
	size_t key_length = equals ? (size_t)(equals - *at) : 0;

	if (!equals || key_length > FILM_LABEL_KEY_MAX)
		return NULL;
	memcpy(key, *at, key_length);
	key[key_length] = 0;
	value = equals + 1;
	*length = strcspn(value, ",");
	*at = value + *length + (value[*length] == ',');
	return value;
}

void film_labels_value(const char *labels, const char *key, char value[FILM_LABEL_VALUE_MAX + 1])
{
	char found[FILM_LABEL_KEY_MAX + 1];
	const char *at;
	size_t length;

	*value = 0;
	while ((at = film_labels_next(&labels, found, &length))) {
		if (strcmp(found, key) != 0)
			continue;
		snprintf(value, FILM_LABEL_VALUE_MAX + 1, "%.*s", (int)length, at);
		return;
	}
}

/* A label's text in labels, with its length; null: there is none of that key. */
static char *find(char *labels, const char *key, size_t key_length, size_t *length)
{
	char *at = labels;

	while (*at) {
		*length = strcspn(at, ",");
		if (!strncmp(at, key, key_length) && at[key_length] == '=')
			return at;
		at += *length;
		at += *at == ',';
	}
	return NULL;
}

static void remove_label(char *labels, char *at, size_t length)
{
	char *end = at + length;

	if (*end == ',')
		end++;
	else if (at > labels)
		at--;
	memmove(at, end, strlen(end) + 1);
}

/* How "a=1" and "a.b=1" sort: by their keys. */
static int compare_keys(const char *a, const char *b)
{
	size_t x = strcspn(a, "="), y = strcspn(b, "=");
	int order = memcmp(a, b, x < y ? x : y);

	return order ? order : (x > y) - (x < y);
}

static size_t count_labels(const char *labels)
{
	size_t count = *labels != 0;

	for (; *labels; labels++)
		count += *labels == ',';
	return count;
}

int film_labels_add(char *labels, size_t size, const char *label, struct fail *why)
{
	const char *equals = strchr(label, '=');
	size_t key_length = equals ? (size_t)(equals - label) : 0, length = strlen(label), had;
	char *at;

	if (!equals || !film_label_key_ok(label, key_length))
		return fail(why, -EINVAL, HOW_TO,
			    "the label '%.100s' has no key of at most %d letters, digits, '_', '.' "
			    "or '-'",
			    label, FILM_LABEL_KEY_MAX);
	if (!film_label_value_ok(equals + 1, length - key_length - 1))
		return fail(why, -EINVAL, HOW_TO,
			    "the label '%.100s' has no value of at most %d bytes without commas",
			    label, FILM_LABEL_VALUE_MAX);
	at = find(labels, label, key_length, &had);
	if (at)
		remove_label(labels, at, had);
	if (count_labels(labels) >= FILM_LABELS_MAX || strlen(labels) + length + 2 > size)
		return fail(why, -E2BIG, NULL, "there are more than %d labels", FILM_LABELS_MAX);
	for (at = labels; *at && compare_keys(at, label) < 0;) {
		at += strcspn(at, ",");
		at += *at == ',';
	}
	if (*at) {
		memmove(at + length + 1, at, strlen(at) + 1);
		at[length] = ',';
	} else {
		if (at > labels)
			*at++ = ',';
		at[length] = 0;
	}
	memcpy(at, label, length);
	return 0;
}

bool film_labels_have(const char *labels, const char *label)
{
	size_t length = strlen(label);

	while (*labels) {
		size_t has = strcspn(labels, ",");

		if (has == length && !memcmp(labels, label, length))
			return true;
		labels += has;
		labels += *labels == ',';
	}
	return false;
}
