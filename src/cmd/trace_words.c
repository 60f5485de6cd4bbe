// SPDX-License-Identifier: Apache-2.0
#include "cmd/trace_words.h"

#include <stdio.h>

#include "base/own.h"
#include "base/text.h"

void trace_warn(const char *words)
{
	fputs("stackcam: ", stderr);
	text_print_safe(stderr, words);
	fputc('\n', stderr);
}

void trace_show_progress(void *context, uint64_t elapsed_ns)
{
	struct calls_statistics statistics;
	double seconds = (double)elapsed_ns / 1e9;
	char calls[32];

	calls_statistics(context, &statistics);
	text_count(calls, sizeof(calls), statistics.calls);
	fprintf(stderr, "\r\033[K%.0f s, %s calls of %zu functions, recorder at %.1f %% of one CPU",
		seconds, calls, statistics.functions, own_cpu_seconds() / seconds * 100);
}

static void show_losses(const struct calls_statistics *calls,
			const struct camera_statistics *camera)
{
	uint64_t lost = camera->lost + calls->strangers;
	/* the film was also told of what has words of its own here */
	uint64_t said = calls->strangers + calls->late + calls->taken_out + calls->gave_way;
	uint64_t others = camera->other_losses > said ? camera->other_losses - said : 0;

	if (lost)
		fprintf(stderr, "; %llu call%s lost", (unsigned long long)lost, text_plural(lost));
	if (calls->not_waited_for)
		fprintf(stderr, "; %llu not kept, although their callers may be slow",
			(unsigned long long)calls->not_waited_for);
	if (others)
		fprintf(stderr, "; %llu smaller loss%s, which the report names",
			(unsigned long long)others, others == 1 ? "" : "es");
	if (calls->refused)
		fprintf(stderr, "; %zu function%s could not be probed", calls->refused,
			text_plural(calls->refused));
	if (calls->left_out->count) {
		fprintf(stderr, "; %zu function%s that match%s left out, such as ",
			calls->left_out->count, text_plural(calls->left_out->count),
			calls->left_out->count == 1 ? "es is" : " are");
		text_print_safe(stderr, calls->left_out->name);
		fprintf(stderr, " (%s)", probe_refusal_words(calls->left_out->why));
	}
	if (calls->late)
		fprintf(stderr, "; the first calls in %zu file%s mapped later were not seen",
			calls->late, text_plural(calls->late));
	if (!lost && !camera->other_losses && !calls->not_waited_for && !calls->refused)
		fputs("; nothing lost", stderr);
}

static void show_debugged(const struct calls_statistics *calls)
{
	if (calls->gave_way)
		fprintf(stderr,
			"; a debugger came to process %d: all probes were taken away, so that its "
			"breakpoints work",
			(int)calls->debugged);
	else if (calls->debugged)
		fprintf(stderr,
			"; process %d ran under a debugger: a breakpoint that it set meanwhile on "
			"a "
			"traced function ends the process when it is deleted",
			(int)calls->debugged);
}

void trace_show_end(const char *film, const struct recording *recording,
		    const struct calls_statistics *calls)
{
	struct camera_statistics camera;
	char count[32], bytes[32], longest[32];

	camera_statistics(recording->session.camera, &camera);
	text_count(count, sizeof(count), calls->calls);
	text_bytes(bytes, sizeof(bytes), recording->film_bytes);
	if (recording->session.progress)
		fputs("\r\033[K", stderr);
	if (film)
		text_print_safe(stderr, film);
	else
		fputs("traced", stderr);
	fprintf(stderr, ": %s call%s of %zu function%s in %.1f s", count, text_plural(calls->calls),
		calls->functions, text_plural(calls->functions),
		(double)recording->session.elapsed_ns / 1e9);
	if (film)
		fprintf(stderr, ", %s", bytes);
	if (!calls->calls && !recording->session.command &&
	    !recording->session.selection->name_count)
		fputs("; processes that a target had started before are not traced with it: -n "
		      "NAME "
		      "names them all",
		      stderr);
	if (calls->dropped)
		fprintf(stderr, "; %llu faster ones not kept", (unsigned long long)calls->dropped);
	if (camera.held) {
		text_duration(longest, sizeof(longest), camera.held_longest);
		fprintf(stderr,
			"; programs and libraries were held for their probes %llu time%s, %s at "
			"most",
			(unsigned long long)camera.held, text_plural(camera.held), longest);
	}
	show_losses(calls, &camera);
	if (calls->taken_out) {
		fprintf(stderr,
			"; %zu function%s no longer traced, called too often (--max-rate), such "
			"as ",
			calls->taken_out, text_plural(calls->taken_out));
		text_print_safe(stderr, calls->hottest ? calls->hottest : "");
	}
	show_debugged(calls);
	fputc('\n', stderr);
}
