// SPDX-License-Identifier: Apache-2.0
/*
 * A server before the store of fake_store.c, for tests that speak HTTP to it (tests/e2e/asking.py):
 *
 *	serve-fake [address=…] [tokens=LINE;LINE…] [open=1] [certificate=… key=…] [ca=…] [spool=…]
 *	[queue=N] …
 *
 * It prints its address. Commands on its standard input: "blocked" (prints how many answers wait),
 * "given up", "release", "tokens LINE;LINE…", "failing" (no film is written, or again one is); it
 * ends with its input. What it says for a log goes to standard error.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_store.h"
#include "server/server.h"

static char *as_lines(char *text)
{
	for (char *c = text; *c; c++)
		if (*c == ';')
			*c = '\n';
	return text;
}

static void say(void *context, const char *words)
{
	(void)context;
	fprintf(stderr, "%s\n", words);
}

static void set(struct server_options *options, char *word)
{
	uint32_t films = 0, read_open = 0;
	const struct {
		const char *name;
		const char **text;
		uint32_t *number;
	} all[] = {
		{"address", &options->address, NULL},
		{"tokens", &options->tokens, NULL},
		{"certificate", &options->tls_certificate, NULL},
		{"key", &options->tls_key, NULL},
		{"ca", &options->client_ca, NULL},
		{"spool", &options->spool, NULL},
		{"queue", NULL, &options->limits.queue},
		{"workers", NULL, &options->limits.workers},
		{"answers", NULL, &options->limits.answer_bytes},
		{"connections", NULL, &options->limits.connections},
		{"idle", NULL, &options->limits.idle_seconds},
		{"first", NULL, &options->limits.first_seconds},
		{"head", NULL, &options->limits.head_seconds},
		{"strangers", NULL, &options->limits.strangers},
		{"films", NULL, &films},
		{"open", NULL, &read_open},
		{"request", NULL, &options->limits.request_seconds},
	};
	char *value = strchr(word, '=');

	if (!value)
		exit(2);
	*value++ = 0;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (strcmp(all[i].name, word))
			continue;
		if (all[i].text)
			*all[i].text = as_lines(value);
		else
			*all[i].number = (uint32_t)atoi(value);
		options->limits.sender_films += films;
		options->read_open |= read_open;
		return;
	}
	exit(2);
}

static void tell(void *context, struct server_recorder *recorder)
{
	const atomic_bool *is_failing = context;

	*recorder = (struct server_recorder){
		.is_filming = !*is_failing,
		.samples = 1000,
		.lost = 1,
		.cpu = 0.0025,
		.bpf = 0.001,
		.bpf_seconds = 2.5,
		.has_bpf = true,
		.frequency = 99,
		.losses = {.rows = {{"on_cpu", "ring full: the recorder could not keep up", 1},
				    {"sched", "stack cut: no room to hand it over for completion",
				     7}},
			   .count = 2,
			   .others = 5},
	};
}

static void tell_camera(void *context, struct server_camera *camera)
{
	(void)context;
	*camera = (struct server_camera){
		.is_filming = true,
		.bytes = 1 << 20,
		.time = 90000000000ull,
		.kept = 3,
		.lost = 2,
		.losses = {.rows = {{"all", "sample: no film could be written", 2}}, .count = 1}};
}

static void command(struct server *server, struct server_options *options, char *line)
{
	struct fail why = {0};

	line[strcspn(line, "\n")] = 0;
	if (!strcmp(line, "blocked")) {
		printf("%u\n", fake_blocked());
	} else if (!strcmp(line, "given up")) {
		printf("%u\n", fake_given_up());
	} else if (!strcmp(line, "release")) {
		fake_release();
	} else if (!strcmp(line, "failing")) {
		atomic_bool *is_failing = options->context;
		bool was = atomic_load(is_failing);

		atomic_store(is_failing, !was);
		puts(was ? "filming" : "failing");
	} else if (!strncmp(line, "tokens ", 7)) {
		options->tokens = as_lines(line + 7);
		puts(server_configure(server, options, &why) ? why.what : "changed");
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	atomic_bool is_failing = false;
	struct server_options options = {.host = "host7",
					 .recorder = tell,
					 .camera = tell_camera,
					 .say = say,
					 .context = &is_failing};
	struct server *server;
	struct fail why = {0};
	char line[1024];

	for (int i = 1; i < argc; i++)
		set(&options, argv[i]);
	if (server_start(&options, &server, &why)) {
		fail_print(&why);
		return 1;
	}
	puts(server_address(server));
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		command(server, &options, line);
	fake_release();
	server_stop(server);
	return 0;
}
