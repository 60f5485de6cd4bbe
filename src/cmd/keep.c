// SPDX-License-Identifier: Apache-2.0
#include "cmd/verb.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/text.h"
#include "host/flight_socket.h"
#include "host/say.h"
#include "send/http.h"

enum {
	OPT_TO = 256,
	OPT_REASON,
	OPT_PID,
	OPT_TOKEN_FILE,
	OPT_TLS_CA,
};

static const struct option long_options[] = {
	{"to", required_argument, NULL, OPT_TO},
	{"reason", required_argument, NULL, OPT_REASON},
	{"pid", required_argument, NULL, OPT_PID},
	{"token-file", required_argument, NULL, OPT_TOKEN_FILE},
	{"tls-ca", required_argument, NULL, OPT_TLS_CA},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static const char help[] =
	"usage: stackcam keep [OPTION…]\n"
	"\n"
	"Asks a running flight recorder to keep the last minutes as a film, and prints where it "
	"is: "
	"a\n"
	"'stackcam serve --camera' on this machine or over the network, or a process on this "
	"machine "
	"of\n"
	"'stackcam record --flight' or 'stackcam agent --camera'.\n"
	"\n"
	"      --reason TEXT      why: stands at the film, and as a mark on the page\n"
	"      --pid PID          the process of 'stackcam record --flight' or 'stackcam agent "
	"--camera'\n"
	"      --to URL           where the server is (default " CMD_LOCAL_SERVER ")\n"
	"      --token-file FILE  the server wants a token: the first of the file that allows to "
	"send\n"
	"                         (default: " CMD_LOCAL_TOKENS ", if it can be read)\n"
	"      --tls-ca FILE      who signed the server's certificate (PEM), if the system does "
	"not\n"
	"                         know it\n"
	"  -h, --help             this text\n"
	"\n"
	"Examples:\n"
	"  stackcam keep\n"
	"  stackcam keep --reason 'orders were slow'\n"
	"  stackcam keep --pid 1234\n"
	"  stackcam report \"$(stackcam keep)\" --format states\n";

struct arguments {
	const char *to, *reason;
	pid_t pid; /* 0: a server is asked */
	struct http_options http;
	bool help;
};

static int parse(int argc, char **argv, struct arguments *a)
{
	struct fail why;
	uint64_t pid;
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "+:h", long_options, NULL)) != -1)
		switch (option) {
		case OPT_TO:
			a->to = optarg;
			break;
		case OPT_REASON:
			a->reason = optarg;
			break;
		case OPT_PID:
			if (text_parse_u64(optarg, 1, INT32_MAX, &pid))
				return cmd_usage("keep", "--pid takes the number of a process");
			a->pid = (pid_t)pid;
			break;
		case OPT_TOKEN_FILE:
			a->http.token_file = optarg;
			break;
		case OPT_TLS_CA:
			a->http.ca = optarg;
			break;
		case 'h':
			a->help = true;
			return 0;
		default:
			return cmd_usage_option("keep", argv, long_options);
		}
	if (optind < argc)
		return cmd_usage("keep",
				 "it takes no arguments; the reason stands behind --reason");
	if (!a->http.token_file && http_is_local(a->to) && !access(CMD_LOCAL_TOKENS, R_OK))
		a->http.token_file = CMD_LOCAL_TOKENS;
	if (http_check_url(a->to, a->http.token_file != NULL, &why))
		return cmd_usage("keep", "%s; %s", why.what, why.to_do);
	return 0;
}

/* The address with the reason behind it. */
static void put_url(struct buf *to, const struct arguments *a)
{
	size_t length = strlen(a->to);

	while (length && a->to[length - 1] == '/')
		length--;
	buf_printf(to, "%.*s/api/v1/keep", (int)length, a->to);
	if (*a->reason)
		buf_put_text(to, "?reason=");
	http_escape(to, a->reason);
	buf_put_u8(to, 0);
}

/* The value of a text in a small JSON object, as it stands there; null: it is not there. */
static char *value_of(const char *json, const char *key)
{
	char quoted[32];
	const char *at;

	snprintf(quoted, sizeof(quoted), "\"%s\":\"", key);
	at = strstr(json, quoted);
	return at ? strndup(at + strlen(quoted), strcspn(at + strlen(quoted), "\"")) : NULL;
}

static int refuse(const struct arguments *a, const struct http_reply *reply, struct fail *why)
{
	char *error = value_of(reply->words, "error");

	fail(why, -EIO,
	     reply->status == 401 || reply->status == 403
		     ? "name a token that allows to send, with --token-file"
		     : NULL,
	     "%s keeps nothing: %s (status %u)", http_shown(a->to),
	     error ? error : "no reason given", reply->status);
	free(error);
	return -EIO;
}

static int ask(const struct arguments *a, struct fail *why)
{
	static const char *const headers[] = {NULL};
	struct http_reply reply = {0};
	struct http *http = NULL;
	struct buf url = {0};
	char *film;
	int err = http_new(&a->http, &http, why);

	host_say_exposed(a->http.token_file);
	put_url(&url, a);
	if (!err && url.failed)
		err = fail_errno(why, -ENOMEM, NULL, "cannot ask");
	if (!err) {
		const struct http_post post = {
			.url = (const char *)url.at, .headers = headers, .body = "", .size = 0};

		err = http_post(http, &post, &reply, why);
	}
	if (!err && reply.status != 200)
		err = refuse(a, &reply, why);
	film = err ? NULL : value_of(reply.words, "film");
	if (film) {
		text_print_safe(stdout, film);
		putchar('\n');
	}
	free(film);
	http_free(http);
	buf_free(&url);
	return err;
}

static int ask_process(const struct arguments *a, struct fail *why)
{
	char path[FLIGHT_SOCKET_ANSWER_MAX];
	int err;

	if (strlen(a->reason) > FLIGHT_SOCKET_REASON_MAX)
		return fail(why, -EINVAL, NULL, "a reason has at most %d bytes",
			    FLIGHT_SOCKET_REASON_MAX);
	err = flight_socket_ask(a->pid, a->reason, path, sizeof(path), why);
	if (!err) {
		text_print_safe(stdout, path);
		putchar('\n');
	}
	return err;
}

int cmd_keep(int argc, char **argv)
{
	struct arguments a = {.to = CMD_LOCAL_SERVER, .reason = ""};
	struct fail why = {0};
	int status = parse(argc, argv, &a);

	if (status)
		return status;
	if (a.help) {
		cmd_print_help(help);
		return 0;
	}
	if (!(a.pid ? ask_process(&a, &why) : ask(&a, &why)))
		return 0;
	fail_print(&why);
	return fail_exit_status(&why);
}
