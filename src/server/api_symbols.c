// SPDX-License-Identifier: Apache-2.0
/* Names of functions by build id, as 'stackcam upload' sends them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "server/api.h"
#include "store/names.h"

enum {
	FILE_MAX = 4096, /* bytes of a file's name */
};

static int parse_build(const struct http_request *request, uint8_t id[FILM_BUILD_ID_MAX],
		       struct build_names_build *build, struct fail *why)
{
	const char *digits = request_parameter(request, "build_id");
	size_t count = digits ? strlen(digits) : 0;

	for (size_t i = 0; i < request->url->count; i++)
		if (strcmp(request->url->parameters[i].name, "build_id") != 0 &&
		    strcmp(request->url->parameters[i].name, "file") != 0)
			return fail(why, -EINVAL, NULL,
				    "names have a build_id and a file, and no '%.64s'",
				    request->url->parameters[i].name);
	if (!count || count % 2 || count / 2 > FILM_BUILD_ID_MAX ||
	    !text_parse_hex(digits, count, id))
		return fail(why, -EINVAL, NULL,
			    "build_id, of 1 to %d bytes in hexadecimal digits, is missing",
			    FILM_BUILD_ID_MAX);
	build->id = id;
	build->id_size = count / 2;
	build->file = request_parameter(request, "file");
	build->file = build->file ? build->file : "";
	if (strlen(build->file) > FILE_MAX)
		return fail(why, -EINVAL, NULL, "file is longer than %d bytes", FILE_MAX);
	/* a build is of any machine */
	if (*request->grant->host)
		return fail(why, -EPERM, "use a token that allows to send, without 'host='",
			    "this token is of %.64s only, and names are of all machines",
			    request->grant->host);
	return 0;
}

int api_add_symbols(const struct http_request *request, struct answer *answer, struct fail *why)
{
	struct json j = {.out = answer->out};
	uint8_t id[FILM_BUILD_ID_MAX];
	struct build_names_build build = {0};
	struct build_names_added added;
	int err = parse_build(request, id, &build, why);

	answer->no_store = true;
	if (err)
		return err;
	build.lines = fopen(request->body_path, "re");
	if (!build.lines)
		return fail_errno(why, -errno, NULL, "cannot take the names");
	err = store_add_names(request->store, &build, &added, why);
	fclose(build.lines);
	if (err)
		return err;
	json_open(&j, NULL, '{');
	json_bool(&j, "again", added.again);
	json_u64(&j, "functions", added.functions);
	json_close(&j, '}');
	return 0;
}
