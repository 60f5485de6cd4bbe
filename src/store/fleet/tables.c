// SPDX-License-Identifier: Apache-2.0
/*
 * The tables in ClickHouse, on one server or on a cluster. Both ends of the years that are
 * supported take their SQL: the server 18.16 and the engine 26.7. So there are no codecs, no
 * LowCardinality and no TTL; what a user's own tables have of that stays, as a table that is there
 * is not made.
 *
 * On a cluster each table is two: TABLE_local on each server, replicated within its shard, and
 * TABLE, which is all of them. A row that replaces another one must be on the same shard, so what
 * decides about the shard is a part of what a row is replaced by.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "store/fleet/schema.h"

const struct fleet_table_type fleet_tables[FLEET_TABLES] = {
	/* fn: a hash of the rest, the same in all collectors */
	[FLEET_FUNCTIONS] = {"functions",
			     "fn UInt64, name String, kind UInt8, place UInt8, image String,"
			     " image_kind UInt8, build String",
			     "fn", "fn", FLEET_SAME},
	/* stack: a hash of the rest; fns: outermost first; marks: a byte for each, PATH_GUESS … */
	[FLEET_STACKS] = {"stacks", "service String, stack UInt64, fns Array(UInt64), marks String",
			  "(service, stack)", "stack", FLEET_SAME},
	[FLEET_FN_STACKS] = {"fn_stacks", "fn UInt64, service String, stack UInt64",
			     "(fn, service, stack)", "stack", FLEET_SAME},
	/* of places, whose names were found after their films had come */
	[FLEET_NAMES] = {"names", "fn UInt64, name String, collector String, batch UInt64", "fn",
			 "fn", FLEET_LATEST},
	[FLEET_FILMED] = {"filmed_hour",
			  "t DateTime, host String, event String, begin UInt64, until UInt64,"
			  " collector String, batch UInt64",
			  "(event, t, host, begin, collector)", "cityHash64(host)", FLEET_DAYS},
	/* event: '', of what no event is known for */
	[FLEET_LOST] = {"lost_hour",
			"t DateTime, host String, event String, part UInt8, count UInt64,"
			" collector String, batch UInt64",
			"(event, t, host, part, collector)", "cityHash64(host)", FLEET_DAYS},
	[FLEET_SUMS] = {"sums_hour",
			"t DateTime, service String, event String, stack UInt64, value UInt64,"
			" collector String, batch UInt64",
			"(service, event, t, stack, collector)", "stack", FLEET_DAYS},
	[FLEET_SERIES] = {"series_minute",
			  "t DateTime, host String, service String, version String, labels String,"
			  " event String, samples UInt64, total UInt64, truncated UInt64,"
			  " guessed UInt64, collector String, batch UInt64",
			  "(service, event, t, host, version, labels, collector)",
			  "cityHash64(host)", FLEET_DAYS},
	[FLEET_COLLECTORS] = {"collectors", "collector String, until UInt64, batch UInt64",
			      "collector", "cityHash64(collector)", FLEET_LATEST},
};

/* The version of all of them. */
static const struct fleet_table_type version_table = {"stackcam_schema", "version UInt32",
						      "version", "version", FLEET_SAME};

#define STRINGIFY(x) #x
#define NUMBER(x)    STRINGIFY(x)

static const char insert_version[] =
	"INSERT INTO stackcam_schema VALUES (" NUMBER(FLEET_SCHEMA_VERSION) ")";
static const char select_version[] =
	"SELECT toUInt64(max(version)) FROM stackcam_schema FORMAT RowBinary";

/* The first start writes the version down; 0 is that of an empty table. */
static int check_version(struct fleet_client *client, struct fail *why)
{
	struct buf answer = {0};
	int err = fleet_run(client, select_version, &answer, why);
	struct bytes b = buf_bytes(&answer);
	uint64_t version = err ? 0 : bytes_u64(&b);

	buf_free(&answer);
	if (err)
		return err;
	if (!version)
		return fleet_run(client, insert_version, NULL, why);
	if (version != FLEET_SCHEMA_VERSION)
		return fail(why, -EPROTONOSUPPORT, "name another database in --sums",
			    "the tables of database %s are of version %" PRIu64
			    ", and this stackcam knows version %d",
			    client->fleet->database, version, FLEET_SCHEMA_VERSION);
	return 0;
}

static const char *on_cluster(const struct fleet *fleet, char to[FLEET_CLUSTER_MAX + 32])
{
	*to = 0;
	if (*fleet->cluster)
		snprintf(to, FLEET_CLUSTER_MAX + 32, " ON CLUSTER '%s'", fleet->cluster);
	return to;
}

