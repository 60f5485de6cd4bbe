// SPDX-License-Identifier: Apache-2.0
#include "store/index_series.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

int index_series_begin(struct index_series_finder *finder, struct index *index,
		       const struct film *film, const char *host)
{
	*finder = (struct index_series_finder){.index = index, .film = film, .host = host};
	for (uint32_t i = 1; i < film->image_count; i++) {
		const struct film_image *image = &film->images[i], *other;
		uint64_t key = hash_bytes(image->path, strlen(image->path)), *known;

		if (image->kind != FILM_IMAGE_FILE || !image->build_id_size)
			continue;
		known = map_get(&finder->by_path, key);
		if (!known) {
			if (!map_put(&finder->by_path, key, i))
				return -ENOMEM;
			continue;
		}
		/*
		 * a file that was replaced while it was filmed: which process has which is not
		 * known
		 */
		other = &film->images[*known];
		if (other->build_id_size != image->build_id_size ||
		    memcmp(other->build_id, image->build_id, image->build_id_size))
			*known = 0;
	}
	return 0;
}

void index_series_end(struct index_series_finder *finder)
{
	map_free(&finder->by_path);
}

void index_service_of(struct index *index, const struct film_process *process, char *service)
{
	pthread_mutex_lock(&index->rules);
	identity_of(index->identity, process, service, INDEX_SERVICE_SIZE);
	pthread_mutex_unlock(&index->rules);
}

void index_version_of(const struct index_series_finder *finder, const struct film_process *process,
		      char *version)
{
	const uint64_t *known =
		map_get(&finder->by_path, hash_bytes(process->exe, strlen(process->exe)));
	const struct film_image *image;

	*version = 0;
	if (!known || !*known || !*process->exe)
		return;
	image = &finder->film->images[*known];
	if (strcmp(image->path, process->exe))
		return;
	text_hex(version, INDEX_VERSION_SIZE, image->build_id, image->build_id_size);
}

uint32_t index_series_of(struct index_series_finder *finder, const struct film_process *process)
{
	struct dictionary *d = &finder->index->dictionary;
	char service[INDEX_SERVICE_SIZE], version[INDEX_VERSION_SIZE];
	struct dictionary_series series = {
		.host = finder->host,
		.service = service,
		.version = version,
		.labels = finder->film->info.labels,
	};
	uint32_t id;

	index_service_of(finder->index, process, service);
	index_version_of(finder, process, version);
	id = dictionary_series(d, &series);
	return id || d->series.count < d->series.max ? id : SERIES_OTHERS;
}
