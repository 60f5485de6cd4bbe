/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_CONTAINER_H
#define FILM_CONTAINER_H

#include <stddef.h>
#include <string.h>

#include "film/labels.h"

/*
 * What a film says of the container of a process: its id, and where it is one of a pod of
 * Kubernetes whose names are known, a blank and "NAMESPACE/POD/CONTAINER"; a name that is not known
 * is "".
 */

/* The length of the id at the beginning. */
static inline size_t film_container_id(const char *container)
{
	return strcspn(container, " ");
}

/*
 * Copies labels (of the film) and adds the names as labels: namespace, pod, container. A label of
 * that key that a user gave stays. Names that cannot be labels are left out.
 */
void film_container_labels(const char *container, const char *labels, char to[FILM_LABELS_SIZE]);

/* Whether labels may come from containers: of that key, with or without "=VALUE" behind it. */
bool film_container_has_key(const char *key);

#endif
