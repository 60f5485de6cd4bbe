// SPDX-License-Identifier: Apache-2.0
#include "protocol/http_head.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/map.h"

/* A part of a head. */
struct part {
	const char *at;
	size_t size;
};

static const char *const methods[] = {"GET",	 "POST",    "PUT",   "HEAD", "DELETE",
				      "OPTIONS", "CONNECT", "TRACE", "PATCH"};

static const char *method_of(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		size_t length = strlen(methods[i]);

		if (size > length && !memcmp(data, methods[i], length) && data[length] == ' ')
			return methods[i];
	}
	return NULL;
}

bool http_begins(const uint8_t *data, size_t size, bool *is_request)
{
	*is_request = method_of(data, size);
	return *is_request || (size >= 7 && !memcmp(data, "HTTP/1.", 7));
}

size_t http_head_end(const uint8_t *data, size_t size)
{
	const uint8_t *at = data, *end = data + size;

	while (at < end && (at = memchr(at, '\n', (size_t)(end - at)))) {
		at++;
		/* a line that ends without a carriage return is one, too (RFC 9112, 2.2) */
		if (at < end && *at == '\n')
			return (size_t)(at + 1 - data);
		if (end - at >= 2 && at[0] == '\r' && at[1] == '\n')
			return (size_t)(at + 2 - data);
	}
	return 0;
}

/* Eats a line, without what ends it. */
static bool next_line(struct part *rest, struct part *line)
{
	const char *end = rest->size ? memchr(rest->at, '\n', rest->size) : NULL;

	if (!end)
		return false;
	*line = (struct part){rest->at, (size_t)(end - rest->at)};
	rest->size -= line->size + 1;
	rest->at = end + 1;
	if (line->size && line->at[line->size - 1] == '\r')
		line->size--;
	return true;
}

static bool is_named(const struct part *name, const char *what)
{
	return name->size == strlen(what) && !strncasecmp(name->at, what, name->size);
}

static bool has_word(const struct part *value, const char *word)
{
	size_t length = strlen(word);

	for (size_t i = 0; i + length <= value->size; i++)
		if (!strncasecmp(value->at + i, word, length))
			return true;
	return false;
}

/* Two lengths that differ, or none that is a number, make a message that cannot be followed. */
static bool parse_length(struct http_head *head, const struct part *value)
{
	uint64_t count = 0;

	if (!value->size || value->size > 18)
		return false;
	for (size_t i = 0; i < value->size; i++) {
		if (!isdigit((unsigned char)value->at[i]))
			return false;
		count = count * 10 + (uint64_t)(value->at[i] - '0');
	}
	if (head->length == HTTP_COUNTED && head->count != count)
		return false;
	if (head->length != HTTP_CHUNKED) {
		head->length = HTTP_COUNTED;
		head->count = count;
	}
	return true;
}

/* The part of a value between two of these characters. */
static struct part field(const struct part *value, char separator, unsigned int number)
{
	struct part part = *value;
	const char *end;

	for (; number; number--) {
		end = part.size ? memchr(part.at, separator, part.size) : NULL;
		if (!end)
			return (struct part){value->at, 0};
		part.size -= (size_t)(end + 1 - part.at);
		part.at = end + 1;
	}
	end = part.size ? memchr(part.at, separator, part.size) : NULL;
	if (end)
		part.size = (size_t)(end - part.at);
	return part;
}

static struct part whole(const struct part *value)
{
	return *value;
}

static struct part of_traceparent(const struct part *value)
{
	return field(value, '-', 1);
}

static struct part of_b3(const struct part *value)
{
	return field(value, '-', 0);
}

static struct part of_uber(const struct part *value)
{
	return field(value, ':', 0);
}

/* The trace id of sw8 is the second field, in base64. */
static struct part of_sw8(const struct part *value)
{
	return field(value, '-', 1);
}

/* Headers that carry an id, the one that says most first. */
static const struct {
	const char *name;
	enum film_request_id_kind kind;
	struct part (*id)(const struct part *value);
} ids[] = {
	{"traceparent", FILM_REQUEST_ID_TRACEPARENT, of_traceparent},
	{"b3", FILM_REQUEST_ID_B3, of_b3},
	{"x-b3-traceid", FILM_REQUEST_ID_B3, whole},
	{"sw8", FILM_REQUEST_ID_SW8, of_sw8},
	{"uber-trace-id", FILM_REQUEST_ID_UBER, of_uber},
	{"x-request-id", FILM_REQUEST_ID_REQUEST_ID, whole},
};

void http_parse_id(struct protocol_request *request, const char *name_at, size_t name_size,
		   const char *value_at, size_t value_size)
{
	const struct part whole_name = {name_at, name_size}, *name = &whole_name;
	const struct part whole_value = {value_at, value_size}, *value = &whole_value;

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		struct part id;

		if (!is_named(name, ids[i].name))
			continue;
		id = ids[i].id(value);
		if (!id.size || (request->id_kind && request->id_kind <= ids[i].kind))
			return;
		request->id_kind = (uint8_t)ids[i].kind;
		request->flags &= ~(uint32_t)FILM_REQUEST_ID_CUT;
		if (!protocol_put_text(request->id, sizeof(request->id), id.at, id.size))
			request->flags |= FILM_REQUEST_ID_CUT;
		return;
	}
}

