// SPDX-License-Identifier: Apache-2.0
#include "cmd/verb.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/vec.h"
#include "film/reader.h"
#include "film/writer.h"
#include "symbol/cubin/names.h"
#include "symbol/symbols.h"

enum {
	OPTION_DEBUG_DIR = 1,
	OPTION_CUBIN,
	OPTION_NO_DEBUGINFOD,
	OPTION_LINES,
	OPTION_INLINES,
	OPTION_FORCE
};

static const struct option long_options[] = {
	{"debug-dir", required_argument, NULL, OPTION_DEBUG_DIR},
	{"cubin", required_argument, NULL, OPTION_CUBIN},
	{"no-debuginfod", no_argument, NULL, OPTION_NO_DEBUGINFOD},
	{"lines", no_argument, NULL, OPTION_LINES},
	{"inlines", no_argument, NULL, OPTION_INLINES},
	{"force", no_argument, NULL, OPTION_FORCE},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static const char help[] =
	"usage: stackcam resolve [OPTION…] [FILM]\n\n"
	"Names the frames of a film (default: stackcam.film) that had no name when it was "
	"recorded,\n"
	"from the programs on this machine, their debug files, or the servers of DEBUGINFOD_URLS.\n"
	"A file is used only if its build id is the one in the film.\n\n"
	"      --debug-dir DIR   look for debug files in DIR, too, before /usr/lib/debug; may be\n"
	"                        given several times\n"
	"      --cubin FILE      take source lines of a GPU's code from FILE, which was compiled\n"
	"                        with -lineinfo; may be given several times\n"
	"      --no-debuginfod   ask no server\n"
	"      --lines           source files and lines, also for frames that have a name\n"
	"      --inlines         and the functions that were inlined there\n"
	"      --force           believe a path when the film knows no build id of the file\n"
	"  -h, --help            this text\n\n"
	"Examples:\n"
	"  stackcam resolve                           with what is installed here\n"
	"  stackcam resolve --lines --inlines x.film\n"
	"  stackcam resolve --debug-dir ~/builds/debug x.film\n"
	"  stackcam resolve --cubin kernels.cubin x.film\n"
	"  DEBUGINFOD_URLS=https://debuginfod.example.org stackcam resolve x.film\n";

struct arguments {
	vec(const char *) directories; /* ends with null once parsed */
	vec(const char *) cubins;
	struct symbol_options symbols;
	const char *film;
	bool force, help;
};

/* A frame that shall be named, and where its image stands. */
struct wanted {
	uint32_t image, frame;
};

/* What frames lacked, and what they got. */
struct lack {
	size_t names, named;
	size_t lines, placed; /* only where source lines were asked for */
};

struct naming {
	const struct arguments *arguments;
	struct film *film;
	struct film_writer *writer;
	struct symbols *symbols;
	vec(struct cubin_loaded *) cubins;
	vec(struct wanted) wanted; /* sorted by image */
	const struct wanted *part; /* those of the image that is asked about */
	uint64_t *starts;	   /* of their functions, of those without a name; 0: not known */
	struct lack of_all, of_part;
	bool another_build; /* stood where a file was looked for */
};

/* Returns 0 or an exit status. */
static int parse(struct arguments *a, int argc, char **argv)
{
	int option;
	bool room = true;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", long_options, NULL)) != -1) {
		switch (option) {
		case OPTION_DEBUG_DIR:
			room = vec_push(&a->directories, optarg);
			break;
		case OPTION_CUBIN:
			room = vec_push(&a->cubins, optarg);
			a->symbols.lines = a->symbols.inlines = true;
			break;
		case OPTION_NO_DEBUGINFOD:
			a->symbols.debuginfod = false;
			break;
		case OPTION_INLINES:
			a->symbols.inlines = true;
			/* fall through */
		case OPTION_LINES:
			a->symbols.lines = true;
			break;
		case OPTION_FORCE:
			a->force = true;
			break;
		case 'h':
			a->help = true;
			break;
		default:
			return cmd_usage_option("resolve", argv, long_options);
		}
	}
	if (optind + 1 < argc)
		return cmd_usage("resolve", "one film at a time; '%s' is too many",
				 argv[optind + 1]);
	if (optind < argc)
		a->film = argv[optind];
	if (!room || !vec_push(&a->directories, "/usr/lib/debug") ||
	    !vec_push(&a->directories, NULL)) {
		fputs("stackcam: out of memory\n", stderr);
		return EXIT_FAILURE;
	}
	a->symbols.debug_directories = a->directories.at;
	a->symbols.thorough = true;
	return 0;
}

