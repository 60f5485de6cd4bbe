/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_API_H
#define SERVER_API_H

#include "server/route.h"

/* The routes of the API; what they take and answer stands in doc/openapi.json. */

/* api_status.c */
route_function api_status, api_openapi;

/* api_metrics.c */
route_function api_metrics, api_health;

/* api_flame.c */
route_function api_flame, api_diff, api_sandwich, api_functions;

/* api_calls.c */
route_function api_calls;

/* api_lists.c */
route_function api_series, api_heat, api_timeline, api_processes, api_losses;

/* api_timeline.c */
route_function api_timeline_lanes, api_timeline_slices, api_timeline_states, api_timeline_cpus;

/* api_devices.c */
route_function api_timeline_devices;

/* api_mcp.c */
route_function api_mcp;

/* api_logs.c */
route_function api_timeline_logs;

/* api_machine.c */
route_function api_timeline_machine;

/* api_explain.c */
route_function api_explain;

/* api_requests.c */
route_function api_requests;
/* api_values.c */
route_function api_values;

/* api_search.c */
route_function api_search;

/* api_services.c */
route_function api_services;

/* api_locks.c */
route_function api_locks;

/* api_slice.c */
route_function api_slice;

/* api_places.c */
route_function api_places;

/* api_export.c */
route_function api_export;

/* api_spans.c */
route_function api_spans;

/* api_marks.c */
route_function api_marks, api_add_mark;

/* api_querier.c: all methods of querier.v1.QuerierService, by the end of the path */
route_function api_querier;

/* api_keep.c */
route_function api_keep;

/* api_films.c */
route_function api_add_film;

/* api_symbols.c */
route_function api_add_symbols;

/* page.c: the web page's own files */
route_function page_file;

#endif
