// SPDX-License-Identifier: Apache-2.0
#include "sources/machine/read.h"

#include <stddef.h>
#include <string.h>

#include "base/text.h"

#define KIB		 1024u
#define SECTOR		 512u /* of diskstats, also where the disk has others */
#define MICROSECOND_NS	 1000u
#define MILLISECOND_NS	 1000000u
#define DISKSTATS_FIELDS 17 /* the numbers behind a device's name, as of Linux 5.5 */

#define COUNT_OF(table)	 (sizeof(table) / sizeof((table)[0]))

/* The line at *text, without its end, and moves *text behind it; null: there is none left. */
static char *next_line(char **text)
{
	char *line = *text, *end = strchr(line, '\n');

	if (!*line)
		return NULL;
	*text = end ? end + 1 : line + strlen(line);
	if (end)
		*end = 0;
	return line;
}

/* The same of a word, which blanks and colons end; "": there is none left. */
static char *next_word(char **line)
{
	static const char between[] = " \t:";
	char *word = *line + strspn(*line, between);
	char *end = word + strcspn(word, between);

	*line = *end ? end + 1 : end;
	*end = 0;
	return word;
}

/* False: it is not a number. */
static bool next_number(char **line, uint64_t *number)
{
	return !text_parse_u64(next_word(line), 0, UINT64_MAX, number);
}

static void emit_value(const struct machine_to *to, enum film_gauge_kind kind, const char *object,
		       uint64_t value)
{
	to->emit(to->context,
		 &(struct machine_value){.kind = kind, .object = object, .value = value});
}

/* As many of the numbers of a line as it has, at most count. */
static size_t parse_numbers(char *line, uint64_t *numbers, size_t count)
{
	size_t n = 0;

	while (n < count && next_number(&line, &numbers[n]))
		n++;
	return n;
}

/* -- CPUs -------------------------------------------------------------------------------------- */

static void parse_cpus(char *line, uint64_t tick, const struct machine_to *to)
{
	enum {
		USER,
		NICE,
		SYSTEM,
		IDLE,
		IOWAIT,
		IRQ,
		SOFTIRQ,
		STEAL,
		FIELDS
	};
	uint64_t ticks[FIELDS];

	if (parse_numbers(line, ticks, FIELDS) < FIELDS)
		return;
	emit_value(to, FILM_GAUGE_CPU_USER, "", (ticks[USER] + ticks[NICE]) * tick);
	emit_value(to, FILM_GAUGE_CPU_SYSTEM, "", ticks[SYSTEM] * tick);
	emit_value(to, FILM_GAUGE_CPU_INTERRUPTS, "", (ticks[IRQ] + ticks[SOFTIRQ]) * tick);
	emit_value(to, FILM_GAUGE_CPU_STOLEN, "", ticks[STEAL] * tick);
	emit_value(to, FILM_GAUGE_CPU_DISK, "", ticks[IOWAIT] * tick);
	emit_value(to, FILM_GAUGE_CPU_IDLE, "", ticks[IDLE] * tick);
}

void machine_parse_stat(char *text, uint64_t tick, const struct machine_to *to)
{
	uint64_t number;
	char *line;

	while ((line = next_line(&text))) {
		const char *name = next_word(&line);

		if (!strcmp(name, "cpu")) {
			parse_cpus(line, tick, to);
		} else if (!strcmp(name, "procs_running") && next_number(&line, &number)) {
			/* the thread that reads this runs, too */
			emit_value(to, FILM_GAUGE_RUNNABLE, "", number ? number - 1 : 0);
		} else if (!strcmp(name, "procs_blocked") && next_number(&line, &number)) {
			emit_value(to, FILM_GAUGE_BLOCKED, "", number);
		}
	}
}

/* -- disks ------------------------------------------------------------------------------------- */

