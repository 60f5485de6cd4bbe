// SPDX-License-Identifier: Apache-2.0
#include "base/tokens.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/globs.h"
#include "base/map.h"
#include "base/text.h"

static const char blanks[] = " \t\r";

/* Where a line is, for who has to change it. */
struct place {
	const char *name;
	unsigned int line;
};

static int check_text(const char *text, const struct place *at, struct fail *why)
{
	size_t length = strlen(text);

	if (length < TOKEN_MIN || length > TOKEN_MAX)
		return fail(why, -EINVAL, "'openssl rand -hex 32' makes a good one",
			    "%s, line %u: a token has %d to %d characters, this one %zu", at->name,
			    at->line, TOKEN_MIN, TOKEN_MAX, length);
	for (const char *c = text; *c; c++)
		if (*c <= ' ' || *c > '~')
			return fail(why, -EINVAL, NULL,
				    "%s, line %u: a token has printable characters of ASCII only",
				    at->name, at->line);
	return 0;
}

#define WORDS "'read', 'upload', 'record', 'admin', 'write' or 'write host=NAME'"

/* Keeps the value of "KEY=VALUE", where none was given before. */
static int parse_text(char **to, const char *value, bool is_valid, const struct place *at,
		      struct fail *why)
{
	if (!is_valid || *to)
		return fail(why, -EINVAL,
			    "each of host=, name= and services= stands there once, with a value "
			    "that stackcam-serve(1) describes",
			    "%s, line %u: a value is missing, given twice or invalid", at->name,
			    at->line);
	*to = strdup(value);
	return *to ? 0 : fail_errno(why, -ENOMEM, NULL, "cannot keep the tokens");
}

static bool is_name(const char *name)
{
	size_t length = strlen(name);

	return length && length <= TOKEN_NAME_MAX &&
	       strspn(name, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-") ==
		       length;
}

/* Whether it is a right; then the token has it from now on. */
static bool parse_right(struct token *token, const char *word)
{
	static const struct {
		const char *word;
		bool reads, uploads, records;
	} rights[] = {
		{"read", .reads = true},     {"upload", .uploads = true},
		{"record", .records = true}, {"write", .uploads = true, .records = true},
		{"admin", true, true, true},
	};

	for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++)
		if (!strcmp(word, rights[i].word)) {
			token->may_read |= rights[i].reads;
			token->may_upload |= rights[i].uploads;
			token->may_record |= rights[i].records;
			return true;
		}
	return false;
}

/* One word behind a token. */
static int parse_word(struct token *token, const char *word, const struct place *at,
		      struct fail *why)
{
	const char *equals = strchr(word, '='), *value = equals ? equals + 1 : word;
	size_t key = (size_t)(value - word), length = strlen(value);
	uint64_t number;

	if (parse_right(token, word))
		return 0;
	if (key == 5 && !strncmp(word, "host=", key))
		return parse_text(&token->host, value, length && length <= TOKEN_HOST_MAX, at, why);
	if (key == 5 && !strncmp(word, "name=", key))
		return parse_text(&token->name, value, is_name(value), at, why);
	if (key == 9 && !strncmp(word, "services=", key))
		return parse_text(&token->services, value,
				  length <= TOKEN_SERVICES_MAX && globs_are_valid(value), at, why);
	if (key != 10 || strncmp(word, "questions=", key) || token->questions ||
	    text_parse_u64(value, 1, TOKEN_QUESTIONS_MAX, &number))
		return fail(why, -EINVAL, "behind a token stand " WORDS,
			    "%s, line %u: it does not say what the token allows", at->name,
			    at->line);
	token->questions = (uint32_t)number;
	return 0;
}

static void token_free(struct token *token)
{
	if (token->text)
		explicit_bzero(token->text, strlen(token->text));
	free(token->text);
	free(token->name);
	free(token->host);
	free(token->services);
}

