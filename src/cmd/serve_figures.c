// SPDX-License-Identifier: Apache-2.0
#include "cmd/serve_figures.h"

#include <stdio.h>

void figures_of_flight(struct flight *flight, struct server_camera *camera)
{
	struct flight_state state;

	flight_state(flight, &state);
	*camera = (struct server_camera){
		.is_filming = state.is_filming,
		.bytes = state.bytes,
		.bytes_max = state.bytes_most,
		.time = state.time,
		.kept = state.kept,
		.failed = state.failed,
		.refused = state.refused,
		.crowded = state.crowded,
		.lost = state.lost,
		.cpu_seconds = state.cpu_seconds,
		.losses = state.losses,
	};
}

void figures_of_recorder(struct recorder *of, struct cost *from, struct server_recorder *recorder)
{
	struct recorder_state state;
	struct cost_figures cost;

	recorder_state(of, &state);
	cost_now(from, &cost);
	*recorder = (struct server_recorder){
		.is_filming = state.is_filming,
		.hung = (unsigned int)state.hung,
		.hung_ns = state.hung_ns,
		.still_ns = state.still_ns,
		.samples = state.samples,
		.lost = state.lost,
		.cpu = cost.cpu,
		.bpf = cost.bpf,
		.bpf_seconds = cost.bpf_seconds,
		.has_bpf = cost.has_bpf,
		.frequency = state.frequency,
		.losses = state.losses,
	};
}

void figures_of_archive(struct archive *archive, struct server_bucket *bucket)
{
	struct archive_state state;
	size_t count = 0;

	archive_state(archive, &state);
	*bucket = (struct server_bucket){
		.put = state.films[ARCHIVE_PUT],
		.put_bytes = state.bytes[ARCHIVE_PUT],
		.got = state.films[ARCHIVE_GET],
		.got_bytes = state.bytes[ARCHIVE_GET],
	};
	for (int verb = 0; verb < ARCHIVE_VERBS; verb++)
		for (int reason = 0; reason < ARCHIVE_REASONS; reason++)
			bucket->failures[count++] = (struct server_bucket_failure){
				archive_verb_name(verb), archive_reason_name(reason),
				state.failed[verb][reason]};
	bucket->failure_count = count;
	snprintf(bucket->trouble, sizeof(bucket->trouble), "%s", state.trouble);
}

_Static_assert((int)ARCHIVE_VERBS *(int)ARCHIVE_REASONS <= (int)SERVER_BUCKET_FAILURES_MAX,
	       "a reason has no room");

void figures_of_namer(struct namer *namer, struct server_names *names)
{
	struct debug_server_state state;

	namer_state(namer, &state);
	*names = (struct server_names){.outcome_count = DEBUG_SERVER_OUTCOMES,
				       .cache_bytes = state.cache_bytes,
				       .cache_removed = state.cache_removed,
				       .works = state.works};
	for (int i = 0; i < DEBUG_SERVER_OUTCOMES; i++)
		names->outcomes[i] = (struct server_names_outcome){debug_server_outcome_name(i),
								   state.builds[i]};
}

_Static_assert((int)DEBUG_SERVER_OUTCOMES <= (int)SERVER_NAMES_OUTCOMES_MAX,
	       "an outcome has no room");