static bool is_wanted(const struct naming *n, uint32_t id)
{
	const struct film_frame *f = &n->film->frames[id];
	const struct symbol_options *options = &n->arguments->symbols;
	size_t inlined;

	if (f->kind == FILM_FRAME_DEVICE)
		return options->lines && f->image && !f->file[0];
	if (f->kind != FILM_FRAME_NATIVE || !f->image)
		return false;
	if (!f->function || (options->lines && !f->file[0]))
		return true;
	film_inlines_of(n->film, id, &inlined);
	return options->inlines && !inlined;
}

static int compare_wanted(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	return x->frame < y->frame ? -1 : x->frame > y->frame;
}

static bool find_wanted(struct naming *n)
{
	for (uint32_t id = 1; id < n->film->frame_count; id++) {
		if (!is_wanted(n, id))
			continue;
		if (!vec_push(&n->wanted, (struct wanted){n->film->frames[id].image, id}))
			return false;
	}
	if (n->wanted.count)
		qsort(n->wanted.at, n->wanted.count, sizeof(*n->wanted.at), compare_wanted);
	return true;
}

static void add_names(void *context, size_t index, const struct symbol_name *names, size_t count)
{
	struct naming *n = context;
	uint32_t id = n->part[index].frame;
	const struct film_frame *frame = &n->film->frames[id];
	struct film_name *film_names;

	n->starts[index] = 0;
	/* a name that it has already is not worth a new row */
	if (frame->function && !names[0].file && count == 1)
		return;
	film_names = calloc(count, sizeof(*film_names));
	if (!film_names)
		return;
	for (size_t i = 0; i < count; i++)
		film_names[i] = (struct film_name){names[i].function, names[i].file, names[i].line};
	film_name_frame(n->writer, id, film_names, count);
	free(film_names);
	n->of_part.named += !frame->function;
	n->of_part.placed += !frame->file[0] && names[0].file;
}

/* One line about an image some frames of which keep lacking something. */
static void report(const struct film_image *image, const struct lack *lack, const char *missing)
{
	size_t names = lack->names - lack->named, lines = lack->lines - lack->placed;
	char number[32], build_id[2 * FILM_BUILD_ID_MAX + 1];

	fputs("  ", stderr);
	text_print_safe(stderr, image->path[0] ? image->path : "[image without a name]");
	if (image->build_id_size) {
		fprintf(stderr, " (build id %s)",
			text_hex(build_id, sizeof(build_id), image->build_id,
				 image->build_id_size));
	}
	fputs(": ", stderr);
	if (names) {
		text_count(number, sizeof(number), names);
		fprintf(stderr, "%s frame%s without a name", number, text_plural(names));
	}
	if (lines) {
		text_count(number, sizeof(number), lines);
		fprintf(stderr, "%s%s frame%s without a source line", names ? ", " : "", number,
			text_plural(lines));
	}
	fputs(": ", stderr);
	text_print_safe(stderr, missing[0] ? missing : "no symbol is there");
	fputc('\n', stderr);
}