void http_say_header(struct protocol_request *request, const char *name_at, size_t name_size,
		     const char *value, size_t value_size)
{
	/* caches have conditions and ranges of their own */
	static const char *const said[] = {
		"accept",	"accept-language", "authorization",    "content-length",
		"content-type", "cookie",	   "origin",	       "referer",
		"user-agent",	"x-api-key",	   "x-requested-with",
	};
	const struct part name = {name_at, name_size};

	/* in any order */
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++)
		if (is_named(&name, said[i]))
			request->says += hash_u64(hash_bytes(value, value_size) + i + 1);
}

/* False: the message cannot be followed any further. */
static bool parse_header(struct http_head *head, const struct part *line)
{
	const char *colon = line->size ? memchr(line->at, ':', line->size) : NULL;
	struct part name, value;

	if (!colon)
		return true;
	name = (struct part){line->at, (size_t)(colon - line->at)};
	value = (struct part){colon + 1, line->size - name.size - 1};
	while (value.size && (*value.at == ' ' || *value.at == '\t'))
		value.at++, value.size--;
	while (value.size && strchr(" \t", value.at[value.size - 1]))
		value.size--;
	if (head->is_request)
		http_say_header(&head->request, name.at, name.size, value.at, value.size);
	if (is_named(&name, "content-length"))
		return parse_length(head, &value);
	if (is_named(&name, "transfer-encoding") && has_word(&value, "chunked"))
		head->length = HTTP_CHUNKED;
	else if (!head->is_request && is_named(&name, "upgrade") && has_word(&value, "h2c"))
		head->is_h2c = true;
	else if (head->is_request)
		http_parse_id(&head->request, name.at, name.size, value.at, value.size);
	return true;
}

/* "http://host:80/path" is a path, too. */
static struct part path_of(const struct part *target)
{
	struct part path = *target;
	const char *slash = path.size ? memchr(path.at, '/', path.size) : NULL;

	if (!slash || slash == path.at || slash[-1] != ':' || path.at + path.size - slash < 2)
		return path;
	path.size -= (size_t)(slash + 2 - path.at);
	path.at = slash + 2;
	slash = path.size ? memchr(path.at, '/', path.size) : NULL;
	if (!slash)
		return (struct part){"/", 1};
	path.size -= (size_t)(slash - path.at);
	path.at = slash;
	return path;
}

void http_put_target(struct protocol_request *request, const char *method, const char *target,
		     size_t size, bool keep_query)
{
	const struct part all = {target, size}, path = path_of(&all);
	size_t length = strlen(method);

	if (!protocol_put_target(request->path, sizeof(request->path), target, size, keep_query))
		request->flags |= FILM_REQUEST_PATH_CUT;
	request->says += hash_u64(hash_bytes(path.at, path.size) ^ hash_bytes(method, length));
	if (length + 1 >= sizeof(request->endpoint))
		length = sizeof(request->endpoint) - 2;
	memcpy(request->endpoint, method, length);
	request->endpoint[length++] = ' ';
	protocol_put_path(request->endpoint, sizeof(request->endpoint), length, path.at, path.size);
}

/* "GET /path HTTP/1.1"; of one that is cut, the version may be missing. */
static bool read_request_line(const struct part *line, bool cut, bool keep_query,
			      struct http_head *head)
{
	const char *method = method_of((const uint8_t *)line->at, line->size), *end;
	struct protocol_request *request = &head->request;
	struct part target;

	if (!method)
		return false;
	target.at = line->at + strlen(method) + 1;
	target.size = line->size - strlen(method) - 1;
	end = target.size ? memchr(target.at, ' ', target.size) : NULL;
	if (!end && !cut)
		return false;
	if (end) {
		const char *version = end + 1;
		size_t size = (size_t)(target.at + target.size - version);

		if (!cut && (size != 8 || memcmp(version, "HTTP/1.", 7) ||
			     !isdigit((unsigned char)version[7])))
			return false;
		target.size = (size_t)(end - target.at);
	}
	if (!target.size)
		return false;
	head->is_head = !strcmp(method, "HEAD");
	head->is_connect = !strcmp(method, "CONNECT");
	http_put_target(request, method, target.at, target.size, keep_query);
	if (!end)
		request->flags |= FILM_REQUEST_PATH_CUT;
	return true;
}

/* "HTTP/1.1 200 OK" */
static bool read_status_line(const struct part *line, struct http_head *head)
{
	const char *at = line->at;

	if (line->size < 12 || memcmp(at, "HTTP/1.", 7) || !isdigit((unsigned char)at[7]) ||
	    at[8] != ' ')
		return false;
	for (int i = 9; i < 12; i++) {
		if (!isdigit((unsigned char)at[i]))
			return false;
		head->status = head->status * 10 + (uint32_t)(at[i] - '0');
	}
	return head->status >= 100 && head->status <= 599;
}

bool http_head_read(const uint8_t *data, size_t size, bool keep_query, struct http_head *head)
{
	struct part rest = {(const char *)data, size}, line;
	bool whole_line, ok;

	*head = (struct http_head){0};
	if (!http_begins(data, size, &head->is_request))
		return false;
	whole_line = next_line(&rest, &line);
	if (!whole_line)
		line = rest, rest.size = 0;
	if (head->is_request)
		ok = read_request_line(&line, !whole_line, keep_query, head);
	else
		ok = read_status_line(&line, head);
	if (!ok)
		return false;
	if (!head->is_request)
		head->length = HTTP_UNTIL_CLOSE;
	while (next_line(&rest, &line) && line.size)
		if (!parse_header(head, &line))
			return false;
	/* what is missing may say something else */
	if (!http_head_end(data, size))
		head->request.says = 0;
	return true;
}
