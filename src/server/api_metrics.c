// SPDX-License-Identifier: Apache-2.0
/* For those who watch servers: numbers as Prometheus reads them, and whether all is well. */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/own.h"
#include "film/loss_kinds.h"
#include "server/api.h"
#include "server/internal.h"

#define SECOND 1e9

/*
 * The text format 0.0.4: nothing that is filmed stands in it, so no value needs an escape. The head
 * of a metric precedes its values.
 */
static void put_head(FILE *out, const char *type, const char *name, const char *about)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, about, name, type);
}

static void put(FILE *out, const char *type, const char *name, const char *about, double value)
{
	put_head(out, type, name, about);
	fprintf(out, "%s %.17g\n", name, value);
}

static void put_gauge(FILE *out, const char *name, const char *about, double value)
{
	put(out, "gauge", name, about, value);
}

static void put_counter(FILE *out, const char *name, const char *about, double value)
{
	put(out, "counter", name, about, value);
}

static void put_served(FILE *out, struct served_counts *served)
{
	static const char *const lanes[] = {
		[LANE_QUESTION] = "question", [LANE_PUSH] = "push", [LANE_LIGHT] = "light"};
	static const char *const outcomes[] = {[SERVED_ANSWERED] = "answered",
					       [SERVED_REFUSED] = "refused",
					       [SERVED_FAILED] = "failed"};

	put_head(out, "counter", "stackcam_server_requests_total",
		 "Requests since the start: questions about films, pushes, and light ones");
	for (size_t lane = 0; lane < sizeof(lanes) / sizeof(lanes[0]); lane++)
		for (size_t outcome = 0; outcome < SERVED_OUTCOMES; outcome++)
			fprintf(out,
				"stackcam_server_requests_total{lane=\"%s\",outcome=\"%s\"} "
				"%" PRIuFAST64 "\n",
				lanes[lane], outcomes[outcome],
				atomic_load(&served->requests[lane][outcome]));
	put_counter(out, "stackcam_server_question_seconds_total",
		    "Time that questions about films took since the start",
		    (double)atomic_load(&served->question_ns) / SECOND);
}

/* Reasons are stackcam's own words, and as many as a table has room for. */
static void put_loss(FILE *out, const char *recorder, const char *source, const char *reason,
		     uint64_t count)
{
	fprintf(out,
		"stackcam_lost_total{recorder=\"%s\",source=\"%s\",kind=\"%s\",reason=\"%s\"} "
		"%" PRIu64 "\n",
		recorder, source, film_loss_kind_name(film_loss_kind(reason)), reason, count);
}

static void put_losses_of(FILE *out, const char *recorder, const struct loss_table *losses)
{
	for (size_t i = 0; i < losses->count; i++)
		put_loss(out, recorder, losses->rows[i].source, losses->rows[i].reason,
			 losses->rows[i].count);
	if (losses->others)
		put_loss(out, recorder, "all", "reasons beyond those that are counted apart",
			 losses->others);
}

static void put_losses(FILE *out, const struct loss_table *recorder,
		       const struct loss_table *camera)
{
	put_head(out, "counter", "stackcam_lost_total",
		 "What was lost since the start, by reason; kind sample: whole samples");
	put_losses_of(out, "recorder", recorder);
	put_losses_of(out, "camera", camera);
}

static void put_camera(FILE *out, const struct server_camera *camera)
{
	put_gauge(out, "stackcam_camera_filming", "1: the flight recorder records",
		  camera->is_filming);
	put_gauge(out, "stackcam_camera_bytes", "Memory of the flight recorder's films",
		  (double)camera->bytes);
	put_gauge(out, "stackcam_camera_bytes_max", "The most that they have taken",
		  (double)camera->bytes_max);
	put_gauge(out, "stackcam_camera_seconds", "Time that they cover",
		  (double)camera->time / SECOND);
	put_counter(out, "stackcam_camera_kept_total", "Films that were kept since the start",
		    (double)camera->kept);
	put_counter(out, "stackcam_camera_failed_total", "Films that could not be kept",
		    (double)camera->failed);
	put_counter(out, "stackcam_camera_refused_total",
		    "Triggers that kept nothing, since too much had been kept before",
		    (double)camera->refused);
	put_counter(out, "stackcam_camera_crowded_total",
		    "Short films that were dropped early, since memory was full",
		    (double)camera->crowded);
	put_counter(out, "stackcam_camera_lost_total", "Samples that the flight recorder lost",
		    (double)camera->lost);
	put_counter(out, "stackcam_camera_cpu_seconds_total", "CPU time of its thread",
		    camera->cpu_seconds);
}