/* Documentation/admin-guide/iostats.rst */
static void parse_disk(const char *name, char *line, const struct machine_to *to)
{
	enum {
		READS,
		READS_MERGED,
		READ_SECTORS,
		READ_MS,
		WRITES,
		WRITES_MERGED,
		WRITTEN_SECTORS,
		WRITE_MS,
		IN_FLIGHT,
		BUSY_MS,
		LEAST
	};
	uint64_t n[DISKSTATS_FIELDS] = {0};

	if (parse_numbers(line, n, DISKSTATS_FIELDS) < LEAST)
		return;
	to->emit(to->context, &(struct machine_value){
				      .kind = FILM_GAUGE_DISK_READ,
				      .object = name,
				      .value = n[READ_SECTORS] * SECTOR,
				      .count = n[READS],
				      .time = n[READ_MS] * MILLISECOND_NS,
			      });
	to->emit(to->context, &(struct machine_value){
				      .kind = FILM_GAUGE_DISK_WRITE,
				      .object = name,
				      .value = n[WRITTEN_SECTORS] * SECTOR,
				      .count = n[WRITES],
				      .time = n[WRITE_MS] * MILLISECOND_NS,
			      });
	emit_value(to, FILM_GAUGE_DISK_QUEUE, name, n[IN_FLIGHT]);
	emit_value(to, FILM_GAUGE_DISK_BUSY, name, n[BUSY_MS] * MILLISECOND_NS);
}

void machine_parse_diskstats(char *text, bool (*is_disk)(void *context, const char *name),
			     const struct machine_to *to)
{
	uint64_t number;
	char *line;

	while ((line = next_line(&text))) {
		const char *name;

		if (!next_number(&line, &number) || !next_number(&line, &number))
			continue;
		name = next_word(&line);
		if (*name && is_disk(to->context, name))
			parse_disk(name, line, to);
	}
}

/* -- network ----------------------------------------------------------------------------------- */

void machine_parse_interfaces(char *text, const struct machine_to *to)
{
	enum {
		RECEIVED,
		PACKETS_RECEIVED,
		SENT = 8,
		PACKETS_SENT,
		FIELDS
	};
	uint64_t n[FIELDS];
	char *line;

	while ((line = next_line(&text))) {
		/* a name may have a colon; what follows it has none */
		char *colon = strrchr(line, ':');
		const char *name = line + strspn(line, " ");

		/* the two lines of the heading have none */
		if (!colon)
			continue;
		*colon = 0;
		if (parse_numbers(colon + 1, n, FIELDS) < FIELDS)
			continue;
		to->emit(to->context, &(struct machine_value){
					      .kind = FILM_GAUGE_NET_RECEIVED,
					      .object = name,
					      .value = n[RECEIVED],
					      .count = n[PACKETS_RECEIVED],
				      });
		to->emit(to->context, &(struct machine_value){
					      .kind = FILM_GAUGE_NET_SENT,
					      .object = name,
					      .value = n[SENT],
					      .count = n[PACKETS_SENT],
				      });
	}
}

/* The number in a line of values that stands where a line of names has that one. */
static bool find_named(char *names, char *values, const char *wanted, uint64_t *number)
{
	const char *name;

	while (*(name = next_word(&names))) {
		bool is_number = next_number(&values, number);

		if (!strcmp(name, wanted))
			return is_number;
	}
	return false;
}

#define TCP_LINE 1024

void machine_parse_snmp(char *text, const struct machine_to *to)
{
	struct machine_value value = {.kind = FILM_GAUGE_NET_RETRANSMITS, .object = ""};
	char names[2][TCP_LINE], values[2][TCP_LINE], *line;
	unsigned int lines = 0;

	/* a line of names, then one of values */
	while (lines < 2 && (line = next_line(&text))) {
		if (strncmp(line, "Tcp:", 4) || strlen(line) >= TCP_LINE)
			continue;
		for (int i = 0; i < 2; i++)
			strcpy(lines ? values[i] : names[i], line + 4);
		lines++;
	}
	if (lines == 2 && find_named(names[0], values[0], "RetransSegs", &value.value) &&
	    find_named(names[1], values[1], "OutSegs", &value.count))
		to->emit(to->context, &value);
}

