// SPDX-License-Identifier: Apache-2.0
#include "film/container.h"

#include <stdio.h>
#include <string.h>

static const char *const keys[] = {"namespace", "pod", "container"};

enum {
	KEYS = sizeof(keys) / sizeof(keys[0])
};

bool film_container_has_key(const char *key)
{
	size_t length = strcspn(key, "=");

	for (int i = 0; i < KEYS; i++)
		if (strlen(keys[i]) == length && !strncmp(keys[i], key, length))
			return true;
	return false;
}

static bool has_key(const char *labels, const char *wanted)
{
	char key[FILM_LABEL_KEY_MAX + 1];
	size_t length;

	while (film_labels_next(&labels, key, &length))
		if (!strcmp(key, wanted))
			return true;
	return false;
}

void film_container_labels(const char *container, const char *labels, char to[FILM_LABELS_SIZE])
{
	const char *name = container + film_container_id(container);

	snprintf(to, FILM_LABELS_SIZE, "%s", labels);
	if (*name != ' ')
		return;
	name++;
	for (int i = 0; i < KEYS; i++) {
		char label[FILM_LABEL_KEY_MAX + FILM_LABEL_VALUE_MAX + 2];
		size_t length = strcspn(name, "/"), kept = length;

		/* a name of a pod may be longer than a label */
		if (kept > FILM_LABEL_VALUE_MAX)
			kept = FILM_LABEL_VALUE_MAX;
		snprintf(label, sizeof(label), "%s=%.*s", keys[i], (int)kept, name);
		if (kept && !has_key(labels, keys[i]))
			film_labels_add(to, FILM_LABELS_SIZE, label, NULL);
		name += length;
		name += *name == '/';
	}
}
