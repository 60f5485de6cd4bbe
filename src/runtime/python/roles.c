// SPDX-License-Identifier: Apache-2.0
#include "runtime/python/layout.h"

#include "film/film.h"

/* Sources: CPython, Lib/concurrent/futures/thread.py and Lib/asyncio/base_events.py. */
const struct film_role_row python_roles[] = {
	{FILM_ROLE_BARE_WORK_LOOP, FILM_FRAME_PYTHON, "_worker", "*concurrent/futures/thread.py"},
	{FILM_ROLE_RUNS + FILM_TASKS_ASYNCIO, FILM_FRAME_PYTHON, "BaseEventLoop._run_once*"},
	{FILM_ROLE_LIBRARY, FILM_FRAME_PYTHON, "<frozen *"},
	/* its own modules lie in files, and what is installed beside them */
	{FILM_ROLE_LIBRARY, FILM_ROLES_OF_SCRIPT, "*/lib/python3*"},
	{FILM_ROLE_PROGRAM, FILM_ROLES_OF_SCRIPT, "*-packages/*"},
	{0},
};
