/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MCP_FOLDER_H
#define MCP_FOLDER_H

#include <stdbool.h>
#include <stdio.h>

#include "base/fail.h"
#include "film/reader.h"

/*
 * The films that tools read: those in a folder and the folders in it, by names relative to it, or
 * one film, by its last name. A client gets at no file elsewhere: neither by a name nor by a link.
 */
struct mcp_films {
	const char *path;
	bool is_film; /* it is that of one film, not of a folder */
};

/*
 * As a struct mcp_host has them; context is a struct mcp_films. The list has the newest film first,
 * each with size and time, at most some tens.
 */
int mcp_films_list(void *context, FILE *out, struct fail *why);
int mcp_films_open(void *context, const char *name, struct film **film, struct fail *why);

#endif
