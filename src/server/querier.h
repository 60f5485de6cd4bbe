/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_QUERIER_H
#define SERVER_QUERIER_H

#include "base/buf.h"
#include "exchange/pyroscope/message.h"
#include "exchange/pyroscope/query.h"
#include "server/route.h"
#include "store/ask.h"

/*
 * What a query of Pyroscope's data source means for a store: its profile types are our events, its
 * labels are service_name, hostname, version and those that users gave.
 */

enum {
	QUERIER_ID_MAX = 255,	     /* of a profile type, with the zero at the end below */
	QUERIER_SELECTED_MAX = 64,   /* questions to the store for one query */
	QUERIER_SERIES_MAX = 10000,  /* of an event, among which a query selects */
	QUERIER_BODY_MAX = 64 << 10, /* bytes of a request */
};

/* "process_cpu:cpu:nanoseconds:cpu:nanoseconds" */
void querier_type_id(const struct store_event *event, char id[QUERIER_ID_MAX + 1]);

/* Whether events of that kind have profiles. */
bool querier_is_profile(const struct store_event *event);

/* The value of a label of a series, or "". Valid until buffer changes. */
const char *querier_label(const struct store_series *series, const char *label,
			  char buffer[QUERIER_ID_MAX + 1]);

/* The key of a label as Pyroscope writes it: without dots and dashes. */
void querier_rename(char *key);

/* Puts a line: in text, which is hostile, ends of lines become blanks. */
void querier_put_line(struct buf *to, const char *text);

/* The field "labels" of a message: of lines NAME, VALUE, NAME … each pair. Changes set. */
void querier_put_pairs(struct message *m, char *set);

/*
 * Calls each() for every series of an event of the query's time that its matchers select, and with
 * the label __profile_type__, which they may name. Returns 0, what each() returned if that is not
 * 0 (-ENOMEM, or -E2BIG: too many labels), or another negative errno, with *why filled.
 */
typedef int querier_series_function(void *context, const char *type_id,
				    const struct store_series *series);
int querier_each_series(const struct http_request *request, const struct pyroscope_query *query,
			querier_series_function *each, void *context, struct fail *why);

/* Questions to the store whose answers together are what was requested, each sample once. */
struct querier_part {
	struct store_ask ask;
	char *group;	     /* values of the query's names, a line each; or null */
	const char **labels; /* what ask.labels points to */
};
struct querier_selected {
	struct store_event event;
	vec(struct querier_part) parts;
	struct store_series_list list; /* the strings of the parts belong to it */
};

/*
 * is_grouped: no part may have several values of query->names. Returns 0, or a negative errno with
 * *why filled; -ENODATA: the store has no such profiles. Call querier_selected_free() in any case.
 */
int querier_select(const struct http_request *request, const struct pyroscope_query *query,
		   bool is_grouped, struct querier_selected *selected, struct fail *why);
void querier_selected_free(struct querier_selected *selected);

/* The methods of the service: 0, or a negative errno with *why filled. */
int querier_label_names(const struct http_request *request, const struct pyroscope_query *query,
			struct message *m, struct fail *why);
int querier_label_values(const struct http_request *request, const struct pyroscope_query *query,
			 struct message *m, struct fail *why);
int querier_series(const struct http_request *request, const struct pyroscope_query *query,
		   struct message *m, struct fail *why);
int querier_stacktraces(const struct http_request *request, const struct pyroscope_query *query,
			struct message *m, struct fail *why);
int querier_select_series(const struct http_request *request, const struct pyroscope_query *query,
			  struct message *m, struct fail *why);

#endif
