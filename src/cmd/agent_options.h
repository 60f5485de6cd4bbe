/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_AGENT_OPTIONS_H
#define CMD_AGENT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/camera_options.h"
#include "host/settings.h"

/* Where an agent's films go. */
enum agent_to {
	AGENT_NOWHERE,
	AGENT_TO_SERVER,
	AGENT_TO_PYROSCOPE,
	AGENT_TO_OTLP,
	AGENT_TO_PPROF
};

/* The options of "stackcam agent": from its command line, and from a file of the same options. */
struct agent_options {
	enum agent_to to;
	const char *where;		    /* a URL, several (--to), or a folder */
	bool push;			    /* to Pyroscope by push.v1 */
	const char *ca, *certificate, *key; /* null: none */
	const char *spool;
	uint64_t spool_limit, pprof_limit; /* bytes */
	uint64_t span;			   /* ns */
	uint64_t duration;		   /* ns; 0: until it is stopped */
	bool names_by_server;		   /* symbols of files are not read */
	bool send_only;			   /* what is in the spool, and nothing is filmed */
	const char *host;		   /* null: that of the machine */
	/* its identity: how services are called, where that is for the agent to say */
	struct settings_common common;
	struct camera_flight camera; /* no programs: there is no flight recorder */

	enum agent_to
		/* of the reader: what the file says, as long as the command line says nothing */
		to_of_file;
	const char *where_of_file;
};

/* As cmd_read_settings(): *options is to be freed in every case. */
int agent_options_read(int argc, char **argv, struct agent_options *options);
void agent_options_free(struct agent_options *options);

/* Says which options were changed that take effect only at the next start. */
void agent_options_say_kept(const struct agent_options *before, const struct agent_options *now);

#endif
