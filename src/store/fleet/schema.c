// SPDX-License-Identifier: Apache-2.0
/*
 * The questions that are asked of ClickHouse. Both ends of the years that are supported take them:
 * the server 18.16 and the engine 26.7. GLOBAL: on a cluster what is in brackets is asked once, of
 * all shards; elsewhere it says nothing.
 */
#include "store/fleet/schema.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"

static void put_equal(struct buf *sql, const char *column, const char *value)
{
	if (!value)
		return;
	buf_printf(sql, " AND %s = ", column);
	fleet_quote(sql, value);
}

/* A DateTime has 32 bits: minutes beyond are later than all that is there. */
static uint64_t seconds_of(uint64_t minutes)
{
	return minutes < UINT32_MAX / 60 ? minutes * 60 : UINT32_MAX;
}

static void put_time(struct buf *sql, uint64_t first, uint64_t end)
{
	buf_printf(sql, " AND t >= toDateTime(%" PRIu64 ") AND t < toDateTime(%" PRIu64 ")",
		   seconds_of(first), seconds_of(end));
}

/* The event and the time, of rows that begin at t. */
static void put_where(struct buf *sql, const struct fleet_ask *ask)
{
	buf_put_text(sql, " WHERE event = ");
	fleet_quote(sql, ask->event);
	put_time(sql, ask->first, ask->end);
}

/* Which stacks have one of the functions. */
static void put_functions(struct buf *sql, const struct fleet_ask *ask)
{
	if (!ask->functions)
		return;
	/* an empty list is not SQL: no stack has the hash 0 of no function */
	buf_put_text(sql, " AND stack GLOBAL IN (SELECT stack FROM fn_stacks WHERE fn IN (0");
	for (size_t i = 0; i < ask->function_count; i++)
		buf_printf(sql, ", %" PRIu64, ask->functions[i]);
	buf_put_text(sql, "))");
}

/* Which functions these stacks have. */
static void put_of_stacks(struct buf *sql, const struct fleet_ask *ask)
{
	if (!ask->service && !ask->functions)
		return;
	buf_put_text(sql, " WHERE fn GLOBAL IN (SELECT arrayJoin(fns) FROM stacks WHERE 1");
	put_equal(sql, "service", ask->service);
	put_functions(sql, ask);
	buf_put_text(sql, ")");
}

/* Functions with the names that were found later. */
static void put_named(struct buf *sql, const char *columns, const struct fleet_ask *ask)
{
	buf_printf(sql, "SELECT fn, %s, found FROM (SELECT fn, %s FROM functions", columns,
		   columns);
	put_of_stacks(sql, ask);
	buf_put_text(sql, ") AS a ANY LEFT JOIN (SELECT fn, name AS found FROM names FINAL");
	put_of_stacks(sql, ask);
	buf_put_text(sql, ") AS b USING (fn) FORMAT RowBinary");
}

void fleet_sql_names(struct buf *sql)
{
	put_named(sql, "name, place, build", &(struct fleet_ask){0});
}

void fleet_sql_stacks(struct buf *sql, const struct fleet_ask *ask)
{
	buf_put_text(sql, "SELECT spent, fns, marks FROM (SELECT stack, sum(value) AS spent"
			  " FROM sums_hour FINAL");
	put_where(sql, ask);
	put_equal(sql, "service", ask->service);
	put_functions(sql, ask);
	buf_put_text(sql, " GROUP BY stack) AS a ANY LEFT JOIN (SELECT stack, fns, marks FROM"
			  " stacks WHERE 1");
	put_equal(sql, "service", ask->service);
	put_functions(sql, ask);
	buf_put_text(sql, ") AS b USING (stack) FORMAT RowBinary");
}

void fleet_sql_functions(struct buf *sql, const struct fleet_ask *ask)
{
	put_named(sql, "name, kind, place, image, image_kind, build", ask);
}

void fleet_sql_series(struct buf *sql, const struct fleet_ask *ask, enum fleet_step step)
{
	static const char *const begin[] = {
		[FLEET_WHOLE] = "toUInt32(0)",
		[FLEET_HOUR] = "toUInt32(intDiv(toUInt32(t), 3600) * 3600)",
		[FLEET_MINUTE] = "toUInt32(t)",
	};
	static const char *const group[] = {
		[FLEET_WHOLE] = "",
		[FLEET_HOUR] = ", intDiv(toUInt32(t), 3600)",
		[FLEET_MINUTE] = ", t",
	};

	buf_printf(sql,
		   "SELECT host, service, version, labels, %s, sum(samples), sum(total),"
		   " sum(truncated), sum(guessed) FROM series_minute FINAL",
		   begin[step]);
	put_where(sql, ask);
	put_equal(sql, "host", ask->host);
	put_equal(sql, "service", ask->service);
	put_equal(sql, "version", ask->version);
	buf_printf(sql, " GROUP BY host, service, version, labels%s FORMAT RowBinary", group[step]);
}

/* Rows of hours: those that lie in the time, with a part at least. */
static struct fleet_ask whole_hours(const struct fleet_ask *ask)
{
	struct fleet_ask hours = *ask;

	hours.first = ask->first / 60 * 60;
	hours.end = (ask->end + 59) / 60 * 60;
	return hours;
}

void fleet_sql_filmed(struct buf *sql, const struct fleet_ask *ask)
{
	const struct fleet_ask hours = whole_hours(ask);

	buf_put_text(sql, "SELECT begin, until FROM filmed_hour FINAL");
	put_where(sql, &hours);
	put_equal(sql, "host", ask->host);
	buf_put_text(sql, " ORDER BY begin FORMAT RowBinary");
}

void fleet_sql_lost(struct buf *sql, const struct fleet_ask *ask)
{
	const struct fleet_ask hours = whole_hours(ask);

	buf_put_text(sql, "SELECT event != '', part, sum(count) FROM lost_hour FINAL WHERE event"
			  " IN ('', ");
	fleet_quote(sql, ask->event);
	buf_put_text(sql, ")");
	put_time(sql, hours.first, hours.end);
	put_equal(sql, "host", ask->host);
	buf_put_text(sql, " GROUP BY event, part FORMAT RowBinary");
}

void fleet_sql_collectors(struct buf *sql)
{
	buf_put_text(sql, "SELECT until FROM collectors FINAL FORMAT RowBinary");
}

#define UNNAMED                                                         \
	" FROM functions WHERE place = 1 AND kind = %d AND build != ''" \
	" AND fn GLOBAL NOT IN (SELECT fn FROM names)"

void fleet_sql_unnamed_builds(struct buf *sql)
{
	buf_printf(sql, "SELECT DISTINCT build" UNNAMED " FORMAT RowBinary", FILM_FRAME_NATIVE);
}

void fleet_sql_unnamed(struct buf *sql, const struct film_image *builds, size_t count)
{
	char hex[2 * FILM_BUILD_ID_MAX + 1];

	buf_printf(sql, "SELECT fn, any(name), any(build)" UNNAMED " AND build IN (''",
		   FILM_FRAME_NATIVE);
	for (size_t i = 0; i < count; i++)
		buf_printf(sql, ", unhex('%s')",
			   text_hex(hex, sizeof(hex), builds[i].build_id, builds[i].build_id_size));
	buf_put_text(sql, ") GROUP BY fn FORMAT RowBinary");
}
