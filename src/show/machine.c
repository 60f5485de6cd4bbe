// SPDX-License-Identifier: Apache-2.0
#include "show/machine.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "film/events.h"
#include "film/gauges.h"
#include "query/reasons.h"
#include "show/json_film.h"
#include "show/words.h"

/* Threads that used disks, in a text. */
#define THREADS_SHOWN 20

/* What the film has in the time of a question; 0 rows: nothing. machine_free() is needed. */
static int read_machine(struct film *film, const struct question *q, struct machine *machine,
			struct fail *why)
{
	uint64_t from, to, offset = (uint64_t)film->info.wall_offset;
	int err = filter_span(&q->filter, &film->info, &from, &to, why);

	*machine = (struct machine){0};
	if (err)
		return err;
	/* a question without an end is of all of the film */
	from = from > film->info.start ? from : film->info.start;
	to = to < film->info.end ? to : film->info.end + 1;
	machine->from = from + offset;
	machine->to = to + offset;
	err = machine_add(machine, film, film->info.hostname, why);
	if (!err)
		machine_end(machine);
	return err;
}

/*
 * A value in the words of its gauge: of time that flows how much of each second, where the CPUs are
 * more than one.
 */
static void value_words(const struct machine_gauge *gauge, double value, char *to, size_t size)
{
	const struct gauge_type *type = gauge->type;
	enum event_quantity of = event_quantity(type->unit);
	char words[32];

	if (of == EVENT_TIME && !type->is_level) {
		bool is_of_cpus = !strcmp(type->group, "cpu");

		snprintf(to, size, is_of_cpus ? "%.2f CPUs" : "%.1f %%",
			 is_of_cpus ? value / SECOND_NS : value * 100 / SECOND_NS);
	} else if (of == EVENT_COUNT) {
		snprintf(to, size, type->is_level ? "%.1f" : "%.1f/s", value);
	} else {
		words_value(words, sizeof(words), type->unit, (uint64_t)value);
		snprintf(to, size, "%s%s", words, type->is_level ? "" : "/s");
	}
}

/* "disk read, vda" */
static void put_name(const struct machine_gauge *gauge, FILE *out)
{
	char words[96], safe[128];

	snprintf(words, sizeof(words), "%s %s%s%s", gauge->type->group, gauge->type->name,
		 *gauge->object ? ", " : "", gauge->object);
	text_make_safe(safe, sizeof(safe), words);
	fprintf(out, "  %-30s", safe);
}

/* Of those that are of requests: how many, and how long they took. */
static void put_times(const struct machine_gauge *gauge, FILE *out)
{
	char average[32], longest[32];
	int noun;

	if (!gauge->type->has_times || !gauge->count)
		return;
	noun = (int)strlen(gauge->type->count) - (gauge->count == 1);
	if (gauge->type->is_level) {
		words_value(longest, sizeof(longest), "ns", gauge->longest);
		fprintf(out, "  %llu %.*s, longest %s", (unsigned long long)gauge->count, noun,
			gauge->type->count, longest);
		return;
	}
	words_value(average, sizeof(average), "ns", gauge->time / gauge->count);
	fprintf(out, "  %llu %.*s, %s on average", (unsigned long long)gauge->count, noun,
		gauge->type->count, average);
}

static void put_gauge(const struct machine_gauge *gauge, FILE *out)
{
	const double values[] = {gauge->average, gauge->least, gauge->most, gauge->last};
	char words[48];

	put_name(gauge, out);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		value_words(gauge, values[i], words, sizeof(words));
		fprintf(out, " %14s", words);
	}
	put_times(gauge, out);
	fputc('\n', out);
}

static void put_thread(const struct machine_gauge *gauge, FILE *out)
{
	char bytes[32], average[32], longest[32], safe[64];

	words_value(bytes, sizeof(bytes), "bytes", gauge->total);
	words_value(average, sizeof(average), "ns", gauge->count ? gauge->time / gauge->count : 0);
	words_value(longest, sizeof(longest), "ns", gauge->longest);
	/* of requests whose thread is not known, only the disk's own sums are */
	if (!gauge->comm && !gauge->longest)
		strcpy(longest, "not known");
	text_make_safe(safe, sizeof(safe), gauge->object);
	fprintf(out, "  %-10s %-9s %12s %10llu %12s %12s  ", safe,
		gauge->kind == FILM_GAUGE_DISK_READ_BY ? "read" : "written", bytes,
		(unsigned long long)gauge->count, average, longest);
	if (gauge->comm) {
		text_print_safe(out, gauge->comm);
		fprintf(out, " (%u)", gauge->tid);
	} else {
		fputs("thread not known", out);
	}
	fputc('\n', out);
}

static bool is_of_thread(const struct machine_gauge *gauge)
{
	return gauge->kind == FILM_GAUGE_DISK_READ_BY || gauge->kind == FILM_GAUGE_DISK_WRITE_BY;
}

static void put_threads(const struct machine *machine, FILE *out)
{
	size_t shown = 0, left = 0;

	vec_foreach (&machine->all, gauge) {
		if (!is_of_thread(gauge))
			continue;
		if (shown == THREADS_SHOWN) {
			left++;
			continue;
		}
		if (!shown++)
			fprintf(out, "\n  %-10s %-9s %12s %10s %12s %12s  %s\n", "Disk", "",
				"Bytes", "Requests", "Average", "Longest", "Thread");
		put_thread(gauge, out);
	}
	if (left)
		fprintf(out, "  and %zu more\n", left);
}

