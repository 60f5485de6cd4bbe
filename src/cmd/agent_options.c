// SPDX-License-Identifier: Apache-2.0
#include "cmd/agent_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "cmd/verb.h"
#include "send/http.h"
#include "send/to_collectors.h"

#define SPAN_MIN    (SECOND_NS / 10)
#define SPAN_MAX    (3600 * SECOND_NS)
#define SPOOL_LIMIT 256000000u
#define PPROF_LIMIT 1000000000u
#define BYTES_MIN   1000000u

static const char help[] =
	"usage: stackcam agent --to URL [OPTION…]\n"
	"\n"
	"Films this machine all the time and sends the films elsewhere. While no server takes "
	"them, "
	"they "
	"wait\n"
	"on the disk.\n"
	"\n"
	"Where to, one of:\n"
	"      --to URL[,URL…]       to 'stackcam serve', e.g. https://films.example.com:7171; of "
	"several, to\n"
	"                            the first that keeps a film: another one while it is away or "
	"full\n"
	"      --pyroscope URL       to Pyroscope, a profile per service\n"
	"      --otlp URL            to a receiver of OpenTelemetry's profiles (OTLP over HTTP)\n"
	"      --pprof-dir DIR       to files for 'go tool pprof', DIR/SERVICE/TIME.EVENT.pb.gz\n"
	"\n"
	"How to get there:\n"
	"      --token-file FILE     the server wants a token: the first of the file that allows "
	"to send\n"
	"                            (default, to 'stackcam serve' on this machine: the one that "
	"it made)\n"
	"      --tls-ca FILE         the authority that signed the server's certificate (PEM), if "
	"the system\n"
	"                            does not know it\n"
	"      --tls-cert FILE       this machine's own certificate (PEM) …\n"
	"      --tls-key FILE        … and its key\n"
	"      --pyroscope-push      use push.v1.PusherService, not /ingest\n"
	"\n"
	"What waits:\n"
	"      --spool DIR           where films wait (default /var/lib/stackcam-agent)\n"
	"      --spool-limit SIZE    how much at most (default 256MB); the oldest go first\n"
	"      --pprof-limit SIZE    how much --pprof-dir may take (default 1GB); the oldest go "
	"first\n"
	"      --send-only           film nothing: send what waits, and end\n"
	"\n"
	"The camera:\n" CMD_HELP_EVENTS
	"  -F, --frequency HZ        samples per second and CPU, 1 to 10000 (default 99)\n"
	"      --sample-cpu          of on-cpu: keep the CPU of each sample, for 'by=cpu'\n"
	"      --markers 0|1|2       requests that programs mark by lines to /dev/null; 0: none; "
	"1\n"
	"                            (default): where the kernel shows such writes alone; 2: all\n"
	"      --keep-query          keep the values of query strings, which may be secrets\n"
	"      --names agent|server  who names functions: 'server' reads no symbols here; "
	"'stackcam "
	"upload'\n"
	"                            gives them to the server (default agent)\n"
	"      --span TIME           how much is sent at once (default 10s)\n"
	"  -d, --duration TIME       end after this time\n"
	"      --host NAME           what this machine is called (default: its own name)\n"
	"      --label KEY=VALUE     stands at all that is filmed here, e.g. env=prod; may be "
	"repeated\n"
	"      --service RULE        what services are called, as in 'stackcam serve'; only for "
	"others "
	"than\n"
	"                            --to, where the server says it\n"
	"\n" CAMERA_HELP "\n"
	"      --user NAME           becomes this user as soon as it films\n"
	"      --config FILE         more of these options, one per line: 'span = 30s'; the "
	"command "
	"line wins; SIGHUP reads it again\n"
	"  -h, --help                this text\n"
	"\n"
	"Examples:\n"
	"  stackcam agent --to https://films.example.com:7171 --token-file /etc/stackcam/token\n"
	"  stackcam agent --pyroscope http://127.0.0.1:4040 --label env=prod\n"
	"  stackcam agent --pprof-dir /var/lib/profiles --span 1m\n";

enum {
	OPT_TO = 256,
	OPT_PYROSCOPE,
	OPT_OTLP,
	OPT_PPROF_DIR,
	OPT_CACERT,
	OPT_CERT,
	OPT_KEY,
	OPT_PYROSCOPE_PUSH,
	OPT_SPOOL,
	OPT_SPOOL_LIMIT,
	OPT_PPROF_LIMIT,
	OPT_SEND_ONLY,
	OPT_SPAN,
	OPT_HOST,
	OPT_NAMES,
};

