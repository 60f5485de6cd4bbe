// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/own.h"
#include "film/events.h"
#include "openapi.h"
#include "server/api.h"
#include "server/internal.h"
#include "server/put.h"

static void put_recorder(struct json *j, const struct server_recorder *recorder)
{
	if (!recorder->is_filming) {
		json_null(j, "recorder");
		return;
	}
	json_open(j, "recorder", '{');
	json_u64(j, "samples", recorder->samples);
	json_u64(j, "lost", recorder->lost);
	json_double(j, "cpu", recorder->cpu);
	if (recorder->has_bpf)
		json_double(j, "cpu_bpf", recorder->bpf);
	else
		json_null(j, "cpu_bpf");
	json_u64(j, "frequency", recorder->frequency);
	json_close(j, '}');
}

static void put_camera(struct json *j, const struct server_state *state)
{
	struct server_camera camera;

	if (!state->camera) {
		json_null(j, "camera");
		return;
	}
	state->camera(state->context, &camera);
	json_open(j, "camera", '{');
	json_bool(j, "filming", camera.is_filming);
	json_u64(j, "bytes", camera.bytes);
	json_u64(j, "bytes_max", camera.bytes_max);
	json_u64(j, "time", camera.time);
	json_u64(j, "kept", camera.kept);
	json_u64(j, "failed", camera.failed);
	json_u64(j, "refused", camera.refused);
	json_u64(j, "crowded", camera.crowded);
	json_u64(j, "lost", camera.lost);
	json_double(j, "cpu_seconds", camera.cpu_seconds);
	json_close(j, '}');
}

static void put_bucket(struct json *j, const struct server_state *state,
		       const struct store_status *store)
{
	struct server_bucket bucket = {0};
	uint64_t failed = 0;

	if (!state->bucket) {
		json_null(j, "bucket");
		return;
	}
	state->bucket(state->context, &bucket);
	for (size_t i = 0; i < bucket.failure_count; i++)
		failed += bucket.failures[i].count;
	json_open(j, "bucket", '{');
	json_text(j, "trouble", bucket.trouble);
	json_u64(j, "films", store->bucket_films);
	json_u64(j, "bytes", store->bucket_bytes);
	json_u64(j, "here", store->bucket_here);
	json_u64(j, "waiting", store->bucket_waiting);
	json_u64(j, "put", bucket.put);
	json_u64(j, "got", bucket.got);
	json_u64(j, "failed", failed);
	json_u64(j, "released", store->bucket_released);
	json_u64(j, "unfetched", store->bucket_unfetched);
	json_close(j, '}');
}

static void put_store(struct json *j, const struct store_status *status)
{
	json_open(j, "store", '{');
	json_u64(j, "films", status->films);
	json_u64(j, "bytes", status->bytes);
	put_time(j, "first", status->first);
	put_time(j, "last", status->last);
	json_u64(j, "hosts", status->hosts);
	json_u64(j, "series", status->series);
	json_u64(j, "in_others", status->in_others);
	json_u64(j, "set_aside", status->set_aside);
	json_u64(j, "later", status->later);
	json_u64(j, "taken", status->taken);
	json_u64(j, "again", status->again);
	json_u64(j, "removed", status->removed);
	json_bool(j, "full", status->is_full);
	json_close(j, '}');
}

/* What the page must know of an event to show its values. */
static void put_event_type(struct json *j, const struct store_event *event)
{
	const struct event_type *type = event_find(event->name, event->unit);

	json_open(j, NULL, '{');
	json_text(j, "name", event->name);
	json_text(j, "unit", event->unit);
	json_text(j, "title", type->title ? type->title : event->name);
	json_text(j, "rate", type->rate);
	json_u64(j, "rate_scale", type->quantity == EVENT_TIME ? SECOND_NS : 1);
	json_text(j, "noun", type->noun);
	json_text(j, "about", type->about);
	json_bool(j, "calls", type->shape == SHAPE_CALLS);
	json_bool(j, "level", type->is_level);
	json_bool(j, "interval", type->is_interval);
	json_bool(j, "locks", type->has_locks);
	json_bool(j, "requests", type->has_requests);
	json_bool(j, "slices", type->shape == SHAPE_SLICES);
	json_bool(j, "usual", type == event_usual());
	json_close(j, '}');
}

static void put_events(struct json *j, struct store *store)
{
	struct store_event events[STORE_EVENTS_MAX];
	size_t count = store_events(store, events, STORE_EVENTS_MAX);

	json_open(j, "events", '[');
	for (size_t i = 0; i < count; i++)
		json_text(j, NULL, events[i].name);
	json_close(j, ']');
	json_open(j, "event_types", '[');
	for (size_t i = 0; i < count; i++)
		put_event_type(j, &events[i]);
	json_close(j, ']');
}

int api_status(const struct http_request *request, struct answer *answer, struct fail *why)
{
	const struct server_state *state = request->state;
	struct json j = {.out = answer->out};
	struct server_recorder recorder = {0};
	struct store_status store = {0};

	(void)why;
	answer->no_store = true;
	if (state->recorder)
		state->recorder(state->context, &recorder);
	store_status(request->store, &store);
	json_open(&j, NULL, '{');
	json_text(&j, "version", STACKCAM_VERSION);
	json_text(&j, "host", state->host);
	put_time(&j, "now", clock_wall());
	put_time(&j, "started", state->started);
	json_bool(&j, "filming", recorder.is_filming);
	json_bool(&j, "one_film", state->one_film);
	json_bool(&j, "growing", store.is_growing);
	json_bool(&j, "cut_off", store.is_cut_off);
	json_bool(&j, "devices", store.has_devices);
	json_bool(&j, "read_only", !state->spool);
	json_u64(&j, "cpus", state->cpus);
	put_recorder(&j, &recorder);
	put_camera(&j, state);
	json_open(&j, "process", '{');
	json_double(&j, "cpu_seconds", own_cpu_seconds() + own_helpers_cpu_seconds());
	json_double(&j, "bpf_seconds", recorder.bpf_seconds);
	json_u64(&j, "rss_bytes", own_rss_bytes());
	json_close(&j, '}');
	put_events(&j, request->store);
	put_store(&j, &store);
	put_bucket(&j, state, &store);
	json_close(&j, '}');
	return 0;
}

int api_openapi(const struct http_request *request, struct answer *answer, struct fail *why)
{
	(void)request;
	(void)why;
	fwrite(openapi_json, 1, sizeof(openapi_json), answer->out);
	return 0;
}
