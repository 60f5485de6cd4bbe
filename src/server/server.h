/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "film/loss_table.h"
#include "store/store.h"

/*
 * The web server: the page, the API (doc/openapi.json), and what others push. One thread has all
 * connections, a few workers make the answers.
 */
struct server;

/* What the recorder of this machine says of itself. */
struct server_recorder {
	bool is_filming;
	unsigned int hung; /* file systems of targets that do not answer, */
	uint64_t hung_ns;  /* and for how long the first of them */
	uint64_t
		/* for how long nothing is recorded, as the recorder waits; 0: it does not */
		still_ns;
	uint64_t samples, lost; /* since it started */
	/* what recording, answering and its BPF programs take: 0.01 is 1 % of one core */
	double cpu;
	double bpf;		  /* of cpu: BPF programs, */
	double bpf_seconds;	  /* and since the start */
	bool has_bpf;		  /* false: the kernel does not time them, they are not in cpu */
	uint32_t frequency;	  /* samples per second and CPU */
	struct loss_table losses; /* all kinds of losses; lost is the sum of samples */
};

/* The flight recorder of this machine. */
struct server_camera {
	bool is_filming;
	uint64_t bytes, bytes_max; /* of films in memory, now and at most so far */
	uint64_t time;		   /* ns that they have */
	uint64_t kept, failed, refused, crowded, lost; /* as in host/flight.h */
	double cpu_seconds;			       /* of the thread that records */
	struct loss_table losses;
};

/* The bucket of the store (host/archive.h), since the start. */
enum {
	SERVER_BUCKET_FAILURES_MAX = 16
};
struct server_bucket {
	uint64_t put, put_bytes, got, got_bytes;
	struct server_bucket_failure {
		const char *verb, *reason;
		uint64_t count;
	} failures[SERVER_BUCKET_FAILURES_MAX];
	size_t failure_count;
	char trouble[512]; /* what does not work at the moment; "": nothing */
};

/* Builds that debuginfod servers were asked for (host/debug_server.h), since the start. */
enum {
	SERVER_NAMES_OUTCOMES_MAX = 8
};
struct server_names {
	struct server_names_outcome {
		const char *name;
		uint64_t builds;
	} outcomes[SERVER_NAMES_OUTCOMES_MAX];
	size_t outcome_count;
	uint64_t cache_bytes, cache_removed; /* files that made room for others */
	bool works;
};

/* A film that it has kept. */
struct server_kept {
	char path[4096];
	uint64_t from, to; /* ns since 1970 */
};

/* 0 stands for the number behind each. */
struct server_limits {
	uint32_t connections;	  /* 1200; one in six is for those that have shown a token */
	uint32_t per_address;	  /* 300; on a loopback address no other limit than that above */
	uint32_t strangers;	  /* 64: of one address that have shown no token; of loopback any */
	uint32_t header_bytes;	  /* 16384: of a request's line and header together */
	uint32_t first_seconds;	  /* 5: from the connection to its first byte */
	uint32_t head_seconds;	  /* 10: for a request's line and header, and TLS before them */
	uint32_t idle_seconds;	  /* 30: without a byte, between requests */
	uint32_t request_seconds; /* 120: to send a request, and to take its answer */
	uint32_t workers;	  /* 4: questions that are answered at once */
	uint32_t queue; /* 256: that wait for a worker, of each lane (route.h); beyond, 503 */
	uint64_t sender_bytes; /* no limit: that a token may send in an hour */
	uint64_t sender_films; /* no limit */
	uint32_t
		/* 128 MB: of all answers that clients have not yet taken; beyond, 503 */
		answer_bytes;
};

/* Strings must live as long as server_start() runs, no longer. */
struct server_options {
	const char *address; /* "127.0.0.1", "::1", "0.0.0.0", "::"; null: 127.0.0.1 */
	uint16_t port;	     /* 0: one that is free, see server_address() */

	/*
	 * What each client may ask (access.h, base/tokens.h); tokens: a text, used where token_file
	 * is null. Without either, nothing is taken, but from clients with a certificate. Beyond
	 * loopback there must be one of the three.
	 */
	const char *tokens, *token_file;
	/*
	 * A file with a line for each question (audit.h); null: none. user_header: the header in
	 * which a proxy names the user, taken from trusted_proxy alone, which is an address or
	 * several with commas between; both or neither.
	 */
	const char *audit, *user_header, *trusted_proxy;
	bool read_open;			       /* to read, no token is needed; on loopback only */
	const char *tls_certificate, *tls_key; /* files in PEM; null: no TLS */
	const char *client_ca;		       /* clients need its certificate; only with TLS */

	struct store *store; /* must live longer than the server */
	/*
	 * A folder on the store's file system for what is pushed, made if it is not there; null:
	 * nothing is taken.
	 */
	const char *spool;
	const char *host;  /* the name of the machine that is filmed */
	bool one_film;	   /* the store is one film ("play") */
	unsigned int cpus; /* of that machine, online; 0: not known */

	/* Called from any thread; null: nothing is filmed. */
	void (*recorder)(void *context, struct server_recorder *recorder);
	void (*camera)(void *context, struct server_camera *camera);
	void (*bucket)(void *context, struct server_bucket *bucket); /* null: there is none */
	void (*names)(void *context, struct server_names *names);    /* null: none is asked */
	/*
	 * Keeps what the flight recorder has, and waits for that; any thread. Null: there is none.
	 */
	int (*keep)(void *context, const char *reason, struct server_kept *kept, struct fail *why);
	/*
	 * Called from any thread with a line for the log, some times a minute at most; null:
	 * nothing is said.
	 */
	void (*say)(void *context, const char *words);
	void *context;

	struct server_limits limits;
};

/* Returns 0 or a negative errno with *why filled: -EADDRINUSE, -EACCES, -EINVAL … */
int server_start(const struct server_options *options, struct server **server, struct fail *why);

/*
 * Takes new tokens, or the new content of their file, and limits of senders; opens the file of the
 * audit anew; and, of a server with
 * TLS, new certificates, or the new content of their files. The rest of the options needs a new
 * start. If it fails, all stays as it is. Not to be called twice at once.
 */
int server_configure(struct server *server, const struct server_options *options, struct fail *why);

/* Where the page is, with the port that was bound: "http://127.0.0.1:7171/". */
const char *server_address(const struct server *server);

/* Ends all connections; answers that are being made are waited for. Null is allowed. */
void server_stop(struct server *server);

#endif
