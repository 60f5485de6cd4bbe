// SPDX-License-Identifier: Apache-2.0
#include "exchange/pyroscope/writer.h"

#include <ctype.h>
#include <string.h>

#include "base/protobuf.h"
#include "film/events.h"
#include "film/labels.h"

/* A key of a label: letters, digits and '_' are allowed, and by /ingest also dots. */
static void put_key(struct buf *to, const char *key, bool dots)
{
	if (isdigit((unsigned char)*key))
		buf_put_u8(to, '_');
	for (; *key; key++)
		buf_put_u8(to, isalnum((unsigned char)*key) || (dots && *key == '.') ? (uint8_t)*key
										     : '_');
}

/* What would end a value in "{key=value,…}", or a line, becomes '_'. */
static void put_value(struct buf *to, const char *value, size_t length)
{
	for (size_t i = 0; i < length; i++)
		buf_put_u8(to, (unsigned char)value[i] < ' ' || strchr(",={}\"", value[i])
				       ? '_'
				       : (uint8_t)value[i]);
}

/* Letters, digits and a few signs are allowed; other runs become one '_', which does not end it. */
static void put_service(struct buf *to, const char *service)
{
	bool gap = false;

	for (; *service; service++) {
		if (!isalnum((unsigned char)*service) && !strchr("-._/", *service)) {
			gap = true;
			continue;
		}
		if (gap)
			buf_put_u8(to, '_');
		buf_put_u8(to, (uint8_t)*service);
		gap = false;
	}
}

void pyroscope_put_name(struct buf *to, const struct gathered *gathered, const char *service)
{
	const struct film_info *info = &gathered->film->info;
	const char *labels = info->labels, *value;
	char key[FILM_LABEL_KEY_MAX + 1];
	size_t length;

	put_service(to, service);
	buf_put_text(to, "{hostname=");
	put_value(to, info->hostname, strlen(info->hostname));
	while ((value = film_labels_next(&labels, key, &length))) {
		buf_put_u8(to, ',');
		put_key(to, key, true);
		buf_put_u8(to, '=');
		put_value(to, value, length);
	}
	buf_put_u8(to, '}');
}

static void put_pair(struct buf *to, const char *key, const char *value, size_t length)
{
	struct buf pair = {0}, text = {0};

	put_key(&text, key, false);
	proto_message(&pair, 1, &text);
	proto_bytes(&pair, 2, value, length);
	proto_message(to, 1, &pair);
	buf_free(&pair);
	buf_free(&text);
}

void pyroscope_put_series(struct buf *to, const struct gathered *gathered,
			  const struct gathered_part *part, const char *profile, size_t size)
{
	const struct film_info *info = &gathered->film->info;
	const char *service = gathered->groups.at[part->group].service, *value;
	const struct film_event *event = &gathered->film->events[part->event];
	const char *name = event_pyroscope(event->name, event->unit), *labels = info->labels;
	struct buf series = {0}, sample = {0};
	char key[FILM_LABEL_KEY_MAX + 1];
	size_t length;

	put_pair(&series, "__name__", name, strlen(name));
	put_pair(&series, "service_name", service, strlen(service));
	put_pair(&series, "hostname", info->hostname, strlen(info->hostname));
	while ((value = film_labels_next(&labels, key, &length)))
		put_pair(&series, key, value, length);
	proto_bytes(&sample, 1, profile, size);
	proto_message(&series, 2, &sample);
	proto_message(to, 1, &series);
	buf_free(&series);
	buf_free(&sample);
}
