/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_IDENTITY_H
#define QUERY_IDENTITY_H

#include <stdbool.h>

#include "base/fail.h"
#include "film/film.h"

/*
 * Which service a process belongs to. Rules are tried in order, the first that fits names it;
 * behind those of the configuration stands what the program says of itself by OpenTelemetry's
 * process context, "NAMESPACE/NAME", and then those that need nothing: of a container, a pod or no
 * unit the name of the program, or of the script that an interpreter runs, with the container's
 * name where it has one beside its id; else the systemd unit. Before all of them stands what a push
 * said: "service:NAME" as the control group (exchange/import.h).
 */
struct identity;

/*
 * A rule: "WHAT=GLOB NAME", WHAT one of unit, container, cgroup, exe, command, comm; $1 … stand for
 * its '*'s.
 */
int identity_new(struct identity **identity, struct fail *why);
int identity_add(struct identity *identity, const char *rule, struct fail *why);
struct identity *identity_copy(const struct identity *identity); /* null: no memory */
void identity_free(struct identity *identity);			 /* null is allowed */

/*
 * Writes the name of the process's service, at least one character; cut and ended by "…" if it does
 * not fit.
 */
void identity_of(const struct identity *identity, const struct film_process *process, char *to,
		 size_t size);

/*
 * Whether an interpreter runs the process's code from a file of its own: the build of the program
 * is then the interpreter's, and says nothing of the code.
 */
bool identity_is_script(const struct film_process *process);

#endif