/* Code of a GPU: the files that were given are all there is. */
static void ask_cubins(struct naming *n, const uint64_t *addresses, size_t count, struct fail *why)
{
	const struct film *film = n->film;
	const struct film_image *image = &film->images[n->part->image];
	const struct cubin_loaded *found = NULL;
	struct cubin_names names;

	vec_foreach (&n->cubins, loaded)
		if (image->build_id_size == CUBIN_BUILD_ID &&
		    !memcmp((*loaded)->cubin.build_id, image->build_id, CUBIN_BUILD_ID))
			found = *loaded;
	fail(why, 0, NULL, "%s",
	     found ? "the file of --cubin with that code has no line there"
		   : "give --cubin with the same code, compiled with -lineinfo");
	for (size_t i = 0; found && i < count; i++) {
		const struct film_frame *frame = &film->frames[n->part[i].frame];

		if (cubin_names_find(&names, &found->lines, &found->cubin, addresses[i],
				     film->functions[frame->function].name))
			add_names(n, i, names.at, names.count);
		cubin_names_free(&names);
	}
}

/* Asks about one image; returns 0 or a negative errno. *why: what is missing, or what failed. */
static int ask_image(struct naming *n, const uint64_t *addresses, size_t count, struct fail *why)
{
	const struct film_image *image = &n->film->images[n->part->image];
	struct symbol_image asked = {
		.fd = -1,
		.path = image->path,
		.root = "",
		.build_id = image->build_id,
		.build_id_size = image->build_id_size,
	};
	int err;

	if (image->kind == FILM_IMAGE_DEVICE) {
		ask_cubins(n, addresses, count, why);
		return 0;
	}
	if (image->path[0] == '/' && (image->build_id_size || n->arguments->force))
		asked.fd =
			symbol_image_open("", image->path, image->build_id, image->build_id_size);
	if (!image->build_id_size && asked.fd < 0)
		return fail(why, 0, NULL,
			    "it has no build id that a file could be known by; --force uses the "
			    "file of that path");
	err = symbols_of_image(n->symbols, &asked, addresses, count, add_names, n, why);
	if (!err)
		fail(why, 0, NULL, "%s",
		     asked.fd == -ESTALE ? "the file at that path is another build, with another "
					   "build id, and no debug file was found"
					 : symbols_missing(n->symbols));
	n->another_build |= asked.fd == -ESTALE;
	if (!err)
		err = symbols_of_starts(n->symbols, &asked, addresses, n->starts, count, add_names,
					n, NULL);
	if (asked.fd >= 0)
		close(asked.fd);
	return err;
}

/* Names what can be named of one image. Returns 0 or a negative errno with *why filled. */
static int name_image(struct naming *n, size_t count, struct fail *why)
{
	uint64_t *addresses = calloc(2 * count, sizeof(*addresses));
	struct lack *lack = &n->of_part;
	struct fail missing = {0};
	int err;

	if (!addresses)
		return fail_errno(why, -ENOMEM, NULL, "cannot name frames");
	n->starts = addresses + count;
	*lack = (struct lack){0};
	for (size_t i = 0; i < count; i++) {
		const struct film_frame *frame = &n->film->frames[n->part[i].frame];

		addresses[i] = frame->address;
		/* where decoding has found a start, it is a guess */
		if (strcmp(frame->file, FILM_START_DECODED) != 0)
			n->starts[i] = frame->function ? 0 : frame->start;
		lack->names += !frame->function;
		lack->lines += n->arguments->symbols.lines && !frame->file[0];
	}
	err = ask_image(n, addresses, count, &missing);
	free(addresses);
	n->of_all.names += lack->names;
	n->of_all.named += lack->named;
	n->of_all.lines += lack->lines;
	n->of_all.placed += lack->placed;
	if (lack->named < lack->names || lack->placed < lack->lines)
		report(&n->film->images[n->part->image], lack, missing.what);
	/* another image may have better files */
	return err == -ENOMEM ? fail_errno(why, err, NULL, "cannot name frames") : 0;
}

