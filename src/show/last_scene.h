/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_LAST_SCENE_H
#define SHOW_LAST_SCENE_H

#include <stdio.h>

#include "base/json.h"
#include "query/last_scene.h"

/* Last scenes in sentences, harmless. */
void show_last_scenes(struct explainer *e, const struct last_scenes *scenes, FILE *out);

/* The same as the array "deaths" of an object that is open. */
void put_last_scenes(struct json *j, struct explainer *e, const struct last_scenes *scenes);

#endif
