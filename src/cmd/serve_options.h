/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_SERVE_OPTIONS_H
#define CMD_SERVE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/camera_options.h"
#include "host/settings.h"

/* The options of "stackcam serve": from its command line, and from a file of the same options. */
struct serve_options {
	char address[64]; /* as a number: "127.0.0.1", "::1" */
	uint16_t port;
	const char *store;
	const char *debug_dir;	  /* null: none */
	const char *debuginfod;	  /* URL[,URL...] of servers; null: none */
	uint64_t keep_age;	  /* ns; 0: for ever */
	uint64_t keep_bytes;	  /* 0: no limit; SERVE_KEEP_DEFAULT: as the disk allows */
	const char *sums;	  /* ClickHouse (store/fleet/fleet.h); null: none */
	const char *sums_cluster; /* the name of its cluster; null: one server */
	const char *sums_ca; /* the authority that signed its certificate; null: the system's */
	bool no_record, read_open;
	uint64_t sender_bytes; /* that a token may send in an hour; 0: no limit */
	const char *bucket, *bucket_keys, *bucket_ca;	   /* null: none */
	uint64_t bucket_cache;				   /* bytes */
	const char *tls_certificate, *tls_key, *client_ca; /* null: none */
	const char *audit, *user_header, *trusted_proxy;   /* null: none */
	struct camera_flight camera;
	struct settings_common common;
};

#define SERVE_KEEP_DEFAULT UINT64_MAX

/* As cmd_read_settings(): *options is to be freed in every case. */
int serve_options_read(int argc, char **argv, struct serve_options *options);
void serve_options_free(struct serve_options *options);

/* Says which options were changed that take effect only at the next start. */
void serve_options_say_kept(const struct serve_options *before, const struct serve_options *now);

#endif