static int name_all(struct naming *n, struct fail *why)
{
	size_t end;
	int err = 0;

	for (size_t i = 0; i < n->wanted.count && !err; i = end) {
		end = i + 1;
		while (end < n->wanted.count && n->wanted.at[end].image == n->wanted.at[i].image)
			end++;
		n->part = &n->wanted.at[i];
		err = name_image(n, end - i, why);
	}
	return err;
}

/* What no file can tell: these addresses meant something only while the film was recorded. */
static void report_the_rest(const struct film *film)
{
	size_t kernel = 0, jit = 0;

	for (uint32_t id = 1; id < film->frame_count; id++) {
		if (film->frames[id].function)
			continue;
		kernel += film->frames[id].kind == FILM_FRAME_KERNEL;
		jit += film->frames[id].kind == FILM_FRAME_JIT;
	}
	if (kernel)
		fprintf(stderr, "  %zu frame%s of the kernel can be named only while recording\n",
			kernel, text_plural(kernel));
	if (jit)
		fprintf(stderr, "  %zu frame%s of JIT code can be named only while recording\n",
			jit, text_plural(jit));
}

static void print_result(const struct naming *n)
{
	const struct lack *all = &n->of_all;
	char named[32], of[32];

	text_count(named, sizeof(named), all->named);
	text_count(of, sizeof(of), all->names);
	fprintf(stderr, "named %s of %s frames without a name", named, of);
	if (n->arguments->symbols.lines) {
		text_count(named, sizeof(named), all->placed);
		text_count(of, sizeof(of), all->lines);
		fprintf(stderr, ", placed %s of %s without a source line", named, of);
	}
	fputc('\n', stderr);
	if (all->named == all->names && all->placed == all->lines)
		return;
	fputs("install debug files (packages that end in -dbgsym or -debuginfo), give "
	      "--debug-dir, or set DEBUGINFOD_URLS\n",
	      stderr);
	if (n->another_build)
		fputs("a program that was built anew since it was filmed needs the debug files of "
		      "its "
		      "old build, or a new film\n",
		      stderr);
}

static int load_cubins(struct naming *n, struct fail *why)
{
	struct cubin_loaded *loaded;

	vec_foreach (&n->arguments->cubins, path) {
		int err = cubin_load(&loaded, *path, why);

		if (err)
			return err;
		if (!vec_push(&n->cubins, loaded)) {
			cubin_unload(loaded);
			return fail_errno(why, -ENOMEM, NULL, "cannot read '%s'", *path);
		}
	}
	return 0;
}

static int run(const struct arguments *a, struct fail *why)
{
	struct naming n = {.arguments = a};
	int err = film_open(a->film, &n.film, why), closed;

	if (err)
		return err;
	err = load_cubins(&n, why);
	if (!err && (!find_wanted(&n) || symbols_new(&a->symbols, &n.symbols)))
		err = fail_errno(why, -ENOMEM, NULL, "cannot name frames of '%s'", a->film);
	if (!err && n.wanted.count) {
		err = film_open_for_naming(a->film, &n.writer, why);
		if (!err) {
			err = name_all(&n, why);
			closed = film_close(n.writer, n.film->info.end, err ? NULL : why);
			if (!err)
				err = closed;
		}
	}
	if (!err) {
		report_the_rest(n.film);
		print_result(&n);
	}
	symbols_free(n.symbols);
	vec_foreach (&n.cubins, loaded)
		cubin_unload(*loaded);
	vec_free(&n.cubins);
	vec_free(&n.wanted);
	film_free(n.film);
	return err;
}

int cmd_resolve(int argc, char **argv)
{
	struct arguments a = {.film = "stackcam.film", .symbols.debuginfod = true};
	struct fail why = {0};
	int status = parse(&a, argc, argv);

	if (!status && a.help) {
		fputs(help, stdout);
	} else if (!status && run(&a, &why)) {
		fail_print(&why);
		status = fail_exit_status(&why);
	}
	vec_free(&a.directories);
	vec_free(&a.cubins);
	return status;
}
