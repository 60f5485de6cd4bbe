// SPDX-License-Identifier: Apache-2.0
#include "cmd/serve_options.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cmd/verb.h"
#include "host/debug_server.h"
#include "send/bucket.h"
#include "store/fleet/fleet.h"

#define PORT 7171
/* Below that, one hour's film is all there is room for. */
#define KEEP_BYTES_MIN 10000000u
#define KEEP_AGE_MIN   3600000000000ull

/* What 500 busy machines of 16 cores send in an hour. */
#define SENDER_BYTES	 4000000000ull
#define SENDER_BYTES_MIN 1000000u

#define CACHE_BYTES	 1000000000ull
#define CACHE_BYTES_MIN	 10000000u

static const char help[] =
	"usage: stackcam serve [OPTION…]\n"
	"\n"
	"Films this machine all the time, keeps the films for some days, and serves the page that "
	"shows "
	"them.\n"
	"\n"
	"The page:\n"
	"      --listen ADDR:PORT    where it is served (default 127.0.0.1:7171)\n"
	"      --token-file FILE     which clients may read, and which may send films: tokens, "
	"one a line,\n"
	"                            with 'read' or 'write' behind them, and which services "
	"they show\n"
	"                            (default: tokens in the store, which the first start makes)\n"
	"      --read-open           every user of this machine may read what is filmed, without a "
	"token\n"
	"      --tls-cert FILE       HTTPS with this certificate …\n"
	"      --tls-key FILE        … and its key\n"
	"      --tls-client-ca FILE  clients need a certificate that this one has signed\n"
	"      --audit FILE          a line in this file for each question; SIGHUP opens it anew\n"
	"      --user-header NAME    the audit has the user that a proxy names in this header …\n"
	"      --trusted-proxy ADDR  … taken from this address alone, or from several: "
	"ADDR,ADDR\n"
	"\n"
	"The store:\n"
	"      --store DIR           where the films are (default /var/lib/stackcam)\n"
	"      --keep-age TIME       how long, e.g. 12h or 30d (default 7d; 0: for ever)\n"
	"      --keep-size SIZE      how much at most, e.g. 500MB or 20GB; the oldest go first "
	"(default: a\n"
	"                            tenth of the disk, but not more than 10GB; 0: no limit)\n"
	"      --sender-limit SIZE   how much may be sent with one token in an hour (default 4GB; "
	"0: no limit)\n"
	"      --sums URL[,URL…]     a ClickHouse that keeps the sums of many collectors, and "
	"answers\n"
	"                            questions about hours: http://HOST:8123/DATABASE; several "
	"addresses\n"
	"                            lead to the same tables\n"
	"      --sums-cluster NAME   those are servers of this cluster of ClickHouse: tables are "
	"made\n"
	"                            on all servers of the cluster, in shards and replicas\n"
	"      --sums-ca FILE        the authority that signed its certificate\n"
	"      --debug-dir DIR       names what was recorded without names from the debug files of "
	"this folder\n"
	"                            (DIR/.build-id/ab/cdef.debug)\n"
	"      --debuginfod URL[,URL…]\n"
	"                            and from these debuginfod servers, each build once (default: "
	"none is\n"
	"                            asked)\n"
	"      --bucket ADDRESS      keeps each hour's films on object storage, too: "
	"s3://BUCKET@HOST:PORT/PREFIX\n"
	"      --bucket-keys FILE    its keys, in a file of mode 0600 (default: AWS_ACCESS_KEY_ID "
	"and\n"
	"                            AWS_SECRET_ACCESS_KEY)\n"
	"      --bucket-ca FILE      the authority that signed its server's certificate\n"
	"      --bucket-cache SIZE   room for films that are read from it again (default 1GB)\n"
	"\n"
	"The camera:\n" CMD_HELP_EVENTS
	"  -F, --frequency HZ        samples per second and CPU, 1 to 10000 (default 99)\n"
	"      --sample-cpu          of on-cpu: keep the CPU of each sample, for 'by=cpu'\n"
	"      --markers 0|1|2       requests that programs mark by lines to /dev/null; 0: none; "
	"1\n"
	"                            (default): where the kernel shows such writes alone; 2: all\n"
	"      --keep-query          keep the values of query strings, which may be secrets\n"
	"      --no-record           films nothing: keeps and shows what agents send\n"
	"      --label KEY=VALUE     stands at all that is filmed here, e.g. env=prod; may be "
	"repeated\n"
	"      --service RULE        what services are called, e.g. 'unit=nginx*.service web'; may "
	"be\n"
	"                            repeated, the first that fits counts\n"
	"\n" CAMERA_HELP "\n"
	"      --user NAME           becomes this user as soon as it films; films belong to that "
	"user\n"
	"      --config FILE         more of these options, one per line: 'keep-age = 14d'; the "
	"command\n"
	"                            line wins; SIGHUP reads it again\n"
	"  -h, --help                this text\n"
	"\n"
	"Examples:\n"
	"  stackcam serve                                     then open the address that it "
	"prints\n"
	"  stackcam serve --store /data/films --keep-age 30d  more room, and longer\n"
	"  stackcam serve --no-record --listen 0.0.0.0:7171 --token-file tokens \\\n"
	"                 --tls-cert cert.pem --tls-key key.pem\n"
	"                                                     for the films of other machines\n";

