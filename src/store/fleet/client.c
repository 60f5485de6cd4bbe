// SPDX-License-Identifier: Apache-2.0
/* Statements to ClickHouse over HTTP, and rows in its RowBinary. */
#include "store/fleet/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of an answer: more is not for a page. */
#define ANSWER_MAX (512u << 20)

enum {
	URL_MAX = 512,
	RUN_SECONDS = 60,
};

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"

static bool is_name(const char *name, const char *letters, size_t max)
{
	return *name && strlen(name) <= max && strspn(name, letters) == strlen(name);
}

int fleet_check_cluster(const char *name, struct fail *why)
{
	if (is_name(name, LETTERS "-.", FLEET_CLUSTER_MAX))
		return 0;
	return fail(why, -EINVAL, "name one of remote_servers in ClickHouse's configuration",
		    "'%.80s' is not the name of a cluster", name);
}

/*
 * One address: without its path, which is the database's name. No message shows one that is
 * malformed: where its password ends, as one with a '/' or a ',' in it, is not known.
 */
static int add_url(struct fleet *fleet, char *url, struct fail *why)
{
	static const char to_do[] =
		"write it as http://HOST:8123/DATABASE, with %2F for / in a password";
	const char *user;
	char *path;
	int err;

	if (fleet->url_count == FLEET_URLS_MAX)
		return fail(why, -EINVAL, NULL, "--sums takes at most %d addresses",
			    FLEET_URLS_MAX);
	if (strlen(url) > URL_MAX)
		return fail(why, -EINVAL, NULL, "an address of --sums is too long");
	err = strpbrk(url, "?#") ? -EINVAL : http_check_url(url, false, why);
	if (err == -EINVAL)
		return fail(why, err, to_do, "address %zu of --sums is not that of a server",
			    fleet->url_count + 1);
	if (err)
		return err;
	http_user(url, &user);
	path = strchr(user, '/');
	if (path) {
		*path++ = 0;
		if (*path && !is_name(path, LETTERS, FLEET_DATABASE_MAX))
			return fail(why, -EINVAL, to_do,
				    "the path in address %zu of --sums is not the name of a "
				    "database",
				    fleet->url_count + 1);
		if (*path)
			snprintf(fleet->database, sizeof(fleet->database), "%s", path);
	}
	fleet->urls[fleet->url_count] = strdup(url);
	if (!fleet->urls[fleet->url_count])
		return fail_errno(why, -ENOMEM, NULL, "cannot use the sums");
	fleet->url_count++;
	return 0;
}

int fleet_new(const struct fleet_options *options, struct fleet **result, struct fail *why)
{
	struct fleet *fleet = calloc(1, sizeof(*fleet));
	char *urls = strdup(options->urls), *rest = urls, *url;
	int err = 0;

	if (!fleet || !urls) {
		free(fleet);
		free(urls);
		return fail_errno(why, -ENOMEM, NULL, "cannot use the sums");
	}
	strcpy(fleet->database, "stackcam");
	while (!err && (url = strsep(&rest, ",")))
		err = add_url(fleet, url, why);
	if (!err && options->cluster) {
		err = fleet_check_cluster(options->cluster, why);
		if (!err)
			snprintf(fleet->cluster, sizeof(fleet->cluster), "%s", options->cluster);
	}
	if (!err && options->ca) {
		fleet->ca = strdup(options->ca);
		if (!fleet->ca)
			err = fail_errno(why, -ENOMEM, NULL, "cannot use the sums");
	}
	free(urls);
	if (err) {
		fleet_free(fleet);
		return err;
	}
	*result = fleet;
	return 0;
}

void fleet_free(struct fleet *fleet)
{
	if (!fleet)
		return;
	for (size_t i = 0; i < fleet->url_count; i++)
		free(fleet->urls[i]);
	free(fleet->ca);
	free(fleet);
}

struct fleet_sent fleet_sent(const struct fleet *fleet)
{
	return (struct fleet_sent){fleet->until, fleet->lost};
}

int fleet_check_urls(const char *urls, struct fail *why)
{
	struct fleet *fleet = NULL;
	int err = fleet_new(&(struct fleet_options){.urls = urls}, &fleet, why);

	fleet_free(fleet);
	return err;
}

int fleet_connect(struct fleet *fleet, const atomic_bool *stop, struct fleet_client *client,
		  struct fail *why)
{
	const struct http_options options = {.ca = fleet->ca, .stop = stop};

	*client = (struct fleet_client){.fleet = fleet};
	return http_new(&options, &client->http, why);
}

void fleet_disconnect(struct fleet_client *client)
{
	http_free(client->http);
	client->http = NULL;
}

struct answer {
	struct buf *to;
	bool is_too_large;
};

static bool add_answer(void *context, const char *from, size_t size)
{
	struct answer *answer = context;

	answer->is_too_large = size > ANSWER_MAX - answer->to->count;
	if (answer->is_too_large)
		return false;
	buf_put(answer->to, from, size);
	return !answer->to->failed;
}

/* Another address would say the same. */
static int answer_unread(const struct answer *answer, struct fail *why)
{
	if (answer->is_too_large)
		return fail(why, -EFBIG, "narrow the time, or name a service",
			    "the answer of ClickHouse has more than %u MB", ANSWER_MAX >> 20);
	if (answer->to && answer->to->failed)
		return fail_errno(why, -ENOMEM, NULL, "cannot ask ClickHouse");
	return 0;
}

