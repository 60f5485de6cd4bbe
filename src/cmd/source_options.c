// SPDX-License-Identifier: Apache-2.0
#include "cmd/source_options.h"

#include <assert.h>
#include <string.h>

/* What getopt_long() returns for the options that have no letter. */
#define FIRST_VALUE 2000
#define HELP_WIDTH  96

static void add(void *context, const struct source_option *option)
{
	struct source_options *o = context;
	size_t letters = strlen(o->letters);

	assert(o->count < SOURCE_OPTIONS_ALL && letters + 3 <= sizeof(o->letters));
	if (option->letter) {
		o->letters[letters] = option->letter;
		o->letters[letters + 1] = ':';
	}
	o->rows[o->own + o->count] = (struct option){
		.name = option->name,
		.has_arg = option->argument ? required_argument : no_argument,
		.val = option->letter ? option->letter : FIRST_VALUE + (int)o->count,
	};
	o->of[o->count++] = option;
}

void source_options_begin(struct source_options *o, const struct option *own, const char *letters)
{
	*o = (struct source_options){0};
	assert(strlen(letters) < sizeof(o->letters));
	strcpy(o->letters, letters);
	for (; own[o->own].name; o->own++) {
		assert(o->own < SOURCE_OPTIONS_OWN);
		o->rows[o->own] = own[o->own];
	}
	sources_each_option(add, o);
}

const char *source_options_name(const struct source_options *o, int option)
{
	for (size_t i = 0; i < o->count; i++)
		if (o->rows[o->own + i].val == option)
			return o->of[i]->name;
	return NULL;
}

struct help {
	FILE *out;
	int column;
};

/* The words of an option, in lines that begin in the column. */
static void print_words(const struct help *help, const char *words)
{
	size_t room = (size_t)(HELP_WIDTH - help->column), length = strlen(words);

	while (length > room) {
		size_t at = room;

		while (at && words[at] != ' ')
			at--;
		at = at ? at : room;
		fprintf(help->out, "%.*s\n%*s", (int)at, words, help->column, "");
		words += at + (words[at] == ' ');
		length = strlen(words);
	}
	fprintf(help->out, "%s\n", words);
}

static void print_option(void *context, const struct source_option *option)
{
	const struct help *help = context;
	char name[64], letter[] = {'-', option->letter, ',', 0};

	snprintf(name, sizeof(name), "  %-3s --%s %s", option->letter ? letter : "", option->name,
		 option->argument ? option->argument : "");
	fprintf(help->out, "%-*s", help->column, name);
	if (strlen(name) >= (size_t)help->column)
		fprintf(help->out, "\n%*s", help->column, "");
	print_words(help, option->help);
}

void source_options_help(FILE *out, int column)
{
	struct help help = {out, column};

	sources_each_option(print_option, &help);
}