static const struct option long_options[] = {
	{"to", required_argument, NULL, OPT_TO},
	{"pyroscope", required_argument, NULL, OPT_PYROSCOPE},
	{"otlp", required_argument, NULL, OPT_OTLP},
	{"pprof-dir", required_argument, NULL, OPT_PPROF_DIR},
	{"tls-ca", required_argument, NULL, OPT_CACERT},
	{"tls-cert", required_argument, NULL, OPT_CERT},
	{"tls-key", required_argument, NULL, OPT_KEY},
	/* as they were called before serve and agent had the same names */
	{"cacert", required_argument, NULL, OPT_CACERT},
	{"cert", required_argument, NULL, OPT_CERT},
	{"key", required_argument, NULL, OPT_KEY},
	{"pyroscope-push", no_argument, NULL, OPT_PYROSCOPE_PUSH},
	{"spool", required_argument, NULL, OPT_SPOOL},
	{"spool-limit", required_argument, NULL, OPT_SPOOL_LIMIT},
	{"pprof-limit", required_argument, NULL, OPT_PPROF_LIMIT},
	{"send-only", no_argument, NULL, OPT_SEND_ONLY},
	{"span", required_argument, NULL, OPT_SPAN},
	{"duration", required_argument, NULL, 'd'},
	{"host", required_argument, NULL, OPT_HOST},
	{"names", required_argument, NULL, OPT_NAMES},
	CAMERA_LONG_OPTIONS,
	SETTINGS_COMMON,
	{0},
};

static int set_where(struct agent_options *o, enum agent_to to, const char *value, struct fail *why)
{
	if (o->to != AGENT_NOWHERE && o->to != to)
		return fail(
			why, -EINVAL, NULL,
			"an agent sends to one place: --to, --pyroscope, --otlp or --pprof-dir");
	o->to = to;
	o->where = value;
	return 0;
}

static int parse_size(const char *option, const char *value, uint64_t *to, struct fail *why)
{
	if (text_parse_bytes(value, to) || *to < BYTES_MIN)
		return fail(why, -EINVAL, NULL,
			    "--%s takes a size of at least 1MB, such as 500MB, not '%s'", option,
			    value);
	return 0;
}

static int parse_time(const char *option, const char *value, uint64_t max, uint64_t *to,
		      struct fail *why)
{
	if (text_parse_time(value, SECOND_NS, to) || *to < SPAN_MIN || *to > max)
		return fail(why, -EINVAL, NULL, "%s takes a time such as 10s or 1m, not '%s'",
			    option, value);
	return 0;
}

/* It stands in a header. */
static int set_host(struct agent_options *o, const char *value, struct fail *why)
{
	if (strlen(value) > 255 || !*value)
		return fail(why, -EINVAL, NULL, "--host takes a name of 1 to 255 characters");
	for (const char *c = value; *c; c++)
		if (*c <= ' ' || *c > '~')
			return fail(why, -EINVAL, NULL,
				    "--host takes letters, digits and signs, not '%s'", value);
	o->host = value;
	return 0;
}

static int parse_names(struct agent_options *o, const char *value, struct fail *why)
{
	o->names_by_server = !strcmp(value, "server");
	if (o->names_by_server || !strcmp(value, "agent"))
		return 0;
	return fail(why, -EINVAL, NULL, "--names takes agent or server, not '%s'", value);
}

static int set_text(struct agent_options *o, int option, const char *value)
{
	const struct {
		int option;
		const char **to;
	} texts[] = {
		{OPT_CACERT, &o->ca},
		{OPT_CERT, &o->certificate},
		{OPT_KEY, &o->key},
		{OPT_SPOOL, &o->spool},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].option == option)
			*texts[i].to = value;
	return 0;
}

static int parse_value(void *context, int option, const char *value, struct fail *why)
{
	struct agent_options *o = context;
	int taken = camera_parse_option(&o->camera, option, value, why);

	if (taken <= 0)
		return taken;
	switch (option) {
	case OPT_TO:
		return set_where(o, AGENT_TO_SERVER, value, why);
	case OPT_PYROSCOPE:
		return set_where(o, AGENT_TO_PYROSCOPE, value, why);
	case OPT_OTLP:
		return set_where(o, AGENT_TO_OTLP, value, why);
	case OPT_PPROF_DIR:
		return set_where(o, AGENT_TO_PPROF, value, why);
	case OPT_PYROSCOPE_PUSH:
		o->push = true;
		return 0;
	case OPT_SEND_ONLY:
		o->send_only = true;
		return 0;
	case OPT_SPOOL_LIMIT:
		return parse_size("spool-limit", value, &o->spool_limit, why);
	case OPT_PPROF_LIMIT:
		return parse_size("pprof-limit", value, &o->pprof_limit, why);
	case OPT_SPAN:
		return parse_time("--span", value, SPAN_MAX, &o->span, why);
	case 'd':
		return parse_time("-d", value, UINT64_MAX, &o->duration, why);
	case OPT_NAMES:
		return parse_names(o, value, why);
	case OPT_HOST:
		return set_host(o, value, why);
	default:
		return set_text(o, option, value);
	}
}

