// SPDX-License-Identifier: Apache-2.0
#include "cmd/kept.h"

#include <errno.h>
#include <stdlib.h>

#include "base/fail.h"
#include "base/text.h"

int kept_exit_status(int status, const struct kept *kept, const char *what)
{
	struct fail why;
	char lost[32];

	if (!kept->kept && kept->nothing_matched) {
		fail(&why, -ENOENT, "--list shows those that there are",
		     "nothing was recorded: no function of what ran matches");
		fail_print(&why);
		return status ? status : EXIT_FAILURE;
	}
	if (kept->kept || !kept->lost)
		return status;
	text_count(lost, sizeof(lost), kept->lost);
	fail(&why, -ENODATA,
	     "the report of a film (-o FILM) names the reasons, 'stackcam doctor' what is missing "
	     "here",
	     "nothing was recorded: all %s %s were lost", lost, what);
	fail_print(&why);
	return status ? status : EXIT_FAILURE;
}
