/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_FLAME_LABELS_H
#define QUERY_FLAME_LABELS_H

#include "query/flame.h"
#include "query/labels.h"

/*
 * Numbers what the nodes of a flame are called, each once: *label_of, to be freed, holds a label
 * per node; the root has none (its entry means nothing). labels must be all zero; its strings are
 * the flame's. Returns 0 or -ENOMEM; labels_free() is needed in either case.
 */
int flame_labels(const struct flame *flame, struct labels *labels, uint32_t **label_of);

#endif
