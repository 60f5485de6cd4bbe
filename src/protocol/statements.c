// SPDX-License-Identifier: Apache-2.0
#include "protocol/statements.h"

#include <string.h>

#define STATEMENTS_MAX 128

static struct statement *find(const struct statements *statements, uint64_t name)
{
	vec_foreach (&statements->all, statement)
		if (statement->name == name)
			return statement;
	return NULL;
}

void statements_keep(struct statements *statements, uint64_t name, const char *sql)
{
	struct statement statement = {.name = name}, *place = find(statements, name);

	strcpy(statement.sql, sql);
	if (!place && statements->all.count >= STATEMENTS_MAX)
		place = &statements->all.at[name % STATEMENTS_MAX];
	if (place)
		*place = statement;
	else
		vec_push(&statements->all, statement);
}

void statements_forget(struct statements *statements, uint64_t name)
{
	struct statement *statement = find(statements, name);

	if (!statement)
		return;
	*statement = *vec_last(&statements->all);
	statements->all.count--;
}

const char *statements_find(const struct statements *statements, uint64_t name)
{
	const struct statement *statement = find(statements, name);

	return statement ? statement->sql : "<statement from before>";
}

void statements_free(struct statements *statements)
{
	vec_free(&statements->all);
}
