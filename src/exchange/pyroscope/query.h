/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXCHANGE_PYROSCOPE_QUERY_H
#define EXCHANGE_PYROSCOPE_QUERY_H

#include <stdint.h>

#include "base/fail.h"
#include "base/regex.h"
#include "base/vec.h"

/*
 * The requests of Pyroscope's querier.v1.QuerierService, as protobuf or as JSON by protobuf's
 * mapping (https://github.com/grafana/pyroscope, api/querier/v1/querier.proto and
 * api/types/v1/types.proto). All fields are hostile. Fields that are not known are ignored, as
 * protobuf demands; fields that would change the answer in a way that is not supported are refused.
 */
enum pyroscope_method {
	PYROSCOPE_PROFILE_TYPES,
	PYROSCOPE_LABEL_NAMES,
	PYROSCOPE_LABEL_VALUES,
	PYROSCOPE_SERIES,
	PYROSCOPE_STACKTRACES,
	PYROSCOPE_SELECT_SERIES,
	PYROSCOPE_STATS,
	PYROSCOPE_METHODS,
};

/* One condition of a selector such as {service_name="shop", hostname=~"web.*"}. */
struct pyroscope_matcher {
	char *name, *value;
	bool is_negative;    /* != and !~ */
	struct regex *regex; /* =~ and !~: of the whole value; else null */
};

/* What was requested; members that the method does not have are zero. */
struct pyroscope_query {
	char *profile_type; /* "NAME:TYPE:UNIT:PERIOD_TYPE:PERIOD_UNIT", or null */
	char *label;	    /* whose values are requested, or null */
	vec(struct pyroscope_matcher) matchers; /* all must match */
	vec(char *) names;	   /* labels that the answer should have, or that group it */
	uint64_t start, end;	   /* ms since 1970; 0: not given */
	uint64_t nodes_max, limit; /* 0: not given */
	double step;		   /* s; 0: not given */
};

/*
 * Reads the body of a request. query must be all zero; call pyroscope_query_free() in any case.
 * Returns 0, -EBADMSG (another message, or damaged), -EINVAL, -E2BIG, -EOPNOTSUPP or -ENOMEM, with
 * *why filled.
 */
int pyroscope_query_read(enum pyroscope_method method, bool is_json, const void *body, size_t size,
			 struct pyroscope_query *query, struct fail *why);
void pyroscope_query_free(struct pyroscope_query *query);

/* Adds the conditions of a selector's text to the query's. Returns as above. */
int pyroscope_selector_parse(const char *text, struct pyroscope_query *query, struct fail *why);

/* Whether a value, "" for a label that is missing, fulfils a condition. */
bool pyroscope_matches(const struct pyroscope_matcher *matcher, const char *value);

#endif