static uint64_t seconds_of(uint64_t ns)
{
	return ns / UINT64_C(1000000000);
}

static void put_recorder(FILE *out, const struct server_recorder *recorder)
{
	put_gauge(out, "stackcam_recorder_filming",
		  "1: this machine is filmed, and films are written", recorder->is_filming);
	if (!recorder->is_filming)
		return;
	put_counter(out, "stackcam_recorder_samples_total", "Samples since the start",
		    (double)recorder->samples);
	put_counter(out, "stackcam_recorder_lost_total", "Samples that were lost since the start",
		    (double)recorder->lost);
	put_gauge(out, "stackcam_recorder_hung_file_systems",
		  "File systems of targets that do not answer", recorder->hung);
	put_gauge(out, "stackcam_recorder_still_seconds",
		  "For how long the recorder has recorded nothing, as it waits; 0: it records",
		  (double)seconds_of(recorder->still_ns));
	put_gauge(out, "stackcam_recorder_cpu_ratio",
		  "What recording, answering and BPF programs take of one CPU", recorder->cpu);
	if (recorder->has_bpf)
		put_counter(out, "stackcam_recorder_bpf_seconds_total",
			    "Time that BPF programs ran in the kernel", recorder->bpf_seconds);
	put_gauge(out, "stackcam_recorder_frequency_hertz", "Samples of each CPU in a second",
		  (double)recorder->frequency);
}

static void put_store(FILE *out, const struct store_status *store)
{
	put_gauge(out, "stackcam_store_films", "Films in the store", (double)store->films);
	put_gauge(out, "stackcam_store_bytes", "Bytes of films and index", (double)store->bytes);
	put_gauge(out, "stackcam_store_hosts", "Hosts that have films", (double)store->hosts);
	put_gauge(out, "stackcam_store_series", "Series: services by host, version and labels",
		  (double)store->series);
	put_gauge(out, "stackcam_store_first_timestamp_seconds",
		  "Where the films begin; 0: there are none", (double)store->first / SECOND);
	put_gauge(out, "stackcam_store_last_timestamp_seconds",
		  "Where the films end; 0: there are none", (double)store->last / SECOND);
	put_gauge(out, "stackcam_store_behind_seconds",
		  "Until so long ago sums have all that was filmed or sent",
		  (double)store->behind / SECOND);
	put_gauge(out, "stackcam_store_full", "1: the disk was full when last written to",
		  store->is_full);
	put_gauge(out, "stackcam_store_films_later", "Films of a later version, which are not read",
		  (double)store->later);
	put_counter(out, "stackcam_store_films_taken_total", "Films of agents that were taken",
		    (double)store->taken);
	put_counter(out, "stackcam_store_films_again_total",
		    "Films of agents that had been taken before", (double)store->again);
	put_counter(out, "stackcam_store_films_removed_total", "Films removed by age and size",
		    (double)store->removed);
	put_counter(out, "stackcam_store_films_set_aside_total",
		    "Damaged films that were set aside", (double)store->set_aside);
	put_counter(out, "stackcam_store_samples_in_others_total",
		    "Samples that the index counts in [others], because it was full",
		    (double)store->in_others);
	put_counter(out, "stackcam_store_answers_partial_total",
		    "Answers for which there was no time to read all films",
		    (double)store->partial);
	if (!store->has_sums)
		return;
	put_gauge(out, "stackcam_sums_until_timestamp_seconds",
		  "Until when ClickHouse has all sums of this store; 0: not yet",
		  (double)store->sums_until / SECOND);
	put_counter(out, "stackcam_sums_lost_total",
		    "Samples whose films were removed before ClickHouse had their sums",
		    (double)store->sums_lost);
}

