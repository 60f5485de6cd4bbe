// SPDX-License-Identifier: Apache-2.0
/* record --flight: the last seconds are in memory, and become a film when something happens. */
#include "cmd/record_flight.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/text.h"
#include "cmd/camera_options.h"
#include "cmd/verb.h"
#include "host/flight.h"
#include "host/flight_socket.h"
#include "host/notify.h"
#include "host/say.h"
#include "host/until.h"

struct flying {
	const struct record_flight *options;
	struct flight *flight;
	struct flight_socket *asked;
	unsigned int kept; /* films that something that happened was the reason for */
	bool is_end;	   /* what is kept next is the end of the recording */
};

/* FILM at the end, and before that FILM with a number before its ending. */
static int film_path(const struct flying *flying, char *path, size_t size)
{
	const char *film = flying->options->common->film, *dot = strrchr(film, '.');
	size_t stem = dot && !strchr(dot, '/') ? (size_t)(dot - film) : strlen(film);
	int length = flying->is_end ? snprintf(path, size, "%s", film)
				    : snprintf(path, size, "%.*s-%u%s", (int)stem, film,
					       flying->kept + 1, film + stem);

	return (size_t)length < size ? 0 : -ENAMETOOLONG;
}

static void folder_of(const char *path, char *folder, size_t size)
{
	const char *slash = strrchr(path, '/');

	if (slash)
		snprintf(folder, size, "%.*s", slash == path ? 1 : (int)(slash - path), path);
	else
		snprintf(folder, size, ".");
}

static int keep(void *context, const struct store_keep *films, char *path, size_t size,
		struct fail *why)
{
	struct flying *flying = context;
	char folder[PATH_MAX];
	int err = film_path(flying, path, size);

	if (err) {
		for (size_t i = 0; i < films->count; i++)
			film_bytes_free(&films->films[i]);
		return fail_errno(why, err, NULL, "cannot keep a film");
	}
	folder_of(path, folder, sizeof(folder));
	/* one of an earlier recording makes way, as with all that is recorded */
	if (films->count && unlink(path) && errno != ENOENT)
		err = -errno;
	if (err)
		fail_errno(why, err, NULL, "cannot replace %s", path);
	if (!err)
		err = store_keep_at(folder, films, path, why);
	flying->kept += !err && !flying->is_end;
	return err;
}

static int load(struct flying *flying, const char *host, const char *command, struct fail *why)
{
	const struct record_flight *o = flying->options;
	const struct camera_flight usual = camera_flight_usual();
	const struct flight_options options = {
		.selection = &o->common->selection,
		.events = o->events,
		.sources = o->sources,
		.host = host,
		.labels = o->common->labels,
		.command = command,
		.time = o->time,
		.bytes = o->bytes,
		.after = usual.after,
		.limits = usual.limits,
		.queue = usual.queue,
		.quiet = o->common->quiet,
	};

	return flight_new(&options, &flying->flight, why);
}

static void say_ended(void *context)
{
	struct flying *flying = context;

	flight_stop(flying->flight);
}

/* Until something ends it. */
static int fly(struct flying *flying, int signals, struct fail *why)
{
	const struct record_flight *o = flying->options;
	const struct flight_place place = {.keep = keep, .context = flying};
	const struct until until = {
		.signals = signals,
		.duration = (uint64_t)(o->common->seconds * 1e9),
		.beside = flight_ended(flying->flight),
		.beside_ended = say_ended,
		.context = flying,
	};
	struct flight_kept kept;
	int err = flight_start(flying->flight, &place, why);

	if (!err)
		err = flight_socket_start(flying->flight, &flying->asked, why);
	if (err)
		return err;
	if (!o->common->quiet)
		host_say("recording into memory; 'stackcam keep --pid %d' keeps the last %llu s, "
			 "and so does the end",
			 (int)getpid(), (unsigned long long)(o->time / 1000000000));
	notify("READY=1");
	err = until_end(&until);
	if (err)
		return fail_errno(why, err, NULL, "cannot wait for signals");
	flying->is_end = true;
	until_let_signals_end();
	err = flight_keep(flying->flight, "the recording ended", &kept, why);
	/* all was kept just before */
	return err == -ENODATA ? 0 : err;
}

int record_flight(const struct record_flight *options, int argc, char **argv)
{
	struct flying flying = {.options = options};
	char host[HOST_NAME_MAX + 1] = "localhost";
	struct buf command = {0};
	struct fail why = {0}, ended = {0};
	int signals, err;

	gethostname(host, sizeof(host) - 1);
	cmd_put_command(&command, argc, argv);
	signals = until_take_signals(&why);
	err = signals < 0 ? signals : 0;
	if (!err)
		err = load(&flying, host, command.failed ? "" : (const char *)command.at, &why);
	if (!err)
		err = fly(&flying, signals, &why);
	flight_stop(flying.flight);
	flight_socket_free(flying.asked);
	if (flying.flight && flight_join(flying.flight, &ended) && !err) {
		err = ended.err;
		why = ended;
	}
	flight_free(flying.flight);
	if (signals >= 0)
		close(signals);
	buf_free(&command);
	if (err)
		fail_print(&why);
	return err ? fail_exit_status(&why) : 0;
}
