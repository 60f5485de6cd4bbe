// SPDX-License-Identifier: Apache-2.0
#include "cmd/verb.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/text.h"
#include "camera/camera.h"
#include "camera/session.h"

struct record_options {
	struct camera_options camera;
	struct selection selection;
	double seconds;
	const char *film;
	bool quiet;
};

static const char help[] =
	"usage: stackcam record [OPTION…] [-- COMMAND ARG…]\n"
	"\n"
	"Films where processes spend CPU time, until the command ends, the time is over, or "
	"Ctrl-C.\n"
	"\n"
	"What to film (the whole machine when nothing is named):\n"
	"  -a, --all               the whole machine, also while a command runs\n"
	"  -p, --pid PID[,PID…]    these processes, their threads and new children\n"
	"  -t, --tid TID[,TID…]    these threads only\n"
	"  -n, --name GLOB         processes of this name, e.g. 'nginx*'; may be repeated\n"
	"      --cgroup PATH       processes of this control group; may be repeated\n"
	"      --no-children       not the children that they start from now on\n"
	"\n"
	"How:\n"
	"  -e, --event EVENT       what to film: on-cpu (default)\n"
	"  -F, --frequency HZ      samples per second and CPU, 1 to 10000 (default 99)\n"
	"  -d, --duration SECONDS  end after this time; 500ms and 5m are understood too\n"
	"  -o, --output FILM       the film (default stackcam.film)\n"
	"      --kernel-only       only time in the kernel, only kernel frames\n"
	"      --user-only         only time in user code, only user frames\n"
	"      --lines             look up source lines (slower end; 'stackcam resolve' can do it "
	"later)\n"
	"      --inlines           and inlined functions\n"
	"  -q, --quiet             say nothing but errors\n"
	"  -h, --help              this text\n"
	"\n"
	"Examples:\n"
	"  stackcam record -d 10                          the whole machine for 10 s\n"
	"  stackcam record -p 1234 -o db.film             one process until Ctrl-C\n"
	"  stackcam record -F 999 -- ./work --fast        a command and its children\n";

enum {
	OPT_CGROUP = 256,
	OPT_NO_CHILDREN,
	OPT_KERNEL_ONLY,
	OPT_USER_ONLY,
	OPT_LINES,
	OPT_INLINES
};

static const struct option long_options[] = {
	{"all", no_argument, NULL, 'a'},
	{"pid", required_argument, NULL, 'p'},
	{"tid", required_argument, NULL, 't'},
	{"name", required_argument, NULL, 'n'},
	{"cgroup", required_argument, NULL, OPT_CGROUP},
	{"no-children", no_argument, NULL, OPT_NO_CHILDREN},
	{"event", required_argument, NULL, 'e'},
	{"frequency", required_argument, NULL, 'F'},
	{"duration", required_argument, NULL, 'd'},
	{"output", required_argument, NULL, 'o'},
	{"kernel-only", no_argument, NULL, OPT_KERNEL_ONLY},
	{"user-only", no_argument, NULL, OPT_USER_ONLY},
	{"lines", no_argument, NULL, OPT_LINES},
	{"inlines", no_argument, NULL, OPT_INLINES},
	{"quiet", no_argument, NULL, 'q'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

/* "10", "2.5s", "500ms", "5m" */
static int parse_seconds(const char *s, double *seconds)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"h", 3600}};
	char *end;
	size_t i;

	*seconds = strtod(s, &end);
	for (i = 0; i < sizeof(units) / sizeof(units[0]) && strcmp(end, units[i].name); i++)
		;
	if (end == s || i == sizeof(units) / sizeof(units[0]))
		return -EINVAL;
	*seconds *= units[i].seconds;
	return !(*seconds > 0) || *seconds > 1e9 ? -EINVAL : 0;
}

