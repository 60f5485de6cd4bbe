/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_FLAME_LABELS_H
#define QUERY_FLAME_LABELS_H

#include "query/flame.h"
#include "query/labels.h"

/*
 * Numbers the distinct labels of a flame's nodes. *label_of gets a label per node, which the caller
 * frees; the root has no label (its entry is undefined). labels must be all zero; its strings
 * belong to the flame. Returns 0 or -ENOMEM; call labels_free() in both cases.
 */
int flame_labels(const struct flame *flame, struct labels *labels, uint32_t **label_of);

#endif
