/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_INTERNAL_H
#define SERVER_INTERNAL_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

#include "server/access.h"
#include "server/audit.h"
#include "server/backlogs.h"
#include "server/body.h"
#include "server/logins.h"
#include "server/out.h"
#include "server/quota.h"
#include "server/route.h"
#include "server/server.h"
#include "server/watch.h"
#include "server/workers.h"

/* How requests ended, by their status: 2xx and 3xx, 4xx, 5xx. */
enum served_outcome {
	SERVED_ANSWERED,
	SERVED_REFUSED,
	SERVED_FAILED,
	SERVED_OUTCOMES,
};

/* What was served since the start, of each lane; the last one is LANE_LIGHT. */
struct served_counts {
	atomic_uint_fast64_t requests[LANES + 1][SERVED_OUTCOMES];
	atomic_uint_fast64_t question_ns; /* that workers spent on questions */
};

/* What routes may know of the server. */
struct server_state {
	struct store *store;
	pthread_mutex_t lock; /* of the tokens */
	struct tokens tokens;
	struct quota *quota; /* of those who send */
	struct backlogs *backlogs;
	char *spool, *host; /* spool may be null */
	bool one_film;
	unsigned int cpus;
	uint64_t started; /* ns since 1970 */
	void (*recorder)(void *context, struct server_recorder *recorder);
	void (*camera)(void *context, struct server_camera *camera);
	void (*bucket)(void *context, struct server_bucket *bucket);
	void (*names)(void *context, struct server_names *names);
	int (*keep)(void *context, const char *reason, struct server_kept *kept, struct fail *why);
	void (*say)(void *context, const char *words); /* may be null */
	void *context;
	struct audit *audit;	      /* null: none is written */
	atomic_uint_fast64_t spooled; /* numbers files in the spool */
	struct served_counts served;
};

enum {
	OLD_DAEMONS_MAX = 4,
	PROXIES_MAX = 16,
	USER_MAX = 128, /* bytes of a user's name */
};

struct server {
	struct server_state state;
	struct MHD_Daemon *daemon;
	struct MHD_Daemon
		*old[OLD_DAEMONS_MAX]; /* with the connections of certificates before; or null */
	bool is_v6;
	struct workers *lanes[LANES];
	struct watch *watch;
	struct logins *logins;
	char *loopback; /* the address, where it is one; else null */
	bool needs_certificate, read_open;
	char *user_header; /* in which proxies name users; null: none */
	struct peer proxies[PROXIES_MAX];
	size_t proxy_count;
	atomic_bool is_ending;
	atomic_uint_fast64_t body_bytes; /* that bodies in memory may take, of requests in work */
	uint64_t answer_max;		 /* what answers may take that are on their way out */
	atomic_uint_fast64_t answer_bytes;
	struct workers *freeing;       /* spent.c */
	_Atomic(struct spent *) spent; /* the last one; or null */
	struct tls_files *tls;
	char address[96];
	char words[256]; /* the first that libmicrohttpd said */
};

/* A request from its first line to the end of its answer. */
struct call {
	struct server *server;
	struct MHD_Connection *connection;
	struct watched *watched;
	char *raw; /* the address as it was sent */
	struct url url;
	const struct route *route;
	struct access_grant grant;
	bool is_head, has_begun, was_worked_on; /* the last: by a worker */
	struct body body;
	uint64_t reserved;	 /* of server->body_bytes */
	uint64_t sent;		 /* of server->answer_bytes */
	uint64_t began;		 /* of clock_ns() */
	char user[USER_MAX + 1]; /* as the proxy names it; "": it does not */
	struct audit_asked asked;
	unsigned int status;
	uint64_t retry_after; /* s, of 429 */
	struct MHD_Response
		*response; /* once it is made; until the call ends, if a worker made it */
};

/* handle.c: the callbacks of libmicrohttpd; context is the struct server. */
void *handle_address(void *context, const char *uri, struct MHD_Connection *connection);
enum MHD_Result handle_request(void *context, struct MHD_Connection *connection, const char *url,
			       const char *method, const char *version, const char *upload,
			       size_t *upload_size, void **call);
void handle_end(void *context, struct MHD_Connection *connection, void **call,
		enum MHD_RequestTerminationCode how);
void handle_connection(void *context, struct MHD_Connection *connection, void **watched,
		       enum MHD_ConnectionNotificationCode what);
void handle_work(void *context, void *call); /* of a worker */

/*
 * respond.c: an answer of a route, or a failure, as a response of libmicrohttpd; null: no memory.
 */
struct MHD_Response *respond(struct call *call, struct answer *answer, struct out *out);
struct MHD_Response *respond_failure(struct call *call, unsigned int status,
				     const struct fail *why);
unsigned int respond_status(int err); /* of a negative errno */

/*
 * begin.c: looks at a request's header: 0, or a negative errno with *why and perhaps call->status
 * filled.
 */
int call_begin(struct call *call, const char *method, struct fail *why);
const char *call_header(const struct call *call, const char *name);

/* tls.c */
int tls_load(const struct server_options *options, struct tls_files **files, struct fail *why);
void tls_free(struct tls_files *files);				     /* null is allowed */
bool tls_same(const struct tls_files *a, const struct tls_files *b); /* both may be null */
const char *tls_certificate(const struct tls_files *files);
const char *tls_key(const struct tls_files *files);
const char *tls_client_ca(const struct tls_files *files);

/*
 * Whether the client has shown a certificate of our CA that is one for clients: 0 with *id, which
 * tells certificates apart and is not 0, or -EPERM with *why filled.
 */
int tls_check_client(struct MHD_Connection *connection, uint64_t *id, struct fail *why);

#endif