/* A series for each agent would be thousands: those that are behind most have one, by their id. */
static void put_worst_agents(FILE *out, struct backlogs *backlogs)
{
	struct backlogs_agent worst[BACKLOGS_WORST];
	size_t count = backlogs_worst(backlogs, clock_ns(), worst);

	if (!count)
		return;
	put_head(out, "gauge", "stackcam_agent_waiting_bytes",
		 "Bytes of the films that wait, of the agents with the oldest ones");
	for (size_t i = 0; i < count; i++)
		fprintf(out, "stackcam_agent_waiting_bytes{agent=\"%s\"} %" PRIu64 "\n",
			worst[i].name, worst[i].bytes);
	put_head(out, "gauge", "stackcam_agent_oldest_film_seconds",
		 "How long ago the oldest of these began, as its agent said last");
	for (size_t i = 0; i < count; i++)
		fprintf(out, "stackcam_agent_oldest_film_seconds{agent=\"%s\"} %" PRIu64 "\n",
			worst[i].name, worst[i].oldest);
}

/* Sums over all agents. */
static void put_agents(FILE *out, struct backlogs *backlogs)
{
	struct backlogs_sum sum;

	backlogs_sum(backlogs, clock_ns(), &sum);
	put_gauge(
		out, "stackcam_agents",
		"Agents that sent a film here in the last 5 minutes and said what waits with them",
		(double)sum.agents);
	put_gauge(out, "stackcam_agents_behind",
		  "Agents among them with films that wait beside the one that they sent",
		  (double)sum.behind);
	put_gauge(out, "stackcam_agents_films_waiting", "Films that wait with these agents",
		  (double)sum.films);
	put_gauge(out, "stackcam_agents_bytes_waiting",
		  "Bytes of these; older agents do not report them", (double)sum.bytes);
	put_gauge(out, "stackcam_agents_films_in_doubt",
		  "Films with these agents that were sent to a collector and not confirmed",
		  (double)sum.doubt);
	put_gauge(out, "stackcam_agents_oldest_film_seconds",
		  "How long ago the oldest of these began, as its agent said last; 0: none waits",
		  (double)sum.oldest);
	put_head(out, "counter", "stackcam_agents_unread_total",
		 "What agents said of films that wait, and that does not count, by reason");
	fprintf(out,
		"stackcam_agents_unread_total{reason=\"malformed\"} %" PRIu64 "\n"
		"stackcam_agents_unread_total{reason=\"too many agents\"} %" PRIu64 "\n",
		sum.malformed, sum.crowded);
	put_worst_agents(out, backlogs);
}

static void put_bucket(FILE *out, const struct server_state *state,
		       const struct store_status *store)
{
	struct server_bucket bucket = {0};

	if (!state->bucket)
		return;
	state->bucket(state->context, &bucket);
	put_gauge(out, "stackcam_bucket_works", "0: films cannot be kept there, or read from there",
		  !*bucket.trouble);
	put_gauge(out, "stackcam_bucket_films", "Films that the bucket is known to have",
		  (double)store->bucket_films);
	put_gauge(out, "stackcam_bucket_bytes", "Their bytes", (double)store->bucket_bytes);
	put_gauge(out, "stackcam_bucket_films_here", "Of these, films that are in the store, too",
		  (double)store->bucket_here);
	put_gauge(out, "stackcam_bucket_films_waiting", "Packed films that it does not have yet",
		  (double)store->bucket_waiting);
	put_counter(out, "stackcam_bucket_put_total", "Films that it has confirmed",
		    (double)bucket.put);
	put_counter(out, "stackcam_bucket_put_bytes_total", "Their bytes",
		    (double)bucket.put_bytes);
	put_counter(out, "stackcam_bucket_got_total", "Films that were read from it",
		    (double)bucket.got);
	put_counter(out, "stackcam_bucket_got_bytes_total", "Their bytes",
		    (double)bucket.got_bytes);
	put_counter(out, "stackcam_bucket_released_total",
		    "Local copies of its films that were removed to make room",
		    (double)store->bucket_released);
	put_counter(out, "stackcam_bucket_unfetched_total",
		    "Films that answers lack, as they could not be read from it",
		    (double)store->bucket_unfetched);
	put_head(out, "counter", "stackcam_bucket_failures_total",
		 "Films that could not be put or got, by reason");
	for (size_t i = 0; i < bucket.failure_count; i++)
		fprintf(out,
			"stackcam_bucket_failures_total{verb=\"%s\",reason=\"%s\"} %" PRIu64 "\n",
			bucket.failures[i].verb, bucket.failures[i].reason,
			bucket.failures[i].count);
}

