// SPDX-License-Identifier: Apache-2.0
#include "show/json_film.h"

#include "base/vec.h"
#include "query/objects.h"
#include "show/words.h"

void json_put_film(struct json *j, const struct film *film, uint64_t from, uint64_t to)
{
	const struct film_info *info = &film->info;
	char time[64];

	json_open(j, "film", '{');
	json_text(j, "machine", info->hostname);
	film_rfc3339(info, from, time, sizeof(time));
	json_text(j, "start", time);
	film_rfc3339(info, to, time, sizeof(time));
	json_text(j, "end", time);
	if (film->is_cut_off)
		json_bool(j, "cut_off", true);
	json_text(j, "command", info->command);
	json_text(j, "version", info->version);
	json_text(j, "kernel", info->kernel);
	json_text(j, "arch", info->arch);
	json_u64(j, "cpus", info->cpus);
	if (*info->labels)
		json_text(j, "labels", info->labels);
	json_close(j, '}');
}

/* Reasons that differ in bytes that are no UTF-8 would be the same key twice: so be it. */
void json_put_reasons(struct json *j, const char *key, const struct view_reasons *reasons)
{
	json_open(j, key, '{');
	vec_foreach (reasons, reason)
		json_u64(j, reason->words, reason->count);
	json_close(j, '}');
}

void json_put_unlinked(struct json *j, uint32_t kinds)
{
	json_open(j, "not_linked", '[');
	for (unsigned int kind = 0; kind < FILM_TASK_KINDS; kind++)
		if (kinds >> kind & 1)
			json_text(j, NULL, film_task_kind_text(kind));
	json_close(j, ']');
}

void json_put_works(struct json *j, const struct film *film, const struct device_share *works)
{
	json_open(j, "works", '[');
	for (size_t i = 0; i < DEVICE_SHARES && works[i].ns; i++) {
		json_open(j, NULL, '{');
		json_text(j, "kind", works[i].is_copy ? "copy" : "kernel");
		json_text(j, "name", object_name(film, works[i].name));
		json_u64(j, "device", works[i].device);
		json_u64(j, "stream", works[i].stream);
		json_u64(j, "duration", works[i].ns);
		json_close(j, '}');
	}
	json_close(j, ']');
}
