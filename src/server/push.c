// SPDX-License-Identifier: Apache-2.0
#include "server/push.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "exchange/folded/reader.h"
#include "exchange/otlp/reader.h"
#include "exchange/pprof/reader.h"
#include "exchange/pyroscope/ingest.h"
#include "exchange/pyroscope/reader.h"
#include "film/events.h"
#include "server/sender.h"

/*
 * What a profile is about that does not say how long it took: what Pyroscope's clients send by
 * default.
 */
#define USUAL_SPAN (10 * SECOND_NS)

/* A film that is made of what was pushed. */
struct making {
	const struct http_request *request;
	struct import *film;
	char path[PATH_MAX];
};

static int begin_film(struct making *making, struct import_origin *origin,
		      const struct import_span *span, struct fail *why)
{
	const struct access_grant *grant = making->request->grant;
	int err = import_check_span(span, clock_wall(), why);

	if (err)
		return err;
	if (!making->request->spool)
		return fail(why, -EOPNOTSUPP, "push to 'stackcam serve'",
			    "cannot take this profile: nothing is kept here");
	request_spool_name(making->request, making->path, sizeof(making->path));
	/* the film and the sender must agree on whose it is */
	if (!*origin->host)
		import_origin_label(origin, "host", grant && *grant->host ? grant->host : "pushed");
	return import_new(making->path, origin, span, &making->film, why);
}

/* err: of what was done since begin_film(). A film with neither samples nor losses is not kept. */
static int end_film(struct making *making, const struct import_origin *origin, int err,
		    struct fail *why)
{
	struct store_sender sender = {.host = origin->host, .agent = "", .number = 0};
	bool is_empty = import_is_empty(making->film), again;
	struct fail ignored;
	int closed = import_close(making->film, err ? &ignored : why);

	if (!err)
		err = closed;
	if (!err && !is_empty)
		err = sender_add_film(making->request, making->path, &sender, &again, why);
	if (err || is_empty)
		unlink(making->path);
	return err;
}

static int import_pprof(const struct http_request *request, const uint8_t *body, size_t size,
			struct import_origin *origin, struct import_span span, struct fail *why)
{
	struct making making = {.request = request};
	struct pprof_reader *profile = NULL;
	int err = pprof_reader_open(body, size, &profile, why);

	if (err)
		return err;
	pprof_reader_span(profile, &span);
	err = begin_film(&making, origin, &span, why);
	if (!err) {
		err = pprof_reader_import(profile, origin->service, making.film, why);
		err = end_film(&making, origin, err, why);
	}
	pprof_reader_free(profile);
	return err;
}

/* A count of samples is the time that they stand for; other units stay as they are. */
static int describe_text(const struct http_request *request, const char *type, struct import *film,
			 struct folded_values *what, struct fail *why)
{
	const char *units = request_parameter(request, "units");
	const char *rate = request_parameter(request, "sampleRate");
	uint64_t frequency = 100;

	if (rate && *rate && text_parse_u64(rate, 1, SECOND_NS, &frequency))
		return fail(why, -EINVAL, "send how many samples a second there were",
			    "cannot take this profile: its sampleRate is '%.20s'", rate);
	what->is_counted = !units || !*units || event_counts_samples(units, "");
	what->weight = what->is_counted ? SECOND_NS / frequency : 1;
	what->type = import_event(film, type, what->is_counted ? event_usual()->unit : units);
	return 0;
}

static int import_text(const struct http_request *request, const uint8_t *body, size_t size,
		       struct import_origin *origin, const char *type, bool has_numbers,
		       const struct import_span *span, struct fail *why)
{
	struct making making = {.request = request};
	struct folded_values what = {.service = origin->service, .has_numbers = has_numbers};
	int err = begin_film(&making, origin, span, why);

	if (err)
		return err;
	err = describe_text(request, type, making.film, &what, why);
	if (!err)
		err = folded_import(body, size, &what, making.film, why);
	return end_film(&making, origin, err, why);
}

static int read_span(const struct http_request *request, struct import_span *span, struct fail *why)
{
	const char *from = request_parameter(request, "from");
	const char *until = request_parameter(request, "until");
	uint64_t now = clock_wall();

	*span = (struct import_span){now - USUAL_SPAN, now};
	if (until && *until) {
		if (ingest_time_parse(until, &span->to))
			return fail(why, -EINVAL, "send seconds since 1970",
				    "cannot take this profile: until is '%.40s'", until);
		span->from = span->to - (span->to < USUAL_SPAN ? span->to : USUAL_SPAN);
	}
	if (from && *from && ingest_time_parse(from, &span->from))
		return fail(why, -EINVAL, "send seconds since 1970",
			    "cannot take this profile: from is '%.40s'", from);
	return 0;
}

enum format {
	FORMAT_PPROF,
	FORMAT_FOLDED,
	FORMAT_LINES,
	FORMAT_UNKNOWN
};

/* As Pyroscope does it: what is said, else what it looks like, else folded. */
static enum format find_format(const struct http_request *request, const uint8_t *body, size_t size)
{
	const char *format = request_parameter(request, "format");