static void put_names(FILE *out, const struct server_state *state)
{
	struct server_names names = {0};

	if (!state->names)
		return;
	state->names(state->context, &names);
	put_gauge(out, "stackcam_debuginfod_works", "0: its servers could not be asked last",
		  names.works);
	put_head(out, "counter", "stackcam_debuginfod_builds_total",
		 "Builds that debuginfod servers were asked for, by their outcome");
	for (size_t i = 0; i < names.outcome_count; i++)
		fprintf(out, "stackcam_debuginfod_builds_total{outcome=\"%s\"} %" PRIu64 "\n",
			names.outcomes[i].name, names.outcomes[i].builds);
	put_gauge(out, "stackcam_debuginfod_cache_bytes", "Debug files that are kept",
		  (double)names.cache_bytes);
	put_counter(out, "stackcam_debuginfod_cache_removed_total",
		    "Debug files that made room for others", (double)names.cache_removed);
}

int api_metrics(const struct http_request *request, struct answer *answer, struct fail *why)
{
	struct server_state *state = request->state;
	struct server_recorder recorder = {0};
	struct server_camera camera = {0};
	struct store_status store = {0};
	FILE *out = answer->out;

	(void)why;
	answer->no_store = true;
	answer->type = "text/plain; version=0.0.4; charset=utf-8";
	if (state->recorder)
		state->recorder(state->context, &recorder);
	if (state->camera)
		state->camera(state->context, &camera);
	store_status(request->store, &store);
	fputs("# HELP stackcam_build_info The version that runs\n# TYPE stackcam_build_info gauge\n"
	      "stackcam_build_info{version=\"" STACKCAM_VERSION "\"} 1\n",
	      out);
	put_counter(out, "process_cpu_seconds_total", "User and system time",
		    own_cpu_seconds() + own_helpers_cpu_seconds());
	put_gauge(out, "process_resident_memory_bytes", "Resident memory", (double)own_rss_bytes());
	put_gauge(out, "process_start_time_seconds", "Start, since 1970",
		  (double)state->started / SECOND);
	put_recorder(out, &recorder);
	if (state->camera)
		put_camera(out, &camera);
	if (state->recorder || state->camera)
		put_losses(out, &recorder.losses, &camera.losses);
	put_store(out, &store);
	put_agents(out, state->backlogs);
	put_bucket(out, state, &store);
	put_names(out, state);
	put_served(out, &state->served);
	if (state->audit)
		put_counter(out, "stackcam_server_audit_lost_total",
			    "Lines that could not be written to the audit",
			    (double)audit_lost(state->audit));
	return 0;
}

/* Says no more than whether, and in words that tell nothing of what is filmed. */
int api_health(const struct http_request *request, struct answer *answer, struct fail *why)
{
	const struct server_state *state = request->state;
	struct json j = {.out = answer->out};
	struct server_recorder recorder = {.is_filming = true};
	struct server_bucket bucket = {0};
	struct store_status store = {0};
	char words[128];
	bool is_well;

	(void)why;
	answer->no_store = true;
	if (state->recorder)
		state->recorder(state->context, &recorder);
	if (state->bucket)
		state->bucket(state->context, &bucket);
	store_status(request->store, &store);
	is_well = recorder.is_filming && !recorder.still_ns && !store.is_full;
	answer->status = is_well ? 200 : 503;
	json_open(&j, NULL, '{');
	json_text(&j, "status",
		  !is_well			     ? "failing"
		  : recorder.hung || *bucket.trouble ? "degraded"
						     : "ok");
	json_open(&j, "reasons", '[');
	if (!recorder.is_filming)
		json_text(&j, NULL, "no film is being written");
	if (recorder.still_ns) {
		snprintf(words, sizeof(words), "nothing has been recorded for %" PRIu64 " s",
			 seconds_of(recorder.still_ns));
		json_text(&j, NULL, words);
	}
	if (recorder.hung) {
		snprintf(
			words, sizeof(words),
			"files on %u file system%s are not read, which %s not answered for %" PRIu64
			" s",
			recorder.hung, recorder.hung > 1 ? "s" : "",
			recorder.hung > 1 ? "have" : "has", seconds_of(recorder.hung_ns));
		json_text(&j, NULL, words);
	}
	if (store.is_full)
		json_text(&j, NULL, "the disk of the store is full");
	if (*bucket.trouble)
		json_text(&j, NULL, "the bucket does not take films, or return them");
	json_close(&j, ']');
	json_close(&j, '}');
	return 0;
}