/* Whether the words of a line agree with each other. */
static int check_words(const struct tokens *tokens, struct token *token, const struct place *at,
		       struct fail *why)
{
	if (!token->may_read && !token->may_upload && !token->may_record && !token->host &&
	    !token->services) {
		if (tokens->all.count)
			return fail(why, -EINVAL, "write " WORDS " behind it",
				    "%s, line %u: only the first token may stand alone", at->name,
				    at->line);
		token->may_read = token->may_upload = token->may_record = true;
	}
	if (token->host && !token->may_upload && !token->may_record)
		return fail(why, -EINVAL, "write 'write' before it",
			    "%s, line %u: a host is of tokens that allow to send", at->name,
			    at->line);
	if (token->services && !token->may_read)
		return fail(why, -EINVAL, "write 'read' before it",
			    "%s, line %u: services are of tokens that allow to read", at->name,
			    at->line);
	return 0;
}

static int finish_token(struct tokens *tokens, struct token *token, const struct place *at,
			struct fail *why)
{
	int err = check_words(tokens, token, at, why);

	if (err)
		return err;
	if (tokens->all.count == TOKENS_MAX)
		return fail(why, -E2BIG, NULL, "%s has more than %d tokens", at->name, TOKENS_MAX);
	token->id = (token->text ? hash_bytes(token->text, strlen(token->text))
				 : hash_bytes(token->digest, sizeof(token->digest))) |
		    1;
	vec_foreach (&tokens->all, other)
		if (other->id == token->id)
			return fail(why, -EINVAL, "give each line a token of its own",
				    "%s, line %u: this token is there already", at->name, at->line);
	return vec_push(&tokens->all, *token)
		       ? 0
		       : fail_errno(why, -ENOMEM, NULL, "cannot keep the tokens");
}

/* The token itself, or its digest. */
static int parse_secret(struct token *token, const char *word, const struct place *at,
			struct fail *why)
{
	static const char before[] = "sha256:";
	const char *digits = word + sizeof(before) - 1;
	int err;

	if (!strncmp(word, before, sizeof(before) - 1)) {
		if (strlen(digits) == 2 * TOKEN_DIGEST &&
		    text_parse_hex(digits, 2 * TOKEN_DIGEST, token->digest))
			return 0;
		return fail(why, -EINVAL, "'printf %s TOKEN | sha256sum' prints them",
			    "%s, line %u: behind 'sha256:' stand %d hexadecimal digits", at->name,
			    at->line, 2 * TOKEN_DIGEST);
	}
	err = check_text(word, at, why);
	if (err)
		return err;
	token->text = strdup(word);
	return token->text ? 0 : fail_errno(why, -ENOMEM, NULL, "cannot keep the tokens");
}

/* A line, which is changed. */
static int parse_line(struct tokens *tokens, char *line, const struct place *at, struct fail *why)
{
	char *rest = NULL, *word = strtok_r(line, blanks, &rest);
	struct token token = {0};
	int err;

	if (!word || *word == '#')
		return 0;
	err = parse_secret(&token, word, at, why);
	while (!err && (word = strtok_r(NULL, blanks, &rest)))
		err = parse_word(&token, word, at, why);
	if (!err)
		err = finish_token(tokens, &token, at, why);
	if (err)
		token_free(&token);
	return err;
}

int tokens_parse(const char *text, const char *name, struct tokens *tokens, struct fail *why)
{
	struct place at = {name, 0};
	char *line = NULL;
	int err = 0;

	while (!err && *text) {
		size_t length = strcspn(text, "\n");

		at.line++;
		line = strndup(text, length);
		err = line ? parse_line(tokens, line, &at, why)
			   : fail_errno(why, -ENOMEM, NULL, "cannot keep the tokens");
		if (line)
			explicit_bzero(line, length);
		free(line);
		text += length + (text[length] == '\n');
	}
	if (!err && !tokens->all.count)
		err = fail(why, -EINVAL, "'openssl rand -hex 32' makes a good one",
			   "there is no token in %s", name);
	if (err)
		tokens_free(tokens);
	return err;
}