enum {
	OPT_LISTEN = 256,
	OPT_TLS_CERT,
	OPT_TLS_KEY,
	OPT_TLS_CLIENT_CA,
	OPT_STORE,
	OPT_KEEP_AGE,
	OPT_KEEP_SIZE,
	OPT_NO_RECORD,
	OPT_READ_OPEN,
	OPT_SENDER_LIMIT,
	OPT_AUDIT,
	OPT_USER_HEADER,
	OPT_TRUSTED_PROXY,
	OPT_SUMS,
	OPT_SUMS_CA,
	OPT_SUMS_CLUSTER,
	OPT_DEBUG_DIR,
	OPT_DEBUGINFOD,
	OPT_BUCKET,
	OPT_BUCKET_KEYS,
	OPT_BUCKET_CA,
	OPT_BUCKET_CACHE,
};

static const struct option long_options[] = {
	{"listen", required_argument, NULL, OPT_LISTEN},
	{"tls-cert", required_argument, NULL, OPT_TLS_CERT},
	{"tls-key", required_argument, NULL, OPT_TLS_KEY},
	{"tls-client-ca", required_argument, NULL, OPT_TLS_CLIENT_CA},
	{"store", required_argument, NULL, OPT_STORE},
	{"keep-age", required_argument, NULL, OPT_KEEP_AGE},
	{"keep-size", required_argument, NULL, OPT_KEEP_SIZE},
	{"no-record", no_argument, NULL, OPT_NO_RECORD},
	{"read-open", no_argument, NULL, OPT_READ_OPEN},
	{"sender-limit", required_argument, NULL, OPT_SENDER_LIMIT},
	{"audit", required_argument, NULL, OPT_AUDIT},
	{"user-header", required_argument, NULL, OPT_USER_HEADER},
	{"trusted-proxy", required_argument, NULL, OPT_TRUSTED_PROXY},
	{"sums", required_argument, NULL, OPT_SUMS},
	{"sums-cluster", required_argument, NULL, OPT_SUMS_CLUSTER},
	{"sums-ca", required_argument, NULL, OPT_SUMS_CA},
	{"debug-dir", required_argument, NULL, OPT_DEBUG_DIR},
	{"debuginfod", required_argument, NULL, OPT_DEBUGINFOD},
	{"bucket", required_argument, NULL, OPT_BUCKET},
	{"bucket-keys", required_argument, NULL, OPT_BUCKET_KEYS},
	{"bucket-ca", required_argument, NULL, OPT_BUCKET_CA},
	{"bucket-cache", required_argument, NULL, OPT_BUCKET_CACHE},
	CAMERA_LONG_OPTIONS,
	SETTINGS_COMMON,
	{0},
};

