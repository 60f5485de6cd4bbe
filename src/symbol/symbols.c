// SPDX-License-Identifier: Apache-2.0
#include "symbol/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/map.h"
#include "symbol/batch.h"
#include "symbol/debug_data.h"
#include "symbol/debug_file.h"
#include "symbol/debuginfod.h"
#include "symbol/dwarf_process.h"
#include "symbol/elf_jumps.h"
#include "symbol/elf_plt.h"
#include "symbol/elf_symbols.h"
#include "symbol/go_symbols.h"
#include "symbol/open_file.h"
#include "symbol/split_files.h"

/*
 * What was found for the images of the last calls is kept, so that the next batch need not search.
 */
#define CACHE_SIZE     16
#define UNPACKED_LIMIT (32u << 20) /* bytes of .gnu_debugdata, of all together */

/*
 * Which image an entry of the cache is about. Anybody can give a file the build id of another one:
 * it does not make them the same, and what was found for one in its container not right for the
 * other.
 */
struct image_key {
	uint8_t build_id[ELF_BUILD_ID_MAX];
	size_t build_id_size;
	uint64_t root; /* hash of its path */
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec changed;
};

struct found_files {
	struct image_key key;
	uint64_t used; /* clock of the last call that used it; 0: the entry is free */
	bool searched, asked_servers;
	struct debug_file debug;
	struct fail why_not; /* there is no debug file */
	bool unpacked;
	bool too_much; /* its DWARF takes more than it may */
	bool no_jumps; /* none that names a function (elf_jumps.h) */
	uint8_t *data; /* .gnu_debugdata; null: none */
	size_t data_size;
};

struct symbols {
	struct symbol_options options;
	struct debuginfod *debuginfod;
	struct found_files cache[CACHE_SIZE];
	uint64_t clock;
	struct fail missing; /* err 0: nothing */
};

/* One call of symbols_of_image(). */
struct lookup {
	struct symbols *symbols;
	const struct symbol_image *image;
	struct elf_file main;
	bool has_main;
	struct found_files *files;
	struct batch batch;
	struct dwarf_answers dwarf;
	struct go_symbols go;
	bool is_go;
	bool starts; /* of symbols_of_starts() */
};

static const char *const usual_directories[] = {"/usr/lib/debug", NULL};

static void forget(struct found_files *files)
{
	if (files->used) {
		debug_file_close(&files->debug);
		free(files->data);
	}
	*files = (struct found_files){.debug.fd = -1};
}

int symbols_new(const struct symbol_options *options, struct symbols **symbols)
{
	struct symbols *s = calloc(1, sizeof(*s));

	*symbols = s;
	if (!s)
		return -ENOMEM;
	s->options = *options;
	if (!s->options.debug_directories)
		s->options.debug_directories = usual_directories;
	return 0;
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; i < CACHE_SIZE; i++)
		forget(&symbols->cache[i]);
	debuginfod_free(symbols->debuginfod);
	free(symbols);
}

const char *const *symbols_debug_directories(const struct symbols *symbols)
{
	return symbols->options.debug_directories;
}

struct far_files *symbols_far(const struct symbols *symbols)
{
	return symbols->options.far;
}

const char *symbols_missing(const struct symbols *symbols)
{
	return symbols->missing.what;
}

bool symbols_missing_split(const struct symbols *symbols)
{
	return symbols->missing.err == -ENOLINK;
}