/* Takes one option. Returns 0, or an exit status with all said. */
static int take_option(int option, char **argv, struct record_options *o)
{
	struct fail why = {0};
	uint64_t frequency;
	int err = 0;

	switch (option) {
	case 'a':
		o->selection.whole_machine = true;
		break;
	case 'p':
		err = selection_add_pids(&o->selection, optarg, &why);
		break;
	case 't':
		err = selection_add_tids(&o->selection, optarg, &why);
		break;
	case 'n':
		err = selection_add_name(&o->selection, optarg, &why);
		break;
	case OPT_CGROUP:
		err = selection_add_cgroup(&o->selection, optarg, &why);
		break;
	case OPT_NO_CHILDREN:
		o->selection.no_children = true;
		break;
	case 'e':
		if (strcmp(optarg, "on-cpu"))
			return cmd_usage("record", "there is no event '%s'; there is: on-cpu",
					 optarg);
		break;
	case 'F':
		if (text_parse_u64(optarg, 1, 10000, &frequency))
			return cmd_usage("record", "-F takes a number from 1 to 10000, not '%s'",
					 optarg);
		o->camera.frequency = (unsigned int)frequency;
		break;
	case 'd':
		if (parse_seconds(optarg, &o->seconds))
			return cmd_usage("record",
					 "-d takes a time such as 10, 500ms or 5m, not '%s'",
					 optarg);
		break;
	case 'o':
		if (!strcmp(optarg, "-"))
			return cmd_usage("record", "a film is a file: -o takes its name, not '-'");
		o->film = optarg;
		break;
	case OPT_KERNEL_ONLY:
		o->camera.kernel_only = true;
		break;
	case OPT_USER_ONLY:
		o->camera.user_only = true;
		break;
	case OPT_INLINES:
		o->camera.symbols.inlines = true;
		break;
	case OPT_LINES:
		o->camera.symbols.lines = true;
		break;
	case 'q':
		o->quiet = true;
		break;
	default:
		return cmd_usage_option("record", argv, long_options);
	}
	if (!err)
		return 0;
	fail_print(&why);
	return err == -EINVAL ? EXIT_USAGE : fail_exit_status(&why);
}

static int parse(int argc, char **argv, struct record_options *o)
{
	struct fail why = {0};
	int option, status;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "+ap:t:n:e:F:d:o:qh", long_options, NULL)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			exit(0);
		}
		status = take_option(option, argv, o);
		if (status)
			return status;
	}
	if (o->camera.kernel_only && o->camera.user_only)
		return cmd_usage("record", "--kernel-only and --user-only exclude each other");
	if (optind < argc)
		o->selection.command = argv + optind;
	if (!selection_check(&o->selection, &why))
		return 0;
	fail_print(&why);
	return why.err == -EINVAL ? EXIT_USAGE : fail_exit_status(&why);
}

static int64_t wall_offset(void)
{
	struct timespec wall, mono;

	clock_gettime(CLOCK_REALTIME, &wall);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	return (wall.tv_sec - mono.tv_sec) * 1000000000ll + (wall.tv_nsec - mono.tv_nsec);
}

static int create_film(const struct record_options *o, int argc, char **argv,
		       struct film_writer **film, struct fail *why)
{
	struct buf command = {0};
	struct utsname machine;
	struct timespec now;
	struct film_info info;
	int err;

