// SPDX-License-Identifier: Apache-2.0
#include "server/url.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes in place. */
static int decode(char *text, struct fail *why)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		int high, low;

		if (*from != '%') {
			*to++ = *from == '+' ? ' ' : *from;
			continue;
		}
		high = hex_digit(from[1]);
		low = high < 0 ? -1 : hex_digit(from[2]);
		if (low < 0)
			return fail(why, -EINVAL, NULL,
				    "a '%%' in the address is not followed by two digits");
		if (!high && !low)
			return fail(why, -EINVAL, NULL, "a zero byte in the address");
		*to++ = (char)(high << 4 | low);
		from += 2;
	}
	*to = 0;
	return 0;
}

static int parse_parameter(struct url *url, char *text, struct fail *why)
{
	char *value = strchr(text, '=');
	int err;

	if (url->count == URL_PARAMETERS_MAX)
		return fail(why, -EINVAL, NULL, "the address has more than %d parameters",
			    URL_PARAMETERS_MAX);
	if (value)
		*value++ = 0;
	else
		value = text + strlen(text);
	err = decode(text, why);
	if (!err)
		err = decode(value, why);
	if (!err)
		url->parameters[url->count++] = (struct url_parameter){text, value};
	return err;
}

int url_parse(const char *raw, struct url *url, struct fail *why)
{
	char *rest, *part;
	int err = 0;

	url->text = NULL;
	url->path = "";
	url->count = 0;
	if (strlen(raw) > URL_LENGTH_MAX)
		return fail(why, -EINVAL, NULL, "the address is longer than %d bytes",
			    URL_LENGTH_MAX);
	url->text = strdup(raw);
	if (!url->text)
		return fail_errno(why, -ENOMEM, NULL, "cannot take the address");
	rest = strchr(url->text, '?');
	if (rest)
		*rest++ = 0;
	url->path = url->text;
	/* those of the page are for its script, which says what is wrong with them */
	if (!strcmp(url->path, "/"))
		return 0;
	while (!err && (part = strsep(&rest, "&")))
		if (*part)
			err = parse_parameter(url, part, why);
	return err;
}

void url_free(struct url *url)
{
	free(url->text);
	url->text = NULL;
	url->path = "";
	url->count = 0;
}

const char *url_value(const struct url *url, const char *name)
{
	for (size_t i = 0; i < url->count; i++)
		if (!strcmp(url->parameters[i].name, name))
			return url->parameters[i].value;
	return NULL;
}
