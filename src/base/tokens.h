/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TOKENS_H
#define BASE_TOKENS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/vec.h"

/*
 * A file of access tokens, one per line, and what each of them allows:
 *
 *	# a comment
 *	TOKEN read              to see what there is
 *	TOKEN upload            to send films and profiles
 *	TOKEN record            to have the flight recorder keep its film
 *	TOKEN admin             all of these
 *	TOKEN write             upload and record
 *	TOKEN write host=web1   the same, of that machine only
 *	TOKEN read services=shop-*,cart questions=60 name=shop
 *	                        to see these services alone (base/globs.h), with at most 60
 *	                        questions a minute; the name stands in the audit
 *
 * In the place of a token, "sha256:" and 64 hexadecimal digits are its SHA-256: so the file has no
 * secret. The first token may stand without a word: it allows all. Files of earlier versions have
 * one such token.
 */
enum {
	TOKEN_MIN = 16, /* characters, printable ASCII without blanks */
	TOKEN_MAX = 512,
	TOKEN_HOST_MAX = 255,
	TOKEN_NAME_MAX = 64,
	TOKEN_SERVICES_MAX = 1023,
	TOKEN_QUESTIONS_MAX = 1000000,
	TOKEN_DIGEST = 32,	/* bytes of a SHA-256 */
	TOKENS_MAX = 4096,	/* in a file */
	TOKENS_BYTES = 4 << 20, /* of a file */
	TOKEN_NEW_SIZE = 49,	/* bytes of the text from token_new(), with its terminating zero */
};

struct token {
	char *text; /* null: only its digest is known */
	uint8_t digest[TOKEN_DIGEST];
	char *name;	    /* null: none */
	char *host;	    /* the only host it may send films of; null: any host */
	char *services;	    /* globs of those that it shows; null: all */
	uint32_t questions; /* at most, a minute; 0: no limit */
	bool may_read, may_upload, may_record;
	/* hash of the text or digest, never 0: tells senders apart without their secret */
	uint64_t id;
};

/* All zero is empty. */
struct tokens {
	vec(struct token) all;
};

/*
 * Parses a text and adds its tokens to *tokens. name is the name for error messages. Returns 0 or a
 * negative errno with *why filled; -EINVAL for an invalid line, and for a text without a token.
 * After an error *tokens is empty.
 */
int tokens_parse(const char *text, const char *name, struct tokens *tokens, struct fail *why);

/* The same for a file; -EPERM: other users can write the file. */
int tokens_read(const char *path, struct tokens *tokens, struct fail *why);

/* Overwrites the secrets and frees the list. */
void tokens_free(struct tokens *tokens);

/* The first token with a text that allows reading all services; null: none. */
const struct token *tokens_to_read(const struct tokens *tokens);

/* Generates a token: 24 random bytes as hex digits. Returns 0 or -EIO. */
int token_new(char text[TOKEN_NEW_SIZE]);

/*
 * Appends "#token=TOKEN", the part of the page's URL that logs in; browsers do not send it to
 * servers. Does not append a terminating zero.
 */
void token_put_fragment(struct buf *to, const char *token);

/*
 * Creates a file with a token of each kind that only its owner can read. -EEXIST: the file exists.
 */
int tokens_make(const char *path, struct fail *why);

/* -EPERM if other users can write an open file of tokens. path is the name for error messages. */
int tokens_check(int fd, const char *path, struct fail *why);

/*
 * Returns the mode (0644, say) of a file that users other than its owner and group can read, or
 * that users other than its owner can write; 0: neither, or the file does not exist.
 */
unsigned int tokens_exposed(const char *path);

#endif
