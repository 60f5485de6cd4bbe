// SPDX-License-Identifier: Apache-2.0
#include "mcp/mcp.h"
#include "server/api.h"
#include "server/push.h"

const struct route routes[] = {
	{"GET", "/", .is_open = true, .lane = LANE_LIGHT, .answer = page_file},
	{"GET", "/assets/app.js", .is_open = true, .lane = LANE_LIGHT, .answer = page_file},
	{"GET", "/assets/chunk.js", .is_open = true, .lane = LANE_LIGHT, .answer = page_file},
	{"GET", "/assets/more.js", .is_open = true, .lane = LANE_LIGHT, .answer = page_file},
	{"GET", "/assets/chinese.js", .is_open = true, .lane = LANE_LIGHT, .answer = page_file},
	{"GET", "/assets/app.css", .is_open = true, .lane = LANE_LIGHT, .answer = page_file},
	{"GET", "/assets/icon.svg", .is_open = true, .lane = LANE_LIGHT, .answer = page_file},

	{"GET", "/health", .is_open = true, .lane = LANE_LIGHT, .answer = api_health},
	{"GET", "/metrics", .lane = LANE_LIGHT, .answer = api_metrics},

	{"GET", "/api/v1/openapi.json", .lane = LANE_LIGHT, .answer = api_openapi},
	{"GET", "/api/v1/status", .lane = LANE_LIGHT, .answer = api_status},
	{"GET", "/api/v1/series", .answer = api_series},
	{"GET", "/api/v1/explain", .answer = api_explain},
	{"GET", "/api/v1/requests", .answer = api_requests},
	{"GET", "/api/v1/services", .answer = api_services},
	{"GET", "/api/v1/timeline", .answer = api_timeline},
	{"GET", "/api/v1/timeline/lanes", .answer = api_timeline_lanes},
	{"GET", "/api/v1/timeline/slices", .answer = api_timeline_slices},
	{"GET", "/api/v1/timeline/states", .answer = api_timeline_states},
	{"GET", "/api/v1/timeline/cpus", .answer = api_timeline_cpus},
	{"GET", "/api/v1/timeline/slice", .answer = api_slice},
	{"GET", "/api/v1/timeline/logs", .answer = api_timeline_logs},
	{"GET", "/api/v1/timeline/machine", .answer = api_timeline_machine},
	{"GET", "/api/v1/heat", .answer = api_heat},
	{"GET", "/api/v1/locks", .answer = api_locks},
	{"GET", "/api/v1/flame", .answer = api_flame},
	{"GET", "/api/v1/functions", .answer = api_functions},
	{"GET", "/api/v1/calls", .answer = api_calls},
	{"GET", "/api/v1/values", .answer = api_values},
	{"GET", "/api/v1/diff", .answer = api_diff},
	{"GET", "/api/v1/sandwich", .answer = api_sandwich},
	{"GET", "/api/v1/search", .answer = api_search},
	{"GET", "/api/v1/places", .answer = api_places},
	{"GET", "/api/v1/processes", .answer = api_processes},
	{"GET", "/api/v1/losses", .answer = api_losses},
	{"GET", "/api/v1/marks", .answer = api_marks},
	{"GET", "/api/v1/spans", .answer = api_spans},
	{"GET", "/api/v1/export", .answer = api_export},

	{"POST", "/mcp", .body = ROUTE_IN_MEMORY, .body_max = MCP_MESSAGE_MAX, .answer = api_mcp},
	{"POST", "/api/v1/films", .body = ROUTE_IN_FILE, .lane = LANE_PUSH,
	 .answer = api_take_film},
	{"POST", "/api/v1/marks", .body = ROUTE_IN_MEMORY, .body_max = URL_LENGTH_MAX / 2,
	 .lane = LANE_PUSH, .answer = api_take_mark},
	{"POST", "/api/v1/keep", .lane = LANE_PUSH, .answer = api_keep},
	{"POST", "/ingest", .body = ROUTE_IN_MEMORY, .lane = LANE_PUSH, .answer = push_ingest},
	{"POST", "/push.v1.PusherService/Push", .body = ROUTE_IN_MEMORY, .lane = LANE_PUSH,
	 .answer = push_pusher},
	{"POST", "/v1development/profiles", .body = ROUTE_IN_MEMORY, .lane = LANE_PUSH,
	 .answer = push_opentelemetry},
	{"POST", "/v1/traces", .body = ROUTE_IN_MEMORY, .lane = LANE_PUSH, .answer = push_traces},
};

const size_t route_count = sizeof(routes) / sizeof(routes[0]);