int symbol_image_open(const char *root, const char *path, const uint8_t *build_id,
		      size_t build_id_size)
{
	struct elf_file file;
	struct stat st;
	int fd = open_regular(NULL, root, path, true, &st), err;

	if (fd < 0)
		return fd;
	err = elf_file_open(&file, fd);
	if (!err) {
		if (!file.has_addresses)
			err = -ENOEXEC;
		else if (build_id_size && (file.build_id_size != build_id_size ||
					   memcmp(file.build_id, build_id, build_id_size)))
			err = -ESTALE;
		elf_file_close(&file);
	}
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

static int open_main(struct lookup *l, struct fail *why)
{
	const struct symbol_image *image = l->image;
	const char *name = image->path ? image->path : "image without a name";
	int err;

	if (!image->memory && image->fd < 0)
		return 0;
	err = image->memory ? elf_file_open_memory(&l->main, image->memory, image->memory_size)
			    : elf_file_open(&l->main, image->fd);
	if (!err && !l->main.has_addresses) {
		elf_file_close(&l->main);
		err = -ENOEXEC;
	}
	if (err == -ENOEXEC)
		return fail(why, err, NULL, "%s is not an ELF file for this machine", name);
	if (err)
		return fail_errno(why, err, NULL, "%s", name);
	if (image->build_id_size && l->main.build_id_size &&
	    (image->build_id_size != l->main.build_id_size ||
	     memcmp(image->build_id, l->main.build_id, l->main.build_id_size))) {
		elf_file_close(&l->main);
		return fail(why, -ESTALE, NULL, "%s is not the file that was filmed", name);
	}
	l->has_main = true;
	return 0;
}

static void make_key(const struct lookup *l, struct image_key *key)
{
	const struct symbol_image *image = l->image;
	struct stat st;

	memset(key, 0, sizeof(*key));
	if (image->build_id_size && image->build_id_size <= sizeof(key->build_id)) {
		key->build_id_size = image->build_id_size;
		memcpy(key->build_id, image->build_id, image->build_id_size);
	} else if (l->has_main && l->main.build_id_size) {
		key->build_id_size = l->main.build_id_size;
		memcpy(key->build_id, l->main.build_id, l->main.build_id_size);
	}
	if (image->root)
		key->root = hash_bytes(image->root, strlen(image->root));
	if (image->fd >= 0 && !file_stat(image->fd, &st)) {
		key->device = st.st_dev;
		key->inode = st.st_ino;
		key->size = st.st_size;
		key->changed = st.st_ctim;
	}
}

/* The entry for this image: the one there is, or the one that was not used for longest. */
static struct found_files *find_files(struct lookup *l)
{
	struct symbols *s = l->symbols;
	struct found_files *oldest = &s->cache[0];
	struct image_key key;

	make_key(l, &key);
	s->clock++;
	for (size_t i = 0; i < CACHE_SIZE; i++) {
		struct found_files *files = &s->cache[i];

		if (files->used && (key.build_id_size || key.inode) &&
		    !memcmp(&files->key, &key, sizeof(key))) {
			files->used = s->clock;
			return files;
		}
		if (files->used < oldest->used)
			oldest = files;
	}
	forget(oldest);
	memcpy(&oldest->key, &key, sizeof(key)); /* with its padding: it is compared as bytes */
	oldest->used = s->clock;
	return oldest;
}

/* The separate debug file, from this machine or, if servers is set, from others; null: none. */
static const struct debug_file *find_debug_file(struct lookup *l, bool servers)
{
	struct found_files *files = l->files;
	struct symbols *s = l->symbols;
	const struct debug_search search = {
		.far = l->symbols->options.far,
		.main = l->has_main ? &l->main : NULL,
		.path = l->image->path,
		.root = l->image->root,
		.build_id = files->key.build_id,
		.build_id_size = files->key.build_id_size,
		.directories = s->options.debug_directories,
	};

	if (!files->searched) {
		files->searched = true;
		fail(&files->why_not, -ENOENT, NULL, "no debug file");
		debug_file_find(&search, &files->debug, &files->why_not);
	}
	if (files->debug.fd < 0 && servers && s->options.debuginfod && !files->asked_servers &&
	    files->key.build_id_size) {
		files->asked_servers = true;
		if (!s->debuginfod)
			s->debuginfod = debuginfod_new();
		if (s->debuginfod)
			debuginfod_fetch(s->debuginfod, files->key.build_id,
					 files->key.build_id_size, false, &files->debug,
					 &files->why_not);
		/* of a program that is not here, its own file is better than nothing */
		if (s->debuginfod && files->debug.fd < 0 && !l->has_main)
			debuginfod_fetch(s->debuginfod, files->key.build_id,
					 files->key.build_id_size, true, &files->debug,
					 &files->why_not);
	}
	return files->debug.fd >= 0 ? &files->debug : NULL;
}

static void make_room_for_data(struct symbols *s, const struct found_files *wanted)
{
	for (;;) {
		struct found_files *oldest = NULL;
		size_t held = wanted->data_size;

		for (size_t i = 0; i < CACHE_SIZE; i++) {
			struct found_files *files = &s->cache[i];

			if (files == wanted || !files->data)
				continue;
			held += files->data_size;
			if (!oldest || files->used < oldest->used)
				oldest = files;
		}
		if (!oldest || held <= UNPACKED_LIMIT)
			return;
		free(oldest->data);
		oldest->data = NULL;
		oldest->data_size = 0;
		oldest->unpacked = false;
	}
}

static int answer_from_debug_data(struct lookup *l, struct fail *why)
{
	struct found_files *files = l->files;
	struct elf_file data;
	int err;

	if (!files->unpacked) {
		files->unpacked = true;
		err = debug_data_unpack(&l->main, &files->data, &files->data_size);
		if (err == -ENOMEM)
			return fail_errno(why, err, NULL, "unpacking .gnu_debugdata");
		make_room_for_data(l->symbols, files);
	}
	if (!files->data || elf_file_open_memory(&data, files->data, files->data_size))
		return 0;
	err = elf_symbols_answer(&data, SHT_SYMTAB, l->starts, &l->batch, why);
	elf_file_close(&data);
	return err;
}

/* -E2BIG only makes answers worse, so that the words are kept and the next source is asked. */
static int go_on(struct lookup *l, int err, const struct fail *why)
{
	if (err == -E2BIG) {
		l->symbols->missing = *why;
		return 0;
	}
	return err < 0 ? err : 0;
}

static int answer_from_debug_file(struct lookup *l, struct fail *why)
{
	bool stripped = !l->has_main || !elf_file_section_of_type(&l->main, SHT_SYMTAB);
	const struct debug_file *debug = find_debug_file(l, stripped);
	int err;

	if (!debug) {
		if (stripped)
			fail(&l->symbols->missing, -ENOENT, NULL, "%s, and %s",
			     l->has_main ? "stripped of symbols" : "the file is not here",
			     l->files->why_not.what);
		return 0;
	}
	err = go_on(l, elf_symbols_answer(&debug->file, SHT_SYMTAB, l->starts, &l->batch, why),
		    why);
	if (!err && !l->has_main && batch_settle(&l->batch))
		err = go_on(l,
			    elf_symbols_answer(&debug->file, SHT_DYNSYM, l->starts, &l->batch, why),
			    why);
	return err;
}

/*
 * Go's own table is asked first: it knows what was inlined, and names functions as Go does. (The
 * symbol table has other names for generic ones.)
 */
static int answer_from_go(struct lookup *l)
{
	int err = go_symbols_open(&l->go, &l->main);

	l->is_go = !err;
	for (size_t i = 0; i < l->batch.count && l->is_go; i++) {
		struct question *q = &l->batch.at[i];
		struct go_place places[DWARF_PLACES_MAX];
		size_t count = go_symbols_places(&l->go, q->address, places, DWARF_PLACES_MAX);

		if (!count)
			continue;
		q->name = strdup(places[count - 1].function);
		q->go = true;
		if (!q->name)
			return -ENOMEM;
	}
	return err == -ENOMEM ? err : 0;
}

/* C code that Go's linker took in has at least its name there. */
static int answer_rest_from_go(struct lookup *l)
{
	for (size_t i = 0; i < l->batch.count && l->is_go; i++) {
		struct question *q = &l->batch.at[i];
		const char *name = q->name ? NULL : go_symbols_name(&l->go, q->address);

		if (!name)
			continue;
		q->name = strdup(name);
		if (!q->name)
			return -ENOMEM;
	}
	return 0;
}

/* What no table of symbols names may be what an exported function jumps to. */
static int answer_from_jumps(struct lookup *l)
{
	int count;

	if (!l->starts || l->files->no_jumps || !batch_settle(&l->batch))
		return 0;
	count = elf_jumps_answer(&l->main, &l->batch);
	l->files->no_jumps = count == 0;
	return count < 0 ? count : 0;
}

/* All sources of functions' names, the best first, until there is no open question. */
static int answer_functions(struct lookup *l, struct fail *why)
{
	int err = 0;

	if (l->has_main && !l->starts)
		err = answer_from_go(l);
	if (err || !batch_settle(&l->batch))
		return err;
	if (l->has_main) {
		err = go_on(l, elf_symbols_answer(&l->main, SHT_SYMTAB, l->starts, &l->batch, why),
			    why);
		if (!err && !l->starts)
			err = elf_plt_answer(&l->main, &l->batch);
	}
	if (err || !batch_settle(&l->batch))
		return err;
	err = answer_from_debug_file(l, why);
	if (err || !batch_settle(&l->batch) || !l->has_main)
		return err;
	/* these two complete each other: neither is settled before both were asked */
	err = go_on(l, answer_from_debug_data(l, why), why);
	if (!err)
		err = go_on(l, elf_symbols_answer(&l->main, SHT_DYNSYM, l->starts, &l->batch, why),
			    why);
	if (!err)
		err = answer_from_jumps(l);
	return err ? err : answer_rest_from_go(l);
}

static bool has_dwarf(const struct elf_file *f)
{
	return elf_file_section(f, ".debug_info") || elf_file_section(f, ".zdebug_info");
}

static const struct sandbox_limits recording_limits = {(size_t)96 << 20, 5};
static const struct sandbox_limits thorough_limits = {(size_t)1 << 30, 30};

static int ask_dwarf(struct lookup *l, const struct elf_file *file, const char *root,
		     const char *path, struct fail *why)
{
	const struct debug_search search = {
		.far = l->symbols->options.far,
		.main = file,
		.root = l->image->root,
		.directories = l->symbols->options.debug_directories,
	};
	uint64_t *addresses = calloc(l->batch.count + 1, sizeof(*addresses));
	struct split_files split = {l->symbols->options.far, root, path};
	const struct sandbox_files files = {split_files_open, &split};
	struct debug_file alternate;
	int err;

	if (l->files->too_much) {
		free(addresses);
		return 0;
	}
	if (!addresses)
		return fail_errno(why, -ENOMEM, NULL, "reading DWARF");
	for (size_t i = 0; i < l->batch.count; i++)
		addresses[i] = l->batch.at[i].address;
	/* without it there are no wrong names, only fewer */
	debug_file_find_alternate(&search, file, root, path, &alternate);
	err = dwarf_ask(
		file->fd, alternate.fd, addresses, l->batch.count, l->symbols->options.inlines,
		l->symbols->options.thorough ? &thorough_limits : &recording_limits,
		l->symbols->options.inlines ? &files : NULL, &l->dwarf, &l->symbols->missing);
	l->files->too_much = err == -ECHILD || err == -ETIMEDOUT || err == -E2BIG;
	debug_file_close(&alternate);
	free(addresses);
	return 0;
}

/* Lines are an addition: if anything goes wrong with them, the functions' names stand. */
static int answer_lines(struct lookup *l, struct fail *why)
{
	const struct debug_file *debug;

	if (l->has_main && l->main.fd >= 0 && has_dwarf(&l->main))
		return ask_dwarf(l, &l->main, l->image->root ? l->image->root : "",
				 l->image->path ? l->image->path : "", why);
	debug = find_debug_file(l, true);
	if (debug && has_dwarf(&debug->file))
		return ask_dwarf(l, &debug->file, debug->root, debug->path, why);
	if (!l->symbols->missing.err)
		fail(&l->symbols->missing, -ENOENT, NULL, "no DWARF for lines%s%s",
		     debug ? "" : ", and ", debug ? "" : l->files->why_not.what);
	return 0;
}

int symbols_debug_info(struct symbols *symbols, const struct symbol_image *image, int *fd,
		       int *alternate_fd, struct fail *why)
{
	struct lookup l = {.symbols = symbols, .image = image};
	struct debug_search search = {
		.far = symbols->options.far,
		.root = image->root,
		.directories = symbols->options.debug_directories,
	};
	const struct debug_file *debug = NULL;
	struct debug_file alternate = {.fd = -1};
	int err = open_main(&l, why);

	*fd = *alternate_fd = -1;
	if (err)
		return err;
	l.files = find_files(&l);
	if (l.has_main && l.main.fd >= 0 && has_dwarf(&l.main)) {
		search.main = &l.main;
	} else {
		debug = find_debug_file(&l, true);
		if (debug && has_dwarf(&debug->file))
			search.main = &debug->file;
	}
	if (search.main) {
		debug_file_find_alternate(&search, search.main,
					  debug		? debug->root
					  : image->root ? image->root
							: "",
					  debug		? debug->path
					  : image->path ? image->path
							: "",
					  &alternate);
		*fd = fcntl(search.main->fd, F_DUPFD_CLOEXEC, 0);
		if (*fd < 0)
			err = fail_errno(why, -errno, NULL, "reading DWARF");
		else if (alternate.fd >= 0)
			*alternate_fd = fcntl(alternate.fd, F_DUPFD_CLOEXEC, 0);
	} else {
		err = fail(why, -ENOENT, "install its debug symbols, or compile it with -g",
			   "%s has no debug information, and there is no debug file",
			   image->path ? image->path : "an image");
	}
	debug_file_close(&alternate);
	if (l.has_main)
		elf_file_close(&l.main);
	return err;
}

/*
 * The inlined functions at a question's address, down to the function that the symbol table names,
 * and the place of the instruction. Null: DWARF tells nothing. A chain in which a function has no
 * name is not told: only the place is.
 */
static const struct dwarf_place *places_of(const struct lookup *l, size_t index, size_t *count)
{
	const struct dwarf_place *places;

	*count = 1;
	if (!l->dwarf.at || !l->dwarf.at[index].count)
		return NULL;
	places = l->dwarf.places + l->dwarf.at[index].first;
	for (size_t i = 0; i + 1 < l->dwarf.at[index].count; i++)
		if (!places[i].function)
			return places;
	*count = l->dwarf.at[index].count;
	return places;
}

static void emit_go(struct lookup *l, const struct question *q, symbol_found *found, void *context)
{
	struct symbol_name names[DWARF_PLACES_MAX];
	struct go_place places[DWARF_PLACES_MAX];
	size_t count = go_symbols_places(&l->go, q->address, places, DWARF_PLACES_MAX), i;

	for (i = 0; i < count; i++)
		names[i] = (struct symbol_name){places[i].function, places[i].file, places[i].line};
	if (count)
		batch_emit(&l->batch, q, names, count, found, context);
}

static int emit_names(struct lookup *l, size_t index, symbol_found *found, void *context)
{
	const struct question *q = &l->batch.at[index];
	struct symbol_name names[DWARF_PLACES_MAX] = {{0}};
	char *owned[DWARF_PLACES_MAX] = {0};
	size_t count, i;
	const struct dwarf_place *places = places_of(l, index, &count);
	bool cut = places && count < l->dwarf.at[index].count;
	int err = 0;

	for (i = 0; i < count && !err; i++) {
		const char *function = places ? places[i].function : NULL;

		if (i == count - 1 && (q->name || cut))
			function = q->name;
		if (!function)
			break;
		owned[i] = symbol_demangle(function);
		if (!owned[i])
			err = -ENOMEM;
		names[i].function = owned[i];
		names[i].file = places ? places[i].file : NULL;
		names[i].line = places ? places[i].line : 0;
	}
	if (!err && i == count)
		batch_emit(&l->batch, q, names, count, found, context);
	while (i--)
		free(owned[i]);
	return err;
}

static bool is_all_go(const struct batch *b)
{
	for (size_t i = 0; i < b->count; i++)
		if (!b->at[i].go)
			return false;
	return true;
}

static int answer(struct lookup *l, symbol_found *found, void *context, struct fail *why)
{
	const struct symbol_options *options = &l->symbols->options;
	struct fail words = {0};
	int err = answer_functions(l, &words);

	if (!batch_settle(&l->batch))
		l->symbols->missing = (struct fail){0};
	if (!err && !l->starts && (options->lines || options->inlines) && !is_all_go(&l->batch))
		err = answer_lines(l, &words);
	for (size_t i = 0; i < l->batch.count && !err; i++) {
		if (l->batch.at[i].go)
			emit_go(l, &l->batch.at[i], found, context);
		else
			err = emit_names(l, i, found, context);
	}
	return err ? fail_errno(why, err, NULL, "naming functions of %s",
				l->image->path ? l->image->path : "an image")
		   : 0;
}

static void set_starts(struct batch *b, const uint64_t *starts)
{
	for (size_t i = 0; i < b->count; i++) {
		uint64_t start = starts[b->places[b->at[i].first]];

		b->at[i].start = start <= b->at[i].address ? start : 0;
	}
}

static int ask(struct symbols *symbols, const struct symbol_image *image, const uint64_t *addresses,
	       const uint64_t *starts, size_t count, symbol_found *found, void *context,
	       struct fail *why)
{
	struct lookup l = {.symbols = symbols, .image = image, .main.fd = -1, .starts = starts};
	int err;

	symbols->missing = (struct fail){0};
	err = open_main(&l, why);
	if (err)
		return err;
	if (!l.has_main && !image->build_id_size)
		return fail(why, -ENOENT, NULL, "%s: neither the file nor its build id is known",
			    image->path ? image->path : "an image");
	err = batch_make(&l.batch, addresses, count);
	if (err) {
		fail_errno(why, err, NULL, "naming functions");
	} else {
		if (starts)
			set_starts(&l.batch, starts);
		l.files = find_files(&l);
		err = answer(&l, found, context, why);
		if (l.is_go)
			go_symbols_close(&l.go);
		dwarf_answers_free(&l.dwarf);
		batch_free(&l.batch);
	}
	elf_file_close(&l.main);
	return err;
}

int symbols_of_image(struct symbols *symbols, const struct symbol_image *image,
		     const uint64_t *addresses, size_t count, symbol_found *found, void *context,
		     struct fail *why)
{
	return ask(symbols, image, addresses, NULL, count, found, context, why);
}

int symbols_of_starts(struct symbols *symbols, const struct symbol_image *image,
		      const uint64_t *addresses, const uint64_t *starts, size_t count,
		      symbol_found *found, void *context, struct fail *why)
{
	return ask(symbols, image, addresses, starts, count, found, context, why);
}
