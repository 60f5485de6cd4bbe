/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_MCP_CHILD_H
#define CMD_MCP_CHILD_H

#include <stdio.h>

#include "base/fail.h"

/*
 * Runs this program with other arguments, as what records needs a process of its own, and writes
 * what it prints to out, at most some kB. After that many seconds it is interrupted, as by a user,
 * and killed if it goes on. *status becomes its exit status, 128 and more for a signal. 0 or a
 * negative errno with *why filled.
 */
int mcp_child_run(char *const argv[], unsigned int seconds, FILE *out, int *status,
		  struct fail *why);

#endif