	if (!format || !*format)
		return size > 1 && body[0] == 0x1f && body[1] == 0x8b ? FORMAT_PPROF
								      : FORMAT_FOLDED;
	if (!strcmp(format, "pprof"))
		return FORMAT_PPROF;
	if (!strcmp(format, "folded") || !strcmp(format, "collapsed") || !strcmp(format, "groups"))
		return FORMAT_FOLDED;
	return strcmp(format, "lines") ? FORMAT_UNKNOWN : FORMAT_LINES;
}

static int import_ingested(const struct http_request *request, struct import_origin *origin,
			   const char *type, struct fail *why)
{
	const uint8_t *body = request->body;
	size_t size = request->body_size;
	struct import_span span;
	enum format format;
	int err = read_span(request, &span, why), part;

	if (err)
		return err;
	part = ingest_part(request_header(request, "Content-Type"), body, size, "profile", &body,
			   &size);
	if (part == -ENOENT)
		return fail(why, -EBADMSG, "send a part named \"profile\"",
			    "cannot take this profile: no part of the form holds one");
	format = part ? find_format(request, body, size) : FORMAT_PPROF;
	switch (format) {
	case FORMAT_PPROF:
		return import_pprof(request, body, size, origin, span, why);
	case FORMAT_FOLDED:
	case FORMAT_LINES:
		return import_text(request, body, size, origin, type, format == FORMAT_FOLDED,
				   &span, why);
	default:
		return fail(why, -EOPNOTSUPP, "send pprof, folded or lines",
			    "cannot take this profile: its format '%.40s' is not understood",
			    request_parameter(request, "format"));
	}
}

int push_ingest(const struct http_request *request, struct answer *answer, struct fail *why)
{
	const char *name = request_parameter(request, "name");
	struct import_origin *origin;
	char type[INGEST_TYPE_MAX + 1];
	int err;

	if (!name || !*name)
		return fail(why, -EINVAL, "send the parameter name=APPLICATION",
			    "cannot take this profile: it does not say of what it is");
	origin = calloc(1, sizeof(*origin));
	if (!origin)
		return fail_errno(why, -ENOMEM, NULL, "cannot take this profile");
	ingest_name_parse(name, origin, type);
	if (!*origin->service)
		import_origin_label(origin, "service", "unknown");
	err = import_ingested(request, origin, type, why);
	free(origin);
	answer->type = "text/plain";
	answer->no_store = true;
	return err;
}

/* Whether the body is protobuf, and not JSON or a stream of gRPC. */
static int check_protobuf(const struct http_request *request, struct fail *why)
{
	static const char *const types[] = {"application/proto", "application/protobuf",
					    "application/x-protobuf", "application/octet-stream"};
	const char *type = request_header(request, "Content-Type");

	for (size_t i = 0; type && i < sizeof(types) / sizeof(types[0]); i++)
		if (!strncasecmp(type, types[i], strlen(types[i])) &&
		    strchr("; ", type[strlen(types[i])]))
			return 0;
	return fail(why, -EOPNOTSUPP, "send protobuf over HTTP, as application/x-protobuf",
		    "cannot take this profile: its Content-Type is not understood");
}

/* The push says nothing of a profile's time: that is in the profile. */
static int import_pushed(void *context, struct import_origin *origin, const uint8_t *profile,
			 size_t size, struct fail *why)
{
	const struct making *making = context;
	uint64_t now = clock_wall();

	return import_pprof(making->request, profile, size, origin,
			    (struct import_span){now - USUAL_SPAN, now}, why);
}

int push_pusher(const struct http_request *request, struct answer *answer, struct fail *why)
{
	struct making making = {.request = request};
	int err = check_protobuf(request, why);

	if (!err)
		err = pyroscope_read_push(request->body, request->body_size, import_pushed, &making,
					  why);
	/* PushResponse has no fields */
	answer->type = "application/proto";
	answer->no_store = true;
	return err;
}

static int import_origin_films(const struct http_request *request, struct otlp_reader *profiles,
			       size_t i, struct fail *why)
{
	struct import_origin *origin = malloc(sizeof(*origin));
	struct making making = {.request = request};
	uint64_t now = clock_wall();
	struct import_span span = {now - USUAL_SPAN, now};
	int err;

	if (!origin)
		return fail_errno(why, -ENOMEM, NULL, "cannot take these profiles");
	*origin = *otlp_reader_origin(profiles, i);
	otlp_reader_span(profiles, i, &span);
	err = begin_film(&making, origin, &span, why);
	if (!err) {
		err = otlp_reader_import(profiles, i, making.film, why);
		err = end_film(&making, origin, err, why);
	}
	free(origin);
	return err;
}

int push_opentelemetry(const struct http_request *request, struct answer *answer, struct fail *why)
{
	struct otlp_reader *profiles = NULL;
	int err = check_protobuf(request, why);

	if (!err)
		err = otlp_reader_open(request->body, request->body_size, &profiles, why);
	for (size_t i = 0; !err && i < otlp_reader_count(profiles); i++)
		err = import_origin_films(request, profiles, i, why);
	otlp_reader_free(profiles);
	/* all fields of ExportProfilesServiceResponse are optional: all was taken */
	answer->type = "application/x-protobuf";
	answer->no_store = true;
	return err;
}
