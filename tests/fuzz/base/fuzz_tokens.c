// SPDX-License-Identifier: Apache-2.0
/*
 * A file of tokens: each that is taken has what a token must have, allows something, and is another
 * than those before.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/globs.h"
#include "base/tokens.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct tokens *tokens, const struct token *token)
{
	size_t length = token->text ? strlen(token->text) : TOKEN_MIN;
	bool may_write = token->may_upload || token->may_record;

	if (length < TOKEN_MIN || length > TOKEN_MAX || !token->id ||
	    (!token->may_read && !may_write) || (token->host && !may_write) ||
	    (token->services && (!token->may_read || !globs_are_valid(token->services))))
		abort();
	if (!token->text)
		return;
	for (const char *c = token->text; *c; c++)
		if (*c <= ' ' || *c > '~')
			abort();
	for (const struct token *other = tokens->all.at; other < token; other++)
		if (other->text && !strcmp(other->text, token->text))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct tokens tokens = {0};
	struct fail why = {0};

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	if (tokens_parse(text, "the file", &tokens, &why)) {
		if (tokens.all.count || !why.err)
			abort();
	} else {
		vec_foreach (&tokens.all, token)
			check(&tokens, token);
	}
	tokens_free(&tokens);
	free(text);
	return 0;
}