/* "127.0.0.1:7171", "[::1]:7171", "localhost:80"; the port may be missing. */
static int parse_listen(struct serve_options *o, const char *value, struct fail *why)
{
	const char *colon = strrchr(value, ':'), *port = NULL;
	size_t length = strlen(value);
	struct in6_addr ignored;
	uint64_t number = PORT;
	char *to = o->address;

	/*
	 * without brackets, one colon ends an address of version 4, and more are one of version 6
	 */
	if (colon && (strchr(value, ':') == colon || (value[0] == '[' && colon[-1] == ']'))) {
		port = colon + 1;
		length = (size_t)(colon - value);
	}
	if (value[0] == '[' && length > 2 && value[length - 1] == ']') {
		value++;
		length -= 2;
	}
	if (length >= sizeof(o->address) || (port && text_parse_u64(port, 0, 65535, &number)))
		goto bad;
	memcpy(to, value, length);
	to[length] = 0;
	if (!strcmp(to, "localhost"))
		strcpy(to, "127.0.0.1");
	if (inet_pton(AF_INET, to, &ignored) != 1 && inet_pton(AF_INET6, to, &ignored) != 1)
		goto bad;
	o->port = (uint16_t)number;
	return 0;
bad:
	return fail(why, -EINVAL, NULL,
		    "--listen takes an address and a port such as 127.0.0.1:7171 or [::]:7171");
}

static int parse_number(struct serve_options *o, int option, const char *value, struct fail *why)
{
	uint64_t number;

	switch (option) {
	case OPT_KEEP_AGE:
		if (text_parse_time(value, 1000000000, &number) ||
		    (number && number < KEEP_AGE_MIN))
			return fail(why, -EINVAL, NULL,
				    "--keep-age takes a time of at least 1h, such as 12h or 7d, "
				    "not '%s'",
				    value);
		o->keep_age = number;
		break;
	case OPT_SENDER_LIMIT:
		if (text_parse_bytes(value, &number) || (number && number < SENDER_BYTES_MIN))
			return fail(why, -EINVAL, NULL,
				    "--sender-limit takes a size of at least 1MB, such as 500MB, "
				    "not '%s'",
				    value);
		o->sender_bytes = number;
		break;
	case OPT_BUCKET_CACHE:
		if (text_parse_bytes(value, &number) || number < CACHE_BYTES_MIN)
			return fail(why, -EINVAL, NULL,
				    "--bucket-cache takes a size of at least 10MB, such as 500MB, "
				    "not '%s'",
				    value);
		o->bucket_cache = number;
		break;
	default:
		if (text_parse_bytes(value, &number) || (number && number < KEEP_BYTES_MIN))
			return fail(
				why, -EINVAL, NULL,
				"--keep-size takes a size of at least 10MB, such as 500MB or 10GB, "
				"not '%s'",
				value);
		o->keep_bytes = number;
		break;
	}
	return 0;
}

static int parse_value(void *context, int option, const char *value, struct fail *why)
{
	struct serve_options *o = context;
	int taken = camera_parse_option(&o->camera, option, value, why);

	if (taken <= 0)
		return taken;
	switch (option) {
	case OPT_LISTEN:
		return parse_listen(o, value, why);
	case OPT_TLS_CERT:
		o->tls_certificate = value;
		return 0;
	case OPT_TLS_KEY:
		o->tls_key = value;
		return 0;
	case OPT_TLS_CLIENT_CA:
		o->client_ca = value;
		return 0;
	case OPT_AUDIT:
		o->audit = value;
		return 0;
	case OPT_USER_HEADER:
		o->user_header = value;
		return 0;
	case OPT_TRUSTED_PROXY:
		o->trusted_proxy = value;
		return 0;
	case OPT_DEBUG_DIR:
		o->debug_dir = value;
		return 0;
	case OPT_DEBUGINFOD:
		o->debuginfod = value;
		return debug_server_check_urls(value, why);
	case OPT_STORE:
		o->store = value;
		return 0;
	case OPT_SUMS:
		o->sums = value;
		return fleet_check_urls(value, why);
	case OPT_SUMS_CLUSTER:
		o->sums_cluster = value;
		return fleet_check_cluster(value, why);
	case OPT_SUMS_CA:
		o->sums_ca = value;
		return 0;
	case OPT_BUCKET:
		o->bucket = value;
		return bucket_check_address(value, why);
	case OPT_BUCKET_KEYS:
		o->bucket_keys = value;
		return 0;
	case OPT_BUCKET_CA:
		o->bucket_ca = value;
		return 0;
	case OPT_NO_RECORD:
		o->no_record = true;
		return 0;
	case OPT_READ_OPEN:
		o->read_open = true;
		return 0;
	default:
		return parse_number(o, option, value, why);
	}
}

