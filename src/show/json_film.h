/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_JSON_FILM_H
#define SHOW_JSON_FILM_H

#include "base/json.h"
#include "film/reader.h"
#include "query/device_works.h"
#include "query/reasons.h"
#include "query/unlinked.h"

/* What every answer in JSON says of a film. */

/* "film": its machine, its times from and to, and how it was made. */
void json_put_film(struct json *j, const struct film *film, uint64_t from, uint64_t to);

void json_put_reasons(struct json *j, const char *key, const struct view_reasons *reasons);

/* "not_linked": which tasks share threads; a bit for each enum film_task_kind. */
void json_put_unlinked(struct json *j, uint32_t kinds);

/* "works": what a device ran while a thread waited for it, of DEVICE_SHARES. */
void json_put_works(struct json *j, const struct film *film, const struct device_share *works);

#endif