	uname(&machine);
	clock_gettime(CLOCK_MONOTONIC, &now);
	buf_put_text(&command, "stackcam");
	for (int i = 0; i < argc; i++)
		buf_printf(&command, " %s", argv[i]);
	buf_put_u8(&command, 0);
	info = (struct film_info){
		.version = STACKCAM_VERSION,
		.hostname = machine.nodename,
		.kernel = machine.release,
		.arch = machine.machine,
		.command = command.failed ? "" : (const char *)command.at,
		.cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
		.start = (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec,
		.wall_offset = wall_offset(),
	};
	err = film_create(o->film, &info, film, why);
	buf_free(&command);
	return err;
}

static double own_cpu_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void show_progress(void *context, uint64_t elapsed_ns)
{
	struct camera_statistics statistics;
	double seconds = (double)elapsed_ns / 1e9;
	char samples[32];

	camera_statistics(context, &statistics);
	text_count(samples, sizeof(samples), statistics.samples);
	fprintf(stderr, "\r\033[K%.0f s, %s samples, %llu lost, recorder at %.1f %% of one CPU",
		seconds, samples, (unsigned long long)statistics.lost,
		own_cpu_seconds() / seconds * 100);
}

static void show_end(const struct record_options *o, const struct session *session, uint64_t size)
{
	struct camera_statistics statistics;
	char samples[32], bytes[32];

	camera_statistics(session->camera, &statistics);
	text_count(samples, sizeof(samples), statistics.samples);
	text_bytes(bytes, sizeof(bytes), size);
	if (session->progress)
		fputs("\r\033[K", stderr);
	text_print_safe(stderr, o->film);
	fprintf(stderr, ": %s samples in %.1f s, %s", samples, (double)session->elapsed_ns / 1e9,
		bytes);
	if (statistics.samples)
		fprintf(stderr, ", %.1f %% of stacks complete",
			(double)statistics.complete * 100 / (double)statistics.samples);
	if (statistics.lost)
		fprintf(stderr, "; %llu samples lost", (unsigned long long)statistics.lost);
	if (statistics.other_losses)
		fprintf(stderr, "; %llu smaller losses, which the report names",
			(unsigned long long)statistics.other_losses);
	if (!statistics.lost && !statistics.other_losses)
		fputs("; nothing lost", stderr);
	if (!statistics.samples)
		fputs("; nothing that was to be filmed ran", stderr);
	fputc('\n', stderr);
}

static int run(struct record_options *o, struct camera *camera, struct film_writer *film,
	       struct command *command, struct fail *why)
{
	struct session session = {
		.camera = camera,
		.film = film,
		.seconds = o->seconds,
		.command = o->selection.command ? command : NULL,
		.argv = o->selection.command,
		.selection = &o->selection,
		.progress = !o->quiet && isatty(STDERR_FILENO) ? show_progress : NULL,
		.context = camera,
	};
	struct fail ignored;
	struct timespec now;
	uint64_t size;
	int err = session_run(&session, why), closed;

	clock_gettime(CLOCK_MONOTONIC, &now);
	/* the film is closed in any case; the first error is the one that tells why */
	closed = film_commit(film, (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec,
			     true, err ? &ignored : why);
	size = film_size(film);
	if (film_close(film, (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec,
		       err || closed ? &ignored : why) &&
	    !closed)
		closed = -EIO;
	err = err ? err : closed;
	if (!err && !o->quiet)
		show_end(o, &session, size);
	return err;
}

int cmd_record(int argc, char **argv)
{
	struct record_options o = {.camera.frequency = 99, .film = "stackcam.film"};
	struct command command = {.pidfd = -1, .go = -1, .failed = -1};
	struct film_writer *film = NULL;
	struct camera *camera = NULL;
	struct rlimit files;
	struct fail why = {0};
	int status = parse(argc, argv, &o), err;

	if (status)
		goto out;
	o.camera.selection = &o.selection;
	err = o.selection.command ? command_prepare(o.selection.command, &command, &why) : 0;
	/* one descriptor per image and ring: as many as are allowed, but not for the command */
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	if (!err)
		err = camera_new(&o.camera, &camera, &why);
	if (!err)
		err = create_film(&o, argc, argv, &film, &why);
	if (!err)
		err = run(&o, camera, film, &command, &why);
	if (err) {
		fail_print(&why);
		/* as shells say it: 127 not found, 126 found but not executable */
		status = command.exec_error == -ENOENT ? 127
			 : command.exec_error	       ? 126
						       : fail_exit_status(&why);
	}
	camera_free(camera);
	if (command.pid && command.go < 0 && !err)
		status = command_wait(&command);
	command_free(&command);
out:
	selection_free(&o.selection);
	return status;
}
