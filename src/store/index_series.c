// SPDX-License-Identifier: Apache-2.0
#include "store/index_series.h"

#include "base/text.h"
#include "film/container.h"

int index_series_begin(struct index_series_finder *finder, struct index *index, struct film *film,
		       const char *host, struct index_builds *builds)
{
	*finder = (struct index_series_finder){.index = index, .film = film, .host = host};
	finder->builds = builds ? builds : &finder->own;
	return index_builds_find(finder->builds, film);
}

void index_series_end(struct index_series_finder *finder)
{
	index_builds_free(&finder->own);
}

struct identity *index_rules(struct index *index)
{
	struct identity *copy;

	pthread_mutex_lock(&index->rules);
	copy = identity_copy(index->identity);
	pthread_mutex_unlock(&index->rules);
	return copy;
}

void index_service_of(struct index *index, const struct film_process *process, char *service)
{
	pthread_mutex_lock(&index->rules);
	identity_of(index->identity, process, service, INDEX_SERVICE_SIZE);
	pthread_mutex_unlock(&index->rules);
}

void index_labels_of(const struct index_series_finder *finder, const struct film_process *process,
		     char *labels)
{
	film_container_labels(process->container, finder->film->info.labels, labels);
}

void index_version_of(const struct index_series_finder *finder, const struct film_process *process,
		      char *version)
{
	uint32_t id = identity_is_script(process)
			      ? 0
			      : index_builds_image(finder->builds, finder->film, process);
	const struct film_image *image = &finder->film->images[id];

	*version = 0;
	if (id)
		text_hex(version, INDEX_VERSION_SIZE, image->build_id, image->build_id_size);
}

uint32_t index_series_of(struct index_series_finder *finder, const struct film_process *process)
{
	struct dictionary *d = &finder->index->dictionary;
	char service[INDEX_SERVICE_SIZE], version[INDEX_VERSION_SIZE], labels[FILM_LABELS_SIZE];
	struct dictionary_series series = {
		.host = finder->host,
		.service = service,
		.version = version,
		.labels = labels,
	};
	uint32_t id;

	index_service_of(finder->index, process, service);
	index_version_of(finder, process, version);
	index_labels_of(finder, process, labels);
	id = dictionary_series(d, &series);
	return id || d->series.count < d->series.max ? id : SERIES_OTHERS;
}
