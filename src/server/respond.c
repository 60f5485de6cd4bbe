// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "server/internal.h"

/*
 * The page loads nothing but what this server serves, runs no script but its own file, and stands
 * in no other site's frame; nothing that an answer holds is taken for something else than its type
 * says.
 */
static const char *const headers[][2] = {
	{"Content-Security-Policy",
	 "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
	 "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
	{"X-Content-Type-Options", "nosniff"},
	{"Referrer-Policy", "no-referrer"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{"Cross-Origin-Opener-Policy", "same-origin"},
	{"Vary", "Accept-Encoding"},
};

/* A browser that has seen the page by TLS goes there in no other way for half a year. */
#define HSTS "max-age=15552000"

static void add_headers(const struct call *call, struct MHD_Response *response)
{
	if (call->server->tls)
		MHD_add_response_header(response, "Strict-Transport-Security", HSTS);
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		MHD_add_response_header(response, headers[i][0], headers[i][1]);
}

unsigned int respond_status(int err)
{
	switch (err) {
	case -EINVAL:
	case -EBADMSG:
		return MHD_HTTP_BAD_REQUEST;
	case -EPERM:
		return MHD_HTTP_FORBIDDEN;
	case -ENOENT:
		return MHD_HTTP_NOT_FOUND;
	case -E2BIG:
		return MHD_HTTP_CONTENT_TOO_LARGE;
	case -EOPNOTSUPP:
		return MHD_HTTP_UNSUPPORTED_MEDIA_TYPE;
	case -EBUSY:
	case -ECANCELED:
	case -ENOMEM:
		return MHD_HTTP_SERVICE_UNAVAILABLE;
	case -ENOSPC:
		return MHD_HTTP_INSUFFICIENT_STORAGE;
	default:
		return MHD_HTTP_INTERNAL_SERVER_ERROR;
	}
}

/* Takes over the bytes of *b. */
static struct MHD_Response *response_of(struct buf *b)
{
	struct MHD_Response *response;

	if (b->failed)
		return NULL;
	response = MHD_create_response_from_buffer(b->count, b->at, MHD_RESPMEM_MUST_FREE);
	if (response)
		*b = (struct buf){0};
	return response;
}

static void add_retry_and_challenge(struct call *call, struct MHD_Response *response)
{
	const char *method = call->route ? call->route->method : NULL;
	char seconds[24];

	if (call->status == MHD_HTTP_TOO_MANY_REQUESTS) {
		snprintf(seconds, sizeof(seconds), "%" PRIu64, call->retry_after);
		MHD_add_response_header(response, "Retry-After", seconds);
	}
	if (call->status == MHD_HTTP_SERVICE_UNAVAILABLE)
		MHD_add_response_header(response, "Retry-After", "1");
	if (call->status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(response, "WWW-Authenticate", "Bearer realm=\"stackcam\"");
	if (call->status != MHD_HTTP_METHOD_NOT_ALLOWED)
		return;
	for (size_t i = 0; !method && i < route_count; i++)
		if (!strcmp(routes[i].path, call->url.path))
			method = routes[i].method;
	if (method)
		MHD_add_response_header(response, "Allow",
					strcmp(method, "GET") ? method : "GET, HEAD");
}

/*
 * Words about a file have its path, for those who run the server. Clients get its name alone: where
 * the server keeps its files is none of their business.
 */
static void hide_folders(char *words)
{
	char *to = words, before = ' ';

	while (*words) {
		size_t length = strcspn(words, " '\"(),:;\n");
		char *slash = memrchr(words, '/', length);

		if (*words == '/' && slash && strchr(" '\"(", before) &&
		    strncmp(words, "/api/", 5) != 0) {
			length -= (size_t)(slash + 1 - words);
			words = slash + 1;
		}
		length += words[length] != 0;
		memmove(to, words, length);
		to += length;
		words += length;
		before = length ? to[-1] : before;
	}
	*to = 0;
}

struct MHD_Response *respond_failure(struct call *call, unsigned int status, const struct fail *why)
{
	char words[sizeof(why->what) + sizeof(why->to_do) + 4];
	struct MHD_Response *response = NULL;
	char *text = NULL;
	size_t size = 0;
	struct json json = {.out = open_memstream(&text, &size)};

	call->status = status;
	if (!json.out)
		return NULL;
	snprintf(words, sizeof(words), "%s%s%s", why->what, *why->to_do ? "; " : "", why->to_do);
	hide_folders(words);
	json_open(&json, NULL, '{');
	json_text(&json, "error", words);
	json_close(&json, '}');
	fputc('\n', json.out);
	if (!fclose(json.out))
		response = MHD_create_response_from_buffer(size, text, MHD_RESPMEM_MUST_FREE);
	if (!response) {
		free(text);
		return NULL;
	}
	add_headers(call, response);
	MHD_add_response_header(response, "Content-Type", "application/json");
	MHD_add_response_header(response, "Cache-Control", "no-store");
	add_retry_and_challenge(call, response);
	return response;
}

/* Whether the client has what it would get: If-None-Match holds the tag, or '*'. */
static bool is_known(const struct call *call, const char *tag)
{
	const char *known = call_header(call, "If-None-Match");

	return known && (!strcmp(known, "*") || strstr(known, tag));
}

struct MHD_Response *respond(struct call *call, struct answer *answer, struct out *out)
{
	bool has_tag = answer->status == MHD_HTTP_OK && !answer->no_store &&
		       !strcmp(call->route->method, "GET");
	const char *coding = answer->packed ? answer->packed : out_coding_name(out->coding);
	struct MHD_Response *response;
	char tag[32], disposition[160];

	/* weak: the same content may come compressed in several ways */
	snprintf(tag, sizeof(tag), "\"%016" PRIx64 "\"", out->hash);
	call->status = answer->status;
	if (has_tag && is_known(call, tag)) {
		call->status = MHD_HTTP_NOT_MODIFIED;
		response = MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
	} else {
		response = response_of(&out->bytes);
	}
	if (!response)
		return NULL;
	add_headers(call, response);
	MHD_add_response_header(response, "Cache-Control",
				has_tag ? "private, no-cache" : "no-store");
	if (has_tag) {
		char weak[40];

		snprintf(weak, sizeof(weak), "W/%s", tag);
		MHD_add_response_header(response, "ETag", weak);
	}
	if (call->status == MHD_HTTP_NOT_MODIFIED)
		return response;
	MHD_add_response_header(response, "Content-Type", answer->type);
	if (coding && *coding)
		MHD_add_response_header(response, "Content-Encoding", coding);
	if (answer->disposition) {
		snprintf(disposition, sizeof(disposition), "attachment; filename=\"%s\"",
			 answer->disposition);
		MHD_add_response_header(response, "Content-Disposition", disposition);
	}
	return response;
}
