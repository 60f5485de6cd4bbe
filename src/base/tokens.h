/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TOKENS_H
#define BASE_TOKENS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/vec.h"

/*
 * A file of tokens, one a line, and what each allows:
 *
 *	# a comment
 *	TOKEN read              to see what there is
 *	TOKEN write             to send films and profiles
 *	TOKEN write host=web1   the same, of that machine only
 *
 * The first token may stand alone: it allows both, as the one token of such a file once did.
 */
enum {
	TOKEN_MIN = 16, /* characters, printable ASCII without blanks */
	TOKEN_MAX = 512,
	TOKEN_HOST_MAX = 255,
	TOKENS_MAX = 4096,	/* in a file */
	TOKENS_BYTES = 4 << 20, /* of a file */
	TOKEN_NEW_SIZE = 49,	/* of a text that token_new() makes, with its end */
};

struct token {
	char *text;
	char *host; /* null: of any machine */
	bool may_read, may_write;
	uint64_t
		/*
		 * made from the text, never 0: to tell senders apart without keeping their secret
		 */
		id;
};

/* All zero is empty. */
struct tokens {
	vec(struct token) all;
};

/*
 * Adds those of a text to *tokens; name: what errors call it. Returns 0 or a negative errno with
 * *why filled; -EINVAL for a line that is not a token, and for a text without any. Without success
 * *tokens is empty.
 */
int tokens_parse(const char *text, const char *name, struct tokens *tokens, struct fail *why);

/* The same of a file, which no other user may change: -EPERM. */
int tokens_read(const char *path, struct tokens *tokens, struct fail *why);

/* Overwrites the secrets, and frees all. */
void tokens_free(struct tokens *tokens);

/* The first that allows it; null: none does. */
const struct token *tokens_to_read(const struct tokens *tokens);
const struct token *tokens_to_write(const struct tokens *tokens);

/* Makes a secret of 24 random bytes, as hex digits. Returns 0 or -EIO. */
int token_new(char text[TOKEN_NEW_SIZE]);

/*
 * Appends "#token=TOKEN", which opens the page behind an address. Browsers keep this part to
 * themselves. The text's end is not appended.
 */
void token_put_fragment(struct buf *to, const char *token);

/* Makes a file with a token of each kind, that its owner alone can read. -EEXIST: there is one. */
int tokens_make(const char *path, struct fail *why);

/* Refuses an open file of tokens that other users can change: -EPERM. path: what errors call it. */
int tokens_check(int fd, const char *path, struct fail *why);

/*
 * Whether others than its owner and its group can read a file, or others than its owner can write
 * it: how, as "0644" in octal; 0: neither, or there is no such file.
 */
unsigned int tokens_exposed(const char *path);

#endif
