// SPDX-License-Identifier: Apache-2.0
#include "cmd/verb.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/gzip.h"
#include "base/text.h"
#include "base/vec.h"
#include "elf/file.h"
#include "host/say.h"
#include "send/http.h"
#include "symbol/function_lines.h"

enum {
	OPT_TO = 256,
	OPT_TOKEN_FILE,
	OPT_TLS_CA,
	OPT_DEBUG_DIR,
};

static const struct option long_options[] = {
	{"to", required_argument, NULL, OPT_TO},
	{"token-file", required_argument, NULL, OPT_TOKEN_FILE},
	{"tls-ca", required_argument, NULL, OPT_TLS_CA},
	{"debug-dir", required_argument, NULL, OPT_DEBUG_DIR},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static const char help[] =
	"usage: stackcam upload [OPTION…] FILE…\n"
	"\n"
	"Gives 'stackcam serve' the names and addresses of the functions of programs, libraries "
	"and "
	"debug\n"
	"files, by their build ids: it names what was recorded without names, also earlier. The "
	"files\n"
	"themselves are not sent.\n"
	"\n"
	"      --to URL           where the server is (default " CMD_LOCAL_SERVER ")\n"
	"      --token-file FILE  the server wants a token: the first of the file that allows to "
	"send\n"
	"                         (default: " CMD_LOCAL_TOKENS ", if it can be read)\n"
	"      --tls-ca FILE      who signed the server's certificate (PEM), if the system does "
	"not\n"
	"                         know it\n"
	"      --debug-dir DIR    look for debug files in DIR, too, before /usr/lib/debug; may be\n"
	"                         given several times\n"
	"  -h, --help             this text\n"
	"\n"
	"Examples:\n"
	"  stackcam upload /usr/bin/app /usr/lib/libapp.so\n"
	"  stackcam upload --to https://films.example.com:7171 --token-file ci.token build/app\n";

struct arguments {
	const char *to;
	vec(const char *) directories; /* ends with null once parsed */
	struct http_options http;
	bool help;
};

struct upload {
	const struct arguments *arguments;
	struct symbols *symbols;
	struct http *http;
};

static int parse(int argc, char **argv, struct arguments *a)
{
	bool has_room = true;
	struct fail why;
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", long_options, NULL)) != -1)
		switch (option) {
		case OPT_TO:
			a->to = optarg;
			break;
		case OPT_TOKEN_FILE:
			a->http.token_file = optarg;
			break;
		case OPT_TLS_CA:
			a->http.ca = optarg;
			break;
		case OPT_DEBUG_DIR:
			has_room = has_room && vec_push(&a->directories, optarg);
			break;
		case 'h':
			a->help = true;
			return 0;
		default:
			return cmd_usage_option("upload", argv, long_options);
		}
	if (optind == argc)
		return cmd_usage("upload", "name the programs, libraries or debug files");
	if (!has_room || !vec_push(&a->directories, "/usr/lib/debug") ||
	    !vec_push(&a->directories, NULL)) {
		fputs("stackcam: out of memory\n", stderr);
		return EXIT_FAILURE;
	}
	if (!a->http.token_file && http_is_local(a->to) && !access(CMD_LOCAL_TOKENS, R_OK))
		a->http.token_file = CMD_LOCAL_TOKENS;
	if (http_check_url(a->to, a->http.token_file != NULL, &why))
		return cmd_usage("upload", "%s; %s", why.what, why.to_do);
	return 0;
}

static int pack(struct buf *lines, char **packed, size_t *size)
{
	FILE *out = open_memstream(packed, size);
	struct gzip z;
	int err;

	if (!out)
		return -ENOMEM;
	gzip_start(&z, out);
	gzip_add(&z, lines);
	err = gzip_finish(&z);
	return fclose(out) && !err ? -ENOMEM : err;
}

/* The functions of a file, packed; *digits: its build id. */
static int read_file(struct upload *u, const char *path, int fd, char *digits, size_t digits_size,
		     char **packed, size_t *size, uint64_t *count, struct fail *why)
{
	struct symbol_functions functions = {0};
	struct symbol_image image = {.fd = fd, .path = path, .root = ""};
	struct buf lines = {0};
	struct elf_file elf;
	int err = elf_file_open(&elf, fd);

	if (err)
		return fail_errno(why, err, NULL, "cannot read %s", path);
	image.build_id = elf.build_id;
	image.build_id_size = elf.build_id_size;
	text_hex(digits, digits_size, elf.build_id, elf.build_id_size);
	if (!elf.build_id_size)
		err = fail(why, -EINVAL, "link it with --build-id",
			   "%s has no build id that its names could be known by", path);
	if (!err)
		err = symbol_functions_of(u->symbols, &image, &functions, why);
	if (!err) {
		err = symbol_function_lines(&functions, &lines, count);
		symbol_functions_free(&functions);
		if (!err && *count)
			err = pack(&lines, packed, size);
		if (err)
			fail_errno(why, err, NULL, "cannot list the functions of %s", path);
	}
	if (!err && !*count)
		err = fail(why, -ENOENT, "name its debug file, or a folder with --debug-dir",
			   "%s has no symbols", path);
	buf_free(&lines);
	elf_file_close(&elf);
	return err;
}

static int send(struct upload *u, const char *path, const char *digits, const char *packed,
		size_t size, bool *again, struct fail *why)
{
	static const char *const headers[] = {"Content-Encoding: gzip", "Content-Type: text/plain",
					      NULL};
	const char *to = u->arguments->to, *slash = strrchr(path, '/');
	struct http_reply reply = {0};
	size_t length = strlen(to);
	struct buf url = {0};
	int err = -ENOMEM;

	while (length && to[length - 1] == '/')
		length--;
	buf_printf(&url, "%.*s/api/v1/symbols?build_id=%s&file=", (int)length, to, digits);
	http_escape(&url, slash ? slash + 1 : path);
	buf_put_u8(&url, 0);
	if (!url.failed) {
		const struct http_post post = {.url = (const char *)url.at,
					       .headers = headers,
					       .body = packed,
					       .size = size};

		err = http_post(u->http, &post, &reply, why);
	} else {
		fail_errno(why, err, NULL, "cannot send the names of %s", path);
	}
	buf_free(&url);
	if (err)
		return err;
	*again = strstr(reply.words, "\"again\":true");
	if (reply.status == 200)
		return 0;
	return fail(why, -EIO,
		    reply.status == 401 || reply.status == 403
			    ? "name a token that allows to send, with --token-file"
			    : NULL,
		    "%s did not take the names of %s (status %u): %.300s", http_shown(to), path,
		    reply.status, reply.words);
}

static int upload_one(struct upload *u, const char *path, struct fail *why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), err;
	char digits[2 * ELF_BUILD_ID_MAX + 1];
	char *packed = NULL, number[32];
	uint64_t count = 0;
	bool again = false;
	size_t size = 0;

	if (fd < 0)
		return fail_errno(why, -errno, NULL, "cannot open %s", path);
	err = read_file(u, path, fd, digits, sizeof(digits), &packed, &size, &count, why);
	if (!err)
		err = send(u, path, digits, packed, size, &again, why);
	if (!err) {
		text_count(number, sizeof(number), count);
		text_print_safe(stdout, path);
		printf(": build id %s, ", digits);
		if (again)
			puts("the server has its names");
		else
			printf("%s function%s\n", number, text_plural(count));
	}
	free(packed);
	close(fd);
	return err;
}

int cmd_upload(int argc, char **argv)
{
	struct arguments a = {.to = CMD_LOCAL_SERVER};
	struct symbol_options options = {.thorough = true};
	struct upload u = {.arguments = &a};
	struct fail why = {0};
	int status = parse(argc, argv, &a), err;

	if (a.help)
		cmd_print_help(help);
	if (a.help || status) {
		vec_free(&a.directories);
		return status;
	}
	options.debug_directories = a.directories.at;
	err = symbols_new(&options, &u.symbols);
	if (err)
		fail_errno(&why, err, NULL, "cannot read symbols");
	host_say_exposed(a.http.token_file);
	if (!err)
		err = http_new(&a.http, &u.http, &why);
	if (err)
		fail_print(&why);
	/* one that fails does not keep the others from being sent */
	for (int i = optind; !err && i < argc; i++)
		if (upload_one(&u, argv[i], &why)) {
			fail_print(&why);
			status = fail_exit_status(&why);
		}
	http_free(u.http);
	symbols_free(u.symbols);
	vec_free(&a.directories);
	return err ? fail_exit_status(&why) : status;
}
