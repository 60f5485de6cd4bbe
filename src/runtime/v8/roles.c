// SPDX-License-Identifier: Apache-2.0
#include "runtime/v8/internal.h"

#include "film/film.h"

/*
 * Of Node.js, which has V8 and libuv in it. Sources: src/node_platform.cc,
 * src/api/embed_helpers.cc; libuv src/threadpool.c.
 */
const struct film_role_row v8_roles[] = {
	{FILM_ROLE_WORK_LOOP, FILM_FRAME_NATIVE, "node::*TaskQueue<*>::BlockingPop*"},
	{FILM_ROLE_WORK_LOOP, FILM_FRAME_NATIVE, "worker"},
	{FILM_ROLE_AWAITS, FILM_FRAME_NATIVE, "uv_cond_wait"},
	{FILM_ROLE_RUNS + FILM_TASKS_NODE, FILM_FRAME_NATIVE, "node::SpinEventLoop*"},
	{FILM_ROLE_LIBRARY, FILM_ROLES_OF_FILE, "libuv.so*"},
	{0},
};
