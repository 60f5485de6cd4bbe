// SPDX-License-Identifier: Apache-2.0
#include "record/new_film.h"

#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "resolve/function_roles.h"

int new_film(const struct new_film *options, struct film_writer **film, struct film_info *begun,
	     struct fail *why)
{
	struct buf roles = {0};
	struct utsname machine;
	struct film_info info;
	int err;

	uname(&machine);
	function_roles(&roles);
	info = (struct film_info){
		.version = STACKCAM_VERSION,
		.hostname = options->hostname ? options->hostname : machine.nodename,
		.kernel = machine.release,
		.arch = machine.machine,
		.command = options->command,
		.cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
		.start = clock_ns(),
		.wall_offset = clock_wall_offset(),
		.labels = options->labels,
		.roles = (const char *)roles.at,
	};
	if (begun)
		*begun = (struct film_info){.start = info.start, .wall_offset = info.wall_offset};
	err = options->in_memory ? film_create_in_memory(&info, film, why)
				 : film_create(options->path, &info, film, why);
	buf_free(&roles);
	return err;
}