/* -- memory ------------------------------------------------------------------------------------ */

/* A line of a file that has a name and a number in each. */
struct named {
	const char *name;
	enum film_gauge_kind kind;
	uint64_t unit;
};

/* Several lines may be of one kind: their sum is given. */
static void parse_named(char *text, const struct named *all, size_t count,
			const struct machine_to *to)
{
	uint64_t sums[FILM_GAUGE_KINDS] = {0}, number;
	bool has[FILM_GAUGE_KINDS] = {0};
	char *line;

	while ((line = next_line(&text))) {
		const char *name = next_word(&line);

		for (size_t i = 0; i < count; i++) {
			/* of more than a hundred lines, most differ in their first letters */
			if (*name != *all[i].name || strcmp(name, all[i].name) ||
			    !next_number(&line, &number))
				continue;
			sums[all[i].kind] += number * all[i].unit;
			has[all[i].kind] = true;
		}
	}
	for (unsigned int kind = 0; kind < FILM_GAUGE_KINDS; kind++)
		if (has[kind])
			emit_value(to, (enum film_gauge_kind)kind, "", sums[kind]);
}

void machine_parse_meminfo(char *text, const struct machine_to *to)
{
	static const struct named wanted[] = {
		{"MemAvailable", FILM_GAUGE_MEMORY_AVAILABLE, KIB},
		{"MemFree", FILM_GAUGE_MEMORY_FREE, KIB},
		{"Cached", FILM_GAUGE_MEMORY_FILES, KIB},
		{"Buffers", FILM_GAUGE_MEMORY_FILES, KIB},
	};

	parse_named(text, wanted, COUNT_OF(wanted), to);
}

void machine_parse_vmstat(char *text, uint64_t page, const struct machine_to *to)
{
	const struct named wanted[] = {
		{"pgsteal_kswapd", FILM_GAUGE_MEMORY_RECLAIMED, page},
		{"pgsteal_direct", FILM_GAUGE_MEMORY_RECLAIMED, page},
		{"pgsteal_khugepaged", FILM_GAUGE_MEMORY_RECLAIMED, page},
		{"pgsteal_proactive", FILM_GAUGE_MEMORY_RECLAIMED, page},
		{"pswpin", FILM_GAUGE_SWAPPED_IN, page},
		{"pswpout", FILM_GAUGE_SWAPPED_OUT, page},
		{"allocstall_dma", FILM_GAUGE_MEMORY_DIRECT, 1},
		{"allocstall_dma32", FILM_GAUGE_MEMORY_DIRECT, 1},
		{"allocstall_normal", FILM_GAUGE_MEMORY_DIRECT, 1},
		{"allocstall_movable", FILM_GAUGE_MEMORY_DIRECT, 1},
		{"allocstall_device", FILM_GAUGE_MEMORY_DIRECT, 1},
		{"pgmajfault", FILM_GAUGE_MAJOR_FAULTS, 1},
	};

	parse_named(text, wanted, COUNT_OF(wanted), to);
}

/* Documentation/accounting/psi.rst: "some avg10=0.00 avg60=0.00 avg300=0.00 total=0" */
void machine_parse_pressure(char *text, enum film_gauge_kind some, enum film_gauge_kind all,
			    const struct machine_to *to)
{
	uint64_t number;
	char *line;

	while ((line = next_line(&text))) {
		const char *total = strstr(line, "total=");
		enum film_gauge_kind kind = !strncmp(line, "some ", 5)	 ? some
					    : !strncmp(line, "full ", 5) ? all
									 : FILM_GAUGE_NOTE;

		if (kind != FILM_GAUGE_NOTE && total &&
		    !text_parse_u64(total + strlen("total="), 0, UINT64_MAX, &number))
			emit_value(to, kind, "", number * MICROSECOND_NS);
	}
}