int tokens_check(int fd, const char *path, struct fail *why)
{
	struct stat st;

	if (fstat(fd, &st))
		return fail_errno(why, -errno, NULL, "cannot read the tokens in %s", path);
	if (!S_ISREG(st.st_mode) || !(st.st_mode & (S_IWGRP | S_IWOTH)))
		return 0;
	return fail(why, -EPERM, "make it yours alone with chmod 600",
		    "the tokens in %s are not used: other users can change the file (mode %04o)",
		    path, st.st_mode & 07777);
}

int tokens_read(const char *path, struct tokens *tokens, struct fail *why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = fd < 0 ? -errno : 0;
	struct stat st = {0};
	char *text = NULL;

	if (!err && fstat(fd, &st))
		err = -errno;
	if (!err && (!S_ISREG(st.st_mode) || st.st_size > TOKENS_BYTES))
		err = -EFBIG;
	if (!err && tokens_check(fd, path, why)) {
		close(fd);
		return -EPERM;
	}
	if (!err && !(text = calloc(1, (size_t)st.st_size + 1)))
		err = -ENOMEM;
	if (!err && !file_read_at(fd, 0, text, (size_t)st.st_size))
		err = -EIO;
	if (fd >= 0)
		close(fd);
	if (err)
		fail_errno(why, err,
			   err == -EACCES ? "it must be readable by the user that runs this"
					  : "name the file that they stand in",
			   "cannot read the tokens in %s", path);
	else
		err = tokens_parse(text, path, tokens, why);
	if (text)
		explicit_bzero(text, (size_t)st.st_size);
	free(text);
	return err;
}

void tokens_free(struct tokens *tokens)
{
	vec_foreach (&tokens->all, token)
		token_free(token);
	vec_free(&tokens->all);
}

const struct token *tokens_to_read(const struct tokens *tokens)
{
	vec_foreach (&tokens->all, token)
		if (token->text && token->may_read && !token->services)
			return token;
	return NULL;
}

int token_new(char text[TOKEN_NEW_SIZE])
{
	uint8_t secret[(TOKEN_NEW_SIZE - 1) / 2];

	if (getrandom(secret, sizeof(secret), 0) != sizeof(secret))
		return -EIO;
	text_hex(text, TOKEN_NEW_SIZE, secret, sizeof(secret));
	explicit_bzero(secret, sizeof(secret));
	return 0;
}

void token_put_fragment(struct buf *to, const char *token)
{
	buf_put_text(to, "#token=");
	for (const char *c = token; *c; c++)
		if (isalnum((unsigned char)*c) || strchr("-._~", *c))
			buf_put_u8(to, (uint8_t)*c);
		else
			buf_printf(to, "%%%02X", (unsigned char)*c);
}

static int write_tokens(int fd)
{
	static const char *const allows[] = {"read", "write"};
	char text[TOKEN_NEW_SIZE];
	int err = 0;

	dprintf(fd, "# Made by stackcam serve. Clients with the first one may read, clients with "
		    "the second may send films.\n");
	for (size_t i = 0; !err && i < 2; i++) {
		err = token_new(text);
		errno = EIO;
		if (!err && dprintf(fd, "%s %s\n", text, allows[i]) < 0)
			err = -errno;
	}
	explicit_bzero(text, sizeof(text));
	return !err && fsync(fd) ? -errno : err;
}

int tokens_make(const char *path, struct fail *why)
{
	char new[PATH_MAX];
	int fd, err = 0;

	if (!access(path, F_OK))
		return -EEXIST;
	if (snprintf(new, sizeof(new), "%s.new", path) >= (int)sizeof(new))
		return fail_errno(why, -ENAMETOOLONG, NULL, "cannot make the tokens %s", path);
	/* one that was begun and not completed */
	unlink(new);
	fd = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		err = -errno;
	if (!err)
		err = write_tokens(fd);
	if (fd >= 0)
		close(fd);
	if (!err && rename(new, path))
		err = -errno;
	if (!err)
		return 0;
	unlink(new);
	return fail_errno(why, err, "or name a file of tokens with --token-file",
			  "cannot make the tokens %s", path);
}

unsigned int tokens_exposed(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return 0;
	return st.st_mode & (S_IROTH | S_IWOTH | S_IWGRP) ? st.st_mode & 07777 : 0;
}
