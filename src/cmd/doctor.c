// SPDX-License-Identifier: Apache-2.0
#include "cmd/verb.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "base/fail.h"
#include "base/json.h"
#include "base/text.h"
#include "attach/feature.h"
#include "cmd/doctor_bucket.h"
#include "cmd/doctor_sums.h"
#include "record/feature_programs.h"
#include "send/bucket.h"
#include "sources/memory/ways.h"
#include "store/fleet/fleet.h"

static const char help[] =
	"usage: stackcam doctor [--json] [-p PID | --bucket ADDRESS | --sums URL]\n"
	"\n"
	"Tries what stackcam needs of this kernel, this user and this machine, and says what is\n"
	"missing and what to do about it; what is only absent is not needed to record. Leaves\n"
	"nothing behind. Status: 0 if recording works, 3 if not.\n"
	"\n"
	"  -p, --pid PID           of a running process instead: its allocator, and how its\n"
	"                          memory can be recorded, at which cost; changes nothing\n"
	"      --bucket ADDRESS    of a bucket for films instead: puts, reads, lists and\n"
	"                          deletes one small object, and says what fails;\n"
	"                          s3://BUCKET@HOST:PORT/PREFIX, as of serve\n"
	"      --bucket-keys FILE  the keys of the bucket, in a file of mode 0600 (default:\n"
	"                          AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)\n"
	"      --sums URL[,URL…]   of a ClickHouse for sums instead: runs each statement of\n"
	"                          serve in a database of its own, and says what fails\n"
	"      --sums-cluster NAME these are servers of that cluster of ClickHouse\n"
	"      --tls-ca FILE       the authority that signed the server's certificate\n"
	"      --json              print one JSON object\n"
	"  -h, --help              this text\n"
	"\n"
	"Examples:\n"
	"  stackcam doctor\n"
	"  stackcam doctor -p 1234\n"
	"  stackcam doctor --bucket s3://films@objects.example:9000/prod\n"
	"  stackcam doctor --sums http://clickhouse.example:8123\n"
	"  stackcam doctor --json | jq '.features[] | select(.state == \"missing\")'\n";

