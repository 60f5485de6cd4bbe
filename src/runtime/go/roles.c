// SPDX-License-Identifier: Apache-2.0
#include "runtime/go/roles.h"

#include "film/film.h"

/* Source: Go, src/runtime/proc.go. */
const struct film_role_row go_roles[] = {
	{FILM_ROLE_RUNS + FILM_TASKS_GO, FILM_FRAME_NATIVE, "runtime.schedule*"},
	/* of its standard library what waits */
	{FILM_ROLE_LIBRARY, FILM_FRAME_NATIVE, "runtime.*"},
	{FILM_ROLE_LIBRARY, FILM_FRAME_NATIVE, "sync.(*"},
	{FILM_ROLE_LIBRARY, FILM_FRAME_NATIVE, "sync.*"},
	{FILM_ROLE_LIBRARY, FILM_FRAME_NATIVE, "internal/sync.*"},
	{FILM_ROLE_LIBRARY, FILM_FRAME_NATIVE, "internal/poll*"},
	{FILM_ROLE_LIBRARY, FILM_FRAME_NATIVE, "syscall.*"},
	{FILM_ROLE_LIBRARY, FILM_FRAME_NATIVE, "os.(*File)*"},
	{FILM_ROLE_LIBRARY, FILM_FRAME_NATIVE, "net.(*"},
	{FILM_ROLE_LIBRARY, FILM_FRAME_NATIVE, "time.Sleep"},
	{0},
};
