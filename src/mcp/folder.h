/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MCP_FOLDER_H
#define MCP_FOLDER_H

#include <stdio.h>

#include "base/fail.h"
#include "film/reader.h"

/*
 * The films in a folder and the folders in it, by names relative to it. A client gets at no file
 * elsewhere: neither by a name nor by a link.
 */

/* Lists them, the newest first, with size and time; at most some tens. 0 or a negative errno. */
int mcp_folder_list(const char *folder, FILE *out, struct fail *why);

/*
 * Opens the film of that name; null: the newest. 0 or a negative errno with *why filled: -ENOENT,
 * if there is none.
 */
int mcp_folder_open(const char *folder, const char *name, struct film **film, struct fail *why);

#endif
