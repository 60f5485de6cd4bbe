// SPDX-License-Identifier: Apache-2.0
#include "cmd/doctor_sums.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/text.h"
#include "store/fleet/fleet.h"

static void print_line(void *context, const char *what, const struct fail *failed)
{
	(void)context;
	printf("%-8s %s", failed ? "failed" : "ok", what);
	if (failed) {
		fputs(": ", stdout);
		text_print_safe(stdout, failed->what);
		if (*failed->to_do) {
			fputs("; ", stdout);
			text_print_safe(stdout, failed->to_do);
		}
	}
	putchar('\n');
}

static void print_json(void *context, const char *what, const struct fail *failed)
{
	struct json *j = context;

	json_open(j, NULL, '{');
	json_text(j, "statement", what);
	json_text(j, "state", failed ? "failed" : "ok");
	json_text(j, "why", failed ? failed->what : "");
	json_text(j, "to_do", failed ? failed->to_do : "");
	json_close(j, '}');
}

static int try_as_json(struct fleet *fleet, struct fail *why)
{
	struct json j = {stdout};
	int failures;

	json_open(&j, NULL, '{');
	json_open(&j, "statements", '[');
	failures = fleet_try(fleet, print_json, &j, why);
	json_close(&j, ']');
	json_bool(&j, "sums", !failures);
	json_close(&j, '}');
	putchar('\n');
	return failures;
}

int doctor_sums(const struct fleet_options *options, bool as_json)
{
	struct fail why = {0};
	struct fleet *fleet;
	int failures = fleet_new(options, &fleet, &why);

	if (!failures) {
		failures = as_json ? try_as_json(fleet, &why)
				   : fleet_try(fleet, print_line, NULL, &why);
		fleet_free(fleet);
	}
	if (failures < 0)
		fail_print(&why);
	else if (!as_json)
		puts(failures ? "\nsums cannot be kept in this ClickHouse"
			      : "\nsums can be kept in this ClickHouse");
	return failures ? EXIT_FAILURE : 0;
}