/* What the server says: its words are one line in a message. */
static int refused(const char *url, struct http_reply *reply, struct fail *why)
{
	for (char *c = reply->words; *c; c++)
		if (*c == '\n' || *c == '\r')
			*c = ' ';
	reply->words[strlen(reply->words) > 400 ? 400 : strlen(reply->words)] = 0;
	return fail(why, -EIO, NULL, "ClickHouse at %.60s answers with status %u: %s",
		    http_shown(url), reply->status, *reply->words ? reply->words : "nothing");
}

/*
 * Whether another server may do better: this one has lost its ZooKeeper, or another server that it
 * asks. A statement may be run twice without harm.
 */
static bool is_of_server(const struct http_reply *reply)
{
	/*
	 * the end of what another server says, no answer in time, a network's error, a table that
	 * is only read, no server of a shard, an unknown end of an insert, ZooKeeper's error
	 */
	static const long codes[] = {32, 209, 210, 242, 279, 319, 999};
	const char *code = strstr(reply->words, "Code: ");
	long number = code ? strtol(code + strlen("Code: "), NULL, 10) : 0;

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (number == codes[i])
			return true;
	return false;
}

/*
 * On a cluster an insert is done when the shards have its rows, not when the server that was asked
 * has put them aside; and a table is made within the time of a statement, or not.
 */
static const char *settings_of(const struct fleet *fleet)
{
	return *fleet->cluster ? "&insert_distributed_sync=1&distributed_ddl_task_timeout=50" : "";
}

/* The first address that can be reached and works, from the one that answered last on. */
static int post(struct fleet_client *client, const char *query, const void *body, size_t size,
		struct buf *answer, struct fail *why)
{
	struct fleet *fleet = client->fleet;
	unsigned int first = fleet->good;
	struct answer reader = {answer, false};
	char url[URL_MAX + 512];
	const struct http_post request = {
		.url = url,
		.seconds = RUN_SECONDS,
		.body = body,
		.size = size,
		.write = answer ? add_answer : NULL,
		.context = &reader,
	};
	struct http_reply reply;
	int err = -EIO, unread;

	for (size_t i = 0; i < fleet->url_count; i++) {
		size_t at = (first + i) % fleet->url_count;

		if (answer)
			answer->count = 0;
		snprintf(url, sizeof(url), "%s/?wait_end_of_query=1%s%s", fleet->urls[at],
			 settings_of(fleet), query);
		err = http_post(client->http, &request, &reply, why);
		unread = answer_unread(&reader, why);
		if (unread)
			return unread;
		if (err == -ECANCELED || err == -ENOMEM)
			return err;
		if (err)
			continue;
		if (reply.status / 100 != 2) {
			err = refused(fleet->urls[at], &reply, why);
			if (is_of_server(&reply))
				continue;
		}
		fleet->good = (unsigned int)at;
		return err;
	}
	return err;
}

int fleet_run(struct fleet_client *client, const char *sql, struct buf *answer, struct fail *why)
{
	char query[FLEET_DATABASE_MAX + 16];

	snprintf(query, sizeof(query), "&database=%s", client->fleet->database);
	return post(client, query, sql, strlen(sql), answer, why);
}

int fleet_run_once(struct fleet_client *client, struct buf *sql, struct buf *answer,
		   struct fail *why)
{
	int err;

	buf_put_u8(sql, 0);
	err = sql->failed ? fail_errno(why, -ENOMEM, NULL, "cannot ask ClickHouse")
			  : fleet_run(client, (const char *)sql->at, answer, why);
	buf_free(sql);
	*sql = (struct buf){0};
	return err;
}

int fleet_not_understood(struct fail *why)
{
	return fail(why, -EBADMSG, "are its tables those that stackcam made?",
		    "the answer of ClickHouse is not what was asked for");
}

int fleet_run_outside(struct fleet_client *client, const char *sql, struct buf *answer,
		      struct fail *why)
{
	return post(client, "", sql, strlen(sql), answer, why);
}

int fleet_insert(struct fleet_client *client, const char *table, const struct buf *rows,
		 struct fail *why)
{
	char query[FLEET_DATABASE_MAX + 128];

	if (rows->failed)
		return fail_errno(why, -ENOMEM, NULL, "cannot send sums");
	if (!rows->count)
		return 0;
	snprintf(query, sizeof(query), "&database=%s&query=INSERT+INTO+%s+FORMAT+RowBinary",
		 client->fleet->database, table);
	return post(client, query, rows->at, rows->count, NULL, why);
}

void fleet_quote(struct buf *sql, const char *text)
{
	buf_put_u8(sql, '\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			buf_put_u8(sql, '\\');
		buf_put_u8(sql, (uint8_t)*text);
	}
	buf_put_u8(sql, '\'');
}

void fleet_put_bytes(struct buf *b, const void *bytes, size_t count)
{
	buf_put_varint(b, count);
	buf_put(b, bytes, count);
}

void fleet_put_text(struct buf *b, const char *text)
{
	fleet_put_bytes(b, text, strlen(text));
}

char *fleet_read_text(struct bytes *b)
{
	uint64_t size = bytes_varint(b);
	const uint8_t *at = size <= bytes_left(b) ? bytes_read(b, (size_t)size) : NULL;

	if (at || !size)
		return strndup(at ? (const char *)at : "", (size_t)size);
	b->failed = true;
	return NULL;
}

bool fleet_read_build(struct bytes *b, struct film_image *image)
{
	uint64_t size = bytes_varint(b);
	const uint8_t *at = size <= sizeof(image->build_id) ? bytes_read(b, (size_t)size) : NULL;

	if (b->failed || (!at && size))
		return false;
	if (size)
		memcpy(image->build_id, at, (size_t)size);
	image->build_id_size = (uint32_t)size;
	return true;
}