static void put_text(const struct machine *machine, const struct film *film, FILE *out)
{
	char seconds[32];

	words_value(seconds, sizeof(seconds), "ns", machine->to - machine->from);
	fputs("machine ", out);
	text_print_safe(out, film->info.hostname);
	fprintf(out, ", %u CPUs, %s\n", film->info.cpus, seconds);
	fprintf(out, "  %-30s %14s %14s %14s %14s\n", "Gauge", "Average", "Least", "Most", "Last");
	vec_foreach (&machine->all, gauge)
		if (!is_of_thread(gauge))
			put_gauge(gauge, out);
	put_threads(machine, out);
	vec_foreach (&machine->notes, note) {
		fputs("  note: ", out);
		text_print_safe(out, *note);
		fputc('\n', out);
	}
}

int show_machine(struct film *film, const struct question *q, const struct show_options *options,
		 FILE *out, uint64_t *rows, struct fail *why)
{
	struct machine machine;
	int err = read_machine(film, q, &machine, why);

	(void)options;
	*rows = machine.all.count;
	if (!err && *rows)
		put_text(&machine, film, out);
	machine_free(&machine);
	return err;
}

int show_machine_part(struct film *film, const struct question *q, FILE *out, struct fail *why)
{
	struct machine machine;
	int err = read_machine(film, q, &machine, why);

	if (!err && machine.all.count) {
		fputc('\n', out);
		put_text(&machine, film, out);
	}
	machine_free(&machine);
	return err;
}

static void put_steps(struct json *j, const struct machine *machine,
		      const struct machine_gauge *gauge)
{
	double value;

	json_open(j, "values", '[');
	for (size_t i = 0; i < machine->steps; i++) {
		if (machine_step(gauge, i, &value))
			json_double(j, NULL, value);
		else
			json_null(j, NULL);
	}
	json_close(j, ']');
}

static void put_json_gauge(struct json *j, const struct machine *machine,
			   const struct machine_gauge *gauge, bool has_steps)
{
	json_open(j, NULL, '{');
	json_text(j, "group", gauge->type->group);
	json_text(j, "name", gauge->type->name);
	json_text(j, "title", gauge->type->title);
	json_text(j, "unit", gauge->type->unit);
	json_bool(j, "level", gauge->type->is_level);
	json_text(j, "object", gauge->object);
	json_text(j, "host", gauge->host);
	json_double(j, "average", gauge->average);
	json_double(j, "least", gauge->least);
	json_double(j, "most", gauge->most);
	json_double(j, "last", gauge->last);
	json_u64(j, "total", gauge->total);
	json_text(j, "counted", gauge->type->count ? gauge->type->count : "");
	json_u64(j, "count", gauge->count);
	json_u64(j, "time", gauge->time);
	json_u64(j, "longest", gauge->longest);
	if (has_steps)
		put_steps(j, machine, gauge);
	json_close(j, '}');
}

static void put_json_thread(struct json *j, const struct machine_gauge *gauge)
{
	json_open(j, NULL, '{');
	json_text(j, "object", gauge->object);
	json_text(j, "host", gauge->host);
	json_bool(j, "write", gauge->kind == FILM_GAUGE_DISK_WRITE_BY);
	json_u64(j, "pid", gauge->pid);
	json_u64(j, "tid", gauge->tid);
	json_text(j, "comm", gauge->comm ? gauge->comm : "");
	json_u64(j, "bytes", gauge->total);
	json_u64(j, "count", gauge->count);
	json_u64(j, "time", gauge->time);
	json_u64(j, "longest", gauge->longest);
	json_close(j, '}');
}

void json_put_machine(struct json *j, const struct machine *machine, bool has_steps)
{
	json_open(j, "gauges", '[');
	vec_foreach (&machine->all, gauge)
		if (!is_of_thread(gauge))
			put_json_gauge(j, machine, gauge, has_steps);
	json_close(j, ']');
	json_open(j, "threads", '[');
	vec_foreach (&machine->all, gauge)
		if (is_of_thread(gauge))
			put_json_thread(j, gauge);
	json_close(j, ']');
	json_open(j, "notes", '[');
	vec_foreach (&machine->notes, note)
		json_text(j, NULL, *note);
	json_close(j, ']');
}

int json_put_machine_of(struct json *j, struct film *film, const struct question *q,
			struct fail *why)
{
	struct machine machine;
	int err = read_machine(film, q, &machine, why);

	if (!err && machine.all.count) {
		json_open(j, "machine", '{');
		json_put_machine(j, &machine, false);
		json_close(j, '}');
	} else {
		json_null(j, "machine");
	}
	machine_free(&machine);
	return err;
}

int show_machine_json(struct film *film, const struct question *q,
		      const struct show_options *options, FILE *out, uint64_t *rows,
		      struct fail *why)
{
	uint64_t offset = (uint64_t)film->info.wall_offset;
	struct json j = {.out = out};
	struct view_reasons losses = {0};
	struct machine machine;
	int err = read_machine(film, q, &machine, why);

	(void)options;
	*rows = machine.all.count;
	if (!err)
		err = view_count_losses(&losses, film, machine_event(film), 0);
	if (err == -ENOMEM)
		fail_errno(why, err, NULL, "cannot tell what the machine did");
	if (!err && *rows) {
		json_open(&j, NULL, '{');
		json_put_film(&j, film, machine.from - offset, machine.to - offset);
		json_put_reasons(&j, "loss", &losses);
		json_put_machine(&j, &machine, false);
		json_close(&j, '}');
		fputc('\n', out);
	}
	view_free_reasons(&losses);
	machine_free(&machine);
	return err;
}