/* The table itself, or on a cluster a server's part. */
static void put_own_table(struct buf *sql, const struct fleet *fleet,
			  const struct fleet_table_type *t)
{
	char cluster[FLEET_CLUSTER_MAX + 32];
	const char *batch = t->kind == FLEET_SAME ? "" : "batch";

	buf_printf(sql, "CREATE TABLE IF NOT EXISTS %s.%s%s%s (%s) ENGINE = ", fleet->database,
		   t->name, *fleet->cluster ? "_local" : "", on_cluster(fleet, cluster),
		   t->columns);
	if (*fleet->cluster)
		buf_printf(sql,
			   "ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/%s/%s',"
			   " '{replica}'%s%s)",
			   fleet->database, t->name, *batch ? ", " : "", batch);
	else
		buf_printf(sql, "ReplacingMergeTree%s", *batch ? "(batch)" : "");
	buf_printf(sql, "%s ORDER BY %s",
		   t->kind == FLEET_DAYS ? " PARTITION BY toYYYYMMDD(t)" : "", t->order);
}

/* What is all of a cluster's. */
static void put_whole_table(struct buf *sql, const struct fleet *fleet,
			    const struct fleet_table_type *t)
{
	char cluster[FLEET_CLUSTER_MAX + 32];

	buf_printf(sql,
		   "CREATE TABLE IF NOT EXISTS %s.%s%s (%s) ENGINE ="
		   " Distributed('%s', %s, %s_local, %s)",
		   fleet->database, t->name, on_cluster(fleet, cluster), t->columns, fleet->cluster,
		   fleet->database, t->name, t->shard);
}

static int create(struct fleet_client *client,
		  void (*put)(struct buf *sql, const struct fleet *fleet,
			      const struct fleet_table_type *t),
		  const struct fleet_table_type *t, struct fail *why)
{
	struct buf sql = {0};
	int err;

	put(&sql, client->fleet, t);
	buf_put_u8(&sql, 0);
	err = sql.failed ? fail_errno(why, -ENOMEM, NULL, "cannot use the sums")
			 : fleet_run_outside(client, (const char *)sql.at, NULL, why);
	buf_free(&sql);
	return err;
}

static int create_table(struct fleet_client *client, const struct fleet_table_type *t,
			struct fail *why)
{
	int err = create(client, put_own_table, t, why);

	if (!err && *client->fleet->cluster)
		err = create(client, put_whole_table, t, why);
	return err;
}

static int run_on_cluster(struct fleet_client *client, const char *begin, struct fail *why)
{
	const struct fleet *fleet = client->fleet;
	char cluster[FLEET_CLUSTER_MAX + 32], sql[256];

	snprintf(sql, sizeof(sql), "%s %s%s", begin, fleet->database, on_cluster(fleet, cluster));
	return fleet_run_outside(client, sql, NULL, why);
}

int fleet_drop(struct fleet_client *client, struct fail *why)
{
	return run_on_cluster(client, "DROP DATABASE IF EXISTS", why);
}

/*
 * Whether the server that answers has all tables: then a cluster is not asked to make them, for
 * which it would wait for each of its servers, also those that are away.
 */
static int has_all(struct fleet_client *client, bool *all, struct fail *why)
{
	struct buf sql = {0}, answer = {0};
	struct bytes b;
	int err;

	buf_printf(&sql,
		   "SELECT count() FROM system.tables WHERE database = '%s' AND name IN ('%s'",
		   client->fleet->database, version_table.name);
	for (int i = 0; i < FLEET_TABLES; i++)
		buf_printf(&sql, ", '%s'", fleet_tables[i].name);
	buf_put_text(&sql, ") FORMAT RowBinary");
	buf_put_u8(&sql, 0);
	err = sql.failed ? fail_errno(why, -ENOMEM, NULL, "cannot use the sums")
			 : fleet_run_outside(client, (const char *)sql.at, &answer, why);
	b = buf_bytes(&answer);
	*all = !err && bytes_u64(&b) == FLEET_TABLES + 1;
	buf_free(&sql);
	buf_free(&answer);
	return err;
}

int fleet_prepare(struct fleet_client *client, struct fail *why)
{
	bool all = false;
	int err = *client->fleet->cluster ? has_all(client, &all, why) : 0;

	if (err || all)
		return err ? err : check_version(client, why);
	err = run_on_cluster(client, "CREATE DATABASE IF NOT EXISTS", why);
	if (!err)
		err = create_table(client, &version_table, why);
	if (!err)
		err = check_version(client, why);
	for (int i = 0; !err && i < FLEET_TABLES; i++)
		err = create_table(client, &fleet_tables[i], why);
	return err;
}