static const struct option long_options[] = {
	{"json", no_argument, NULL, 'j'},
	{"pid", required_argument, NULL, 'p'},
	{"bucket", required_argument, NULL, 'b'},
	{"bucket-keys", required_argument, NULL, 'k'},
	{"sums", required_argument, NULL, 's'},
	{"tls-ca", required_argument, NULL, 'c'},
	{"sums-cluster", required_argument, NULL, 'l'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static const struct feature *first_obstacle(const struct feature *features)
{
	for (int i = 0; i < FEATURE_COUNT; i++)
		if (features[i].required && features[i].state == FEATURE_MISSING)
			return &features[i];
	return NULL;
}

static void print_safe_line(const char *words, const char *to_do)
{
	text_print_safe(stdout, words);
	if (*to_do) {
		fputs("; ", stdout);
		text_print_safe(stdout, to_do);
	}
	putchar('\n');
}

/* What recording does well without is not a fault, and does not look like one. */
static const char *state_of(const struct feature *f)
{
	return f->state == FEATURE_MISSING && !f->required ? "absent"
							   : feature_state_name(f->state);
}

static void print_verdict(const struct feature *features, const struct feature *obstacle)
{
	if (obstacle) {
		printf("stackcam cannot record here: %s: ", obstacle->name);
		print_safe_line(obstacle->why, obstacle->to_do);
	} else if (features[FEATURE_CYCLES].state == FEATURE_OK) {
		puts("stackcam can record on-CPU profiles here, by hardware cycles");
	} else {
		puts("stackcam can record on-CPU profiles here, by the CPU clock (without hardware "
		     "cycles)");
	}
}

static void print_text(const struct feature *features, const struct feature *obstacle)
{
	print_verdict(features, obstacle);
	putchar('\n');
	for (int i = 0; i < FEATURE_COUNT; i++) {
		const struct feature *f = &features[i];

		printf("%-8s %-22s ", state_of(f), f->name);
		if (f->state != FEATURE_OK)
			printf("(for %s) ", f->needed_for);
		print_safe_line(f->why, f->to_do);
	}
}

static void print_json(const struct feature *features, const struct feature *obstacle)
{
	struct json j = {stdout};

	json_open(&j, NULL, '{');
	json_bool(&j, "record", !obstacle);
	json_text(&j, "obstacle", obstacle ? obstacle->name : "");
	json_open(&j, "features", '[');
	for (int i = 0; i < FEATURE_COUNT; i++) {
		const struct feature *f = &features[i];

		json_open(&j, NULL, '{');
		json_text(&j, "name", f->name);
		json_text(&j, "state", state_of(f));
		json_bool(&j, "required", f->required);
		json_text(&j, "needed_for", f->needed_for);
		json_text(&j, "why", f->why);
		json_text(&j, "to_do", f->to_do);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	putchar('\n');
}

static void print_process(pid_t pid, const struct mem_ways *ways)
{
	fputs("process ", stdout);
	text_print_safe(stdout, ways->comm);
	printf(" (%d); its allocator: ", (int)pid);
	text_print_safe(stdout, *ways->allocator
					? ways->allocator
					: "none that is known by the names of its functions");
	puts("\n");
	for (size_t i = 0; i < ways->count; i++) {
		const struct mem_way *way = &ways->at[i];

		printf("%-3s  -e %-24s ", way->works ? "yes" : "no", way->event);
		text_print_safe(stdout, way->words);
		if (way->works)
			printf("; cost: %s", way->cost);
		putchar('\n');
	}
}

static void print_process_json(pid_t pid, const struct mem_ways *ways)
{
	struct json j = {stdout};

	json_open(&j, NULL, '{');
	json_u64(&j, "pid", (uint64_t)pid);
	json_text(&j, "comm", ways->comm);
	json_text(&j, "allocator", ways->allocator);
	json_open(&j, "ways", '[');
	for (size_t i = 0; i < ways->count; i++) {
		const struct mem_way *way = &ways->at[i];

		json_open(&j, NULL, '{');
		json_text(&j, "event", way->event);
		json_bool(&j, "works", way->works);
		json_text(&j, "words", way->words);
		json_text(&j, "cost", way->cost);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	putchar('\n');
}

/* Prints in which ways the memory of a process can be recorded. Returns an exit status. */
static int doctor_process(pid_t pid, bool as_json)
{
	struct mem_ways ways;
	struct fail why = {0};

	if (mem_ways_find(pid, &ways, &why)) {
		fail_print(&why);
		return fail_exit_status(&why);
	}
	if (as_json)
		print_process_json(pid, &ways);
	else
		print_process(pid, &ways);
	return 0;
}

struct doctor_options {
	bool as_json;
	uint64_t pid; /* 0: none */
	const char *bucket, *bucket_keys, *sums, *sums_cluster, *tls_ca;
};

static int check_options(const struct doctor_options *o)
{
	struct fail why = {0};

	if (!o->bucket && o->bucket_keys)
		return cmd_usage("doctor", "--bucket-keys needs --bucket");
	if (!o->bucket && !o->sums && o->tls_ca)
		return cmd_usage("doctor", "--tls-ca needs --bucket or --sums");
	if (!o->sums && o->sums_cluster)
		return cmd_usage("doctor", "--sums-cluster needs --sums");
	if (!!o->bucket + !!o->sums + !!o->pid > 1)
		return cmd_usage("doctor", "--bucket, --sums and --pid are questions of their own");
	if (o->sums && fleet_check_urls(o->sums, &why))
		return cmd_usage("doctor", "%s; %s", why.what, why.to_do);
	if (o->sums_cluster && fleet_check_cluster(o->sums_cluster, &why))
		return cmd_usage("doctor", "%s; %s", why.what, why.to_do);
	if (o->bucket && bucket_check_address(o->bucket, &why))
		return cmd_usage("doctor", "%s; %s", why.what, why.to_do);
	return 0;
}

/* Returns 0; an exit status; or -1, the help was printed. */
static int read_options(int argc, char **argv, struct doctor_options *o)
{
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "hp:", long_options, NULL)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			return -1;
		}
		if (option == 'p' && (text_parse_u64(optarg, 1, INT32_MAX, &o->pid) || !o->pid))
			return cmd_usage("doctor", "'%s' is not the number of a process", optarg);
		if (option == 'b')
			o->bucket = optarg;
		else if (option == 'k')
			o->bucket_keys = optarg;
		else if (option == 's')
			o->sums = optarg;
		else if (option == 'l')
			o->sums_cluster = optarg;
		else if (option == 'c')
			o->tls_ca = optarg;
		else if (option != 'j' && option != 'p')
			return cmd_usage_option("doctor", argv, long_options);
		o->as_json |= option == 'j';
	}
	if (optind < argc)
		return cmd_usage("doctor", "it takes no argument '%s'", argv[optind]);
	return check_options(o);
}

int cmd_doctor(int argc, char **argv)
{
	struct feature features[FEATURE_COUNT];
	struct doctor_options o = {0};
	const struct feature *obstacle;
	int status = read_options(argc, argv, &o);

	if (status)
		return status < 0 ? 0 : status;
	if (o.bucket)
		return doctor_bucket(o.bucket, o.bucket_keys, o.tls_ca, o.as_json);
	if (o.sums)
		return doctor_sums(&(struct fleet_options){o.sums, o.sums_cluster, o.tls_ca},
				   o.as_json);
	if (o.pid)
		return doctor_process((pid_t)o.pid, o.as_json);
	features_probe(features, feature_try_programs);
	obstacle = first_obstacle(features);
	if (o.as_json)
		print_json(features, obstacle);
	else
		print_text(features, obstacle);
	return obstacle ? EXIT_NOT_ALLOWED : 0;
}
