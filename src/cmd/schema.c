// SPDX-License-Identifier: Apache-2.0
#include "cmd/verb.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/nearest.h"
#include "schemas.h"
#include "show/output.h"

#define DEFINITIONS "#/$defs/"

static const struct option long_options[] = {
	{"help", no_argument, NULL, 'h'},
	{0},
};

static const char help[] =
	"usage: stackcam schema [NAME]\n"
	"\n"
	"Prints the JSON schema (draft 2020-12) of what a verb prints as JSON; without a name, a\n"
	"line for each: its name, its version, and the command. Keys are only added; a version\n"
	"rises where one changes its meaning. Of 'inspect', the schema is that of one line.\n"
	"\n"
	"  -h, --help   this text\n"
	"\n"
	"Examples:\n"
	"  stackcam schema\n"
	"  stackcam schema report >report.schema.json\n";

static const char *text_of(const json_t *output, const char *key)
{
	const char *text = json_string_value(json_object_get(output, key));

	return text ? text : "";
}

static void list(const json_t *outputs, FILE *out)
{
	const json_t *output;
	size_t i;

	json_array_foreach((json_t *)outputs, i, output)
		fprintf(out, "%-9s %lld  %s\n", text_of(output, "name"),
			(long long)json_integer_value(json_object_get(output, "version")),
			text_of(output, "command"));
}

/*
 * Adds the definitions that a value refers to, and those that these refer to. The document is ours,
 * and so is its depth. 0 or -ENOMEM.
 */
static int collect(const json_t *value, const json_t *all, json_t *used)
{
	const char *to = json_string_value(json_object_get(value, "$ref"));
	const json_t *item;
	const char *key;
	int err = 0;
	size_t i;

	if (to) {
		json_t *definition;

		to += strlen(DEFINITIONS);
		definition = json_object_get(all, to);
		if (!definition || json_object_get(used, to))
			return 0;
		return json_object_set(used, to, definition) ? -ENOMEM
							     : collect(definition, all, used);
	}
	json_object_foreach((json_t *)value, key, item) err = err ? err : collect(item, all, used);
	json_array_foreach((json_t *)value, i, item) err = err ? err : collect(item, all, used);
	return err;
}

/* The schema of an output as a document of its own, or null: no memory. */
static json_t *document(const json_t *output, const json_t *all)
{
	json_t *used = json_object(), *schema, *whole;
	char id[64];

	snprintf(id, sizeof(id), "urn:stackcam:schema:%.20s:%d", text_of(output, "name"),
		 (int)json_integer_value(json_object_get(output, "version")));
	whole = json_pack("{s:s, s:s, s:s, s:s+, s:o}", "$schema",
			  "https://json-schema.org/draft/2020-12/schema", "$id", id, "title",
			  text_of(output, "command"), "$ref", DEFINITIONS,
			  text_of(output, "schema"), "$defs", used);
	if (!whole)
		return NULL;
	schema = json_pack("{s:s+}", "$ref", DEFINITIONS, text_of(output, "schema"));
	if (!schema || collect(schema, all, used)) {
		json_decref(whole);
		whole = NULL;
	}
	json_decref(schema);
	return whole;
}

/* Returns an exit status. */
static int print(const json_t *all, const char *name, FILE *out)
{
	struct nearest nearest = {.given = name};
	const json_t *output;
	json_t *schema;
	size_t i;
	int err;

	json_array_foreach(json_object_get(all, "outputs"), i, output)
	{
		nearest_offer(&nearest, text_of(output, "name"));
		if (strcmp(text_of(output, "name"), name))
			continue;
		schema = document(output, json_object_get(all, "$defs"));
		err = !schema || json_dumpf(schema, out, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
		json_decref(schema);
		fputc('\n', out);
		return err ? EXIT_FAILURE : 0;
	}
	if (nearest.name)
		return cmd_usage("schema", "there is no schema '%s'; did you mean '%s'", name,
				 nearest.name);
	return cmd_usage("schema", "there is no schema '%s'", name);
}

/* Prints the schema of a name, or, null, the list. Returns an exit status. */
static int show(const json_t *all, const char *name)
{
	struct output output;
	struct fail why = {0};
	int err = output_open(&output, NULL, &why), status = 0;

	if (!err) {
		if (name)
			status = print(all, name, output.file);
		else
			list(json_object_get(all, "outputs"), output.file);
		err = output_close(&output, true, &why);
	}
	if (err == -EPIPE)
		output_broken_pipe();
	if (err)
		fail_print(&why);
	return err ? fail_exit_status(&why) : status;
}

int cmd_schema(int argc, char **argv)
{
	json_t *all;
	int option, status;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", long_options, NULL)) != -1) {
		if (option != 'h')
			return cmd_usage_option("schema", argv, long_options);
		fputs(help, stdout);
		return 0;
	}
	if (optind + 1 < argc)
		return cmd_usage("schema", "one name at a time; '%s' is too many",
				 argv[optind + 1]);
	all = json_loadb((const char *)schemas_json, sizeof(schemas_json), 0, NULL);
	if (!all) {
		fputs("stackcam: cannot read the schemas: out of memory\n", stderr);
		return EXIT_FAILURE;
	}
	status = show(all, optind < argc ? argv[optind] : NULL);
	json_decref(all);
	return status;
}
