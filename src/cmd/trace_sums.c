// SPDX-License-Identifier: Apache-2.0
#include "cmd/trace_sums.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/answer.h"
#include "film/reader.h"
#include "query/report.h"
#include "show/show.h"
#include "show/output.h"

#define ROWS 40

int trace_sums_begin(struct trace_sums *sums, struct fail *why)
{
	snprintf(sums->folder, sizeof(sums->folder), "/tmp/stackcam-XXXXXX");
	if (!mkdtemp(sums->folder)) {
		sums->folder[0] = 0;
		return fail_errno(why, -errno, "-o FILM keeps the sums elsewhere",
				  "cannot make a folder in /tmp for the sums");
	}
	snprintf(sums->film, sizeof(sums->film), "%s/sums.film", sums->folder);
	return 0;
}

static int print(struct film *film, struct output *output, struct fail *why)
{
	const struct question question = {0};
	struct show_options options = {.limit = ROWS};
	struct report report;
	int err = report_make(film, &question, false, &report, why);

	cmd_fit_output(&options, output, false, false);
	if (!err) {
		err = show_format_find("table")->report(&report, &options, output->file);
		if (err)
			fail_errno(why, err, NULL, "cannot show the sums");
	}
	report_free(&report);
	return err;
}

int trace_sums_show(const struct trace_sums *sums, struct fail *why)
{
	struct film *film = NULL;
	struct output output;
	struct fail ignored;
	int err = film_open(sums->film, &film, why), closed;

	if (!err)
		err = output_open(&output, NULL, why);
	if (!err) {
		err = print(film, &output, why);
		closed = output_close(&output, !err, err ? &ignored : why);
		err = err ? err : closed;
	}
	film_free(film);
	return err;
}

void trace_sums_end(struct trace_sums *sums)
{
	if (!sums->folder[0])
		return;
	unlink(sums->film);
	rmdir(sums->folder);
	sums->folder[0] = 0;
}