static int check(const struct serve_options *o)
{
	if (!o->tls_certificate != !o->tls_key)
		return cmd_usage("serve", "--tls-cert and --tls-key need each other");
	if (o->client_ca && !o->tls_certificate)
		return cmd_usage("serve", "--tls-client-ca needs --tls-cert and --tls-key");
	if (!o->user_header != !o->trusted_proxy)
		return cmd_usage("serve", "--user-header and --trusted-proxy need each other");
	if (o->user_header && !o->audit)
		return cmd_usage("serve", "--user-header is for --audit");
	if (o->no_record && o->camera.programs.name_count)
		return cmd_usage("serve", "--camera films, and --no-record films nothing");
	if ((o->sums_ca || o->sums_cluster) && !o->sums)
		return cmd_usage("serve", "--sums-ca and --sums-cluster need --sums");
	if (!o->bucket && (o->bucket_keys || o->bucket_ca))
		return cmd_usage("serve", "--bucket-keys and --bucket-ca need --bucket");
	if (!*o->store)
		return cmd_usage("serve", "--store needs the name of a folder");
	return 0;
}

static void file_read(void *context)
{
	struct serve_options *o = context;

	camera_file_read(&o->camera);
}

int serve_options_read(int argc, char **argv, struct serve_options *o)
{
	const struct settings settings = {
		.verb = "serve",
		.help = help,
		.short_options = "+:e:F:h",
		.options = long_options,
		.common = &o->common,
		.parse_own = parse_value,
		.file_read = file_read,
		.context = o,
	};
	int status;

	*o = (struct serve_options){
		.address = "127.0.0.1",
		.port = PORT,
		.store = "/var/lib/stackcam",
		.keep_age = 7 * 86400000000000ull,
		.keep_bytes = SERVE_KEEP_DEFAULT,
		.sender_bytes = SENDER_BYTES,
		.bucket_cache = CACHE_BYTES,
		.camera = camera_flight_usual(),
		.common.frequency = 99,
	};
	status = cmd_read_settings(&settings, argc, argv);
	return status ? status : check(o);
}

void serve_options_free(struct serve_options *o)
{
	settings_free(&o->common);
	camera_flight_free(&o->camera);
	*o = (struct serve_options){0};
}

void serve_options_say_kept(const struct serve_options *a, const struct serve_options *b)
{
	const struct setting_kept kept[] = {
		{"listen", a->port != b->port || settings_differ(a->address, b->address)},
		{"store", settings_differ(a->store, b->store)},
		{"sums", settings_differ(a->sums, b->sums)},
		{"sums-cluster", settings_differ(a->sums_cluster, b->sums_cluster)},
		{"sums-ca", settings_differ(a->sums_ca, b->sums_ca)},
		{"debug-dir", settings_differ(a->debug_dir, b->debug_dir)},
		{"debuginfod", settings_differ(a->debuginfod, b->debuginfod)},
		{"bucket", settings_differ(a->bucket, b->bucket)},
		{"bucket-keys", settings_differ(a->bucket_keys, b->bucket_keys)},
		{"bucket-ca", settings_differ(a->bucket_ca, b->bucket_ca)},
		{"bucket-cache", a->bucket_cache != b->bucket_cache},
		{"no-record", a->no_record != b->no_record},
		{"camera", !camera_flight_is_same(&a->camera, &b->camera)},
		{"read-open", a->read_open != b->read_open},
		/* other certificates are taken; whether there are any is a matter of the start */
		{"tls-cert", !a->tls_certificate != !b->tls_certificate},
		{"tls-key", !a->tls_key != !b->tls_key},
		{"audit", settings_differ(a->audit, b->audit)},
		{"user-header", settings_differ(a->user_header, b->user_header)},
		{"trusted-proxy", settings_differ(a->trusted_proxy, b->trusted_proxy)},
		{"tls-client-ca", !a->client_ca != !b->client_ca},
	};

	settings_say_kept(&a->common, &b->common, kept, sizeof(kept) / sizeof(kept[0]));
}