/* What a serve on this machine made for whom it lets send, where it keeps its films by default. */
static void find_token(struct agent_options *o)
{
	if (o->to == AGENT_TO_SERVER && !o->common.token_file && !strchr(o->where, ',') &&
	    http_is_local(o->where) && !access(CMD_LOCAL_TOKENS, F_OK))
		o->common.token_file = CMD_LOCAL_TOKENS;
}

static int check_url(void *context, const char *url, struct fail *why)
{
	const struct agent_options *o = context;
	const char *user;

	/* what messages and films show hides that of one address */
	if (strchr(o->where, ',') && http_user(url, &user))
		return fail(why, -EINVAL, "use --token-file",
			    "of several servers, none can have a name and password in its address");
	return http_check_url(url, o->common.token_file != NULL, why);
}

static int check_where(struct agent_options *o, struct fail *why)
{
	if (o->to == AGENT_TO_PPROF)
		return 0;
	if (o->to == AGENT_TO_SERVER)
		return collectors_each(o->where, check_url, o, why);
	return http_check_url(o->where, o->common.token_file != NULL, why);
}

static int check(struct agent_options *o)
{
	struct fail why = {0};

	if (o->to == AGENT_NOWHERE)
		return cmd_usage("agent",
				 "where do films go? --to, --pyroscope, --otlp or --pprof-dir");
	if (!o->certificate != !o->key)
		return cmd_usage("agent", "--tls-cert and --tls-key need each other");
	if (o->push && o->to != AGENT_TO_PYROSCOPE)
		return cmd_usage("agent", "--pyroscope-push needs --pyroscope");
	if (o->names_by_server && o->to != AGENT_TO_SERVER)
		return cmd_usage("agent",
				 "--names server needs --to: no other server names functions");
	if (o->send_only && o->camera.programs.name_count)
		return cmd_usage("agent", "--camera films, and --send-only films nothing");
	if (!*o->where || !*o->spool)
		return cmd_usage("agent", "a name of a folder or a server is empty");
	find_token(o);
	if (check_where(o, &why))
		return cmd_usage("agent", "%s; %s", why.what, why.to_do);
	return 0;
}

/* Where to is one thing: what the command line says counts, not both. */
static void file_read(void *context)
{
	struct agent_options *o = context;

	o->to_of_file = o->to;
	o->where_of_file = o->where;
	o->to = AGENT_NOWHERE;
	camera_file_read(&o->camera);
}

int agent_options_read(int argc, char **argv, struct agent_options *o)
{
	const struct settings settings = {
		.verb = "agent",
		.help = help,
		.short_options = "+:e:F:d:h",
		.options = long_options,
		.common = &o->common,
		.parse_own = parse_value,
		.file_read = file_read,
		.context = o,
	};
	int status;

	*o = (struct agent_options){
		.spool = "/var/lib/stackcam-agent",
		.spool_limit = SPOOL_LIMIT,
		.pprof_limit = PPROF_LIMIT,
		.span = 10 * SECOND_NS,
		.camera = camera_flight_usual(),
		.common.frequency = 99,
	};
	status = cmd_read_settings(&settings, argc, argv);
	if (o->to == AGENT_NOWHERE) {
		o->to = o->to_of_file;
		o->where = o->where_of_file;
	}
	return status ? status : check(o);
}

void agent_options_free(struct agent_options *o)
{
	settings_free(&o->common);
	camera_flight_free(&o->camera);
	*o = (struct agent_options){0};
}

void agent_options_say_kept(const struct agent_options *a, const struct agent_options *b)
{
	const struct setting_kept kept[] = {
		{"to, pyroscope, otlp, pprof-dir",
		 a->to != b->to || settings_differ(a->where, b->where)},
		{"pyroscope-push", a->push != b->push},
		{"token-file", settings_differ(a->common.token_file, b->common.token_file)},
		{"tls-ca", settings_differ(a->ca, b->ca)},
		{"tls-cert", settings_differ(a->certificate, b->certificate)},
		{"tls-key", settings_differ(a->key, b->key)},
		{"spool", settings_differ(a->spool, b->spool)},
		{"pprof-limit", a->pprof_limit != b->pprof_limit},
		{"span", a->span != b->span},
		{"duration", a->duration != b->duration},
		{"host", settings_differ(a->host, b->host)},
		{"names", a->names_by_server != b->names_by_server},
		{"send-only", a->send_only != b->send_only},
		{"camera", !camera_flight_is_same(&a->camera, &b->camera)},
	};

	settings_say_kept(&a->common, &b->common, kept, sizeof(kept) / sizeof(kept[0]));
}
