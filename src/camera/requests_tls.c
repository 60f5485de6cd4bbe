// SPDX-License-Identifier: Apache-2.0
#include "camera/requests_tls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/vec.h"
#include "bpf/requests_abi.h"
#include "camera/source.h"
#include "camera/uprobes.h"
#include "elf/file.h"
#include "probe/functions.h"

/* The most files with probes, processes with their own, and files that are known to have none. */
#define FILES_MAX  1024
#define BOUND_MAX  4096
#define OTHERS_MAX 65536

/* Symbols of a file that are looked at to see whether it has OpenSSL in it. */
#define SYMBOLS_MAX 200000

static const char *const functions[REQUESTS_TLS_PLACES] = {
	[REQUESTS_TLS_READ] = "SSL_read",
	[REQUESTS_TLS_WRITE] = "SSL_write",
	[REQUESTS_TLS_READ_EX] = "SSL_read_ex",
	[REQUESTS_TLS_WRITE_EX] = "SSL_write_ex",
	[REQUESTS_TLS_FREE] = "SSL_free",
	[REQUESTS_TLS_GO_READ] = "crypto/tls.(*Conn).Read",
	[REQUESTS_TLS_GO_WRITE] = "crypto/tls.(*Conn).Write",
	[REQUESTS_TLS_GO_CLOSE] = "crypto/tls.(*Conn).Close",
};

struct file {
	dev_t device;
	ino_t inode;
	int fd; /* as long as this lives */
	char path[32];
	bool is_open;	 /* its probes are set wherever it runs */
	bool is_refused; /* they could not be */
	vec(struct uprobe_place) places;
};

/* A process that has probes of its own in a file. */
struct bound {
	pid_t pid;
	uint32_t file;
};

struct requests_tls {
	struct uprobes *uprobes; /* null: they were taken away */
	bool bind;
	vec(struct file) files;
	vec(struct bound) bound;
	struct map others; /* a hash of device and inode */
	uint64_t refused;
};

void requests_tls_prepare(struct bpf_program *site)
{
	const struct uprobe_programs programs = {.site = site};
	struct uprobe_ways ways;

	uprobe_ways_probe(&ways);
	uprobes_prepare(&programs, &ways);
}

int requests_tls_new(struct bpf_program *site, bool bind, struct requests_tls **result)
{
	const struct uprobe_programs programs = {.site = site};
	struct requests_tls *tls = calloc(1, sizeof(*tls));
	struct uprobe_ways ways;
	int err;

	if (!tls)
		return -ENOMEM;
	uprobe_ways_probe(&ways);
	/* without links for many places, each place has a process by itself */
	tls->bind = bind && (ways.pid_filter || !ways.multi);
	err = uprobes_new(&programs, &ways, &tls->uprobes);
	if (err)
		free(tls);
	else
		*result = tls;
	return err;
}

void requests_tls_detach(struct requests_tls *tls)
{
	uprobes_free(tls->uprobes);
	tls->uprobes = NULL;
}

void requests_tls_free(struct requests_tls *tls)
{
	if (!tls)
		return;
	if (tls->uprobes)
		requests_tls_detach(tls);
	vec_foreach (&tls->files, file) {
		close(file->fd);
		vec_free(&file->places);
	}
	vec_free(&tls->files);
	vec_free(&tls->bound);
	map_free(&tls->others);
	free(tls);
}

/* -- files ------------------------------------------------------------------------------------- */

struct defined {
	bool reads, writes;
};

static bool take_symbol(void *context, const Elf64_Sym *symbol, struct elf_strings *names)
{
	struct defined *defined = context;
	const char *name;

	if (!symbol->st_shndx || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
		return true;
	name = elf_strings_get(names, symbol->st_name);
	defined->reads |= !strcmp(name, functions[REQUESTS_TLS_READ]);
	defined->writes |= !strcmp(name, functions[REQUESTS_TLS_WRITE]);
	return !defined->reads || !defined->writes;
}

/* Libraries are known by their names: there are many, and each has thousands of symbols. */
static bool has_openssl(const struct image *image)
{
	const char *slash = strrchr(image->path, '/'), *name = slash ? slash + 1 : image->path;
	struct defined defined = {0};
	struct elf_file file;

	if (strstr(name, ".so") && !strstr(name, "ssl"))
		return false;
	if (elf_file_open(&file, image->fd))
		return false;
	elf_each_symbol(&file, SHT_DYNSYM, SYMBOLS_MAX, take_symbol, &defined);
	if (!defined.reads || !defined.writes)
		elf_each_symbol(&file, SHT_SYMTAB, SYMBOLS_MAX, take_symbol, &defined);
	elf_file_close(&file);
	return defined.reads && defined.writes;
}

static bool add_place(struct file *file, uint64_t offset, int place, bool is_exit)
{
	const struct uprobe_place what = {
		.offset = offset,
		.group = (uint32_t)place,
		.kind = is_exit ? UPROBE_EXIT_SITE : UPROBE_ENTRY,
		.cookie = REQUESTS_TLS_COOKIE(place, is_exit),
		.entry_cookie = REQUESTS_TLS_COOKIE(place, is_exit),
	};

	return vec_push(&file->places, what);
}

/* Those that are over when they begin need no end. */
static bool has_end(int place)
{
	return place != REQUESTS_TLS_FREE && place != REQUESTS_TLS_GO_WRITE &&
	       place != REQUESTS_TLS_GO_CLOSE;
}

static bool add_function(struct file *file, const struct probe_functions *all,
			 const struct probe_function *function)
{
	for (int place = 0; place < REQUESTS_TLS_PLACES; place++) {
		if (strcmp(function->symbol, functions[place]))
			continue;
		if (has_end(place) && (function->exit != PROBE_EXIT_RET || !function->exits))
			return false;
		if (!add_place(file, function->entry.offset, place, false))
			return false;
		for (uint32_t i = 0; has_end(place) && i < function->exits; i++)
			if (!add_place(file, all->exits[function->first_exit + i].offset, place,
				       true))
				return false;
	}
	return true;
}

static bool find_places(struct file *file, const struct image *image)
{
	const struct symbol_image what = {.fd = image->fd,
					  .path = image->path,
					  .root = image->root,
					  .build_id = image->build_id,
					  .build_id_size = image->build_id_size};
	static const struct symbol_options no_options;
	struct probe_question question = {.image = &what, .own = true, .exit = PROBE_WISH_RET};
	struct probe_functions found = {0};
	struct choice *choice = NULL;
	bool ok = !choice_new(&choice) && !symbols_new(&no_options, &question.symbols);

	for (int place = 0; ok && place < REQUESTS_TLS_PLACES; place++)
		ok = !choice_add_function(choice, true, functions[place], NULL);
	question.choice = choice;
	if (ok)
		ok = !probe_functions_of(&question, &found, NULL);
	for (size_t i = 0; ok && i < found.count; i++)
		ok = add_function(file, &found, &found.at[i]);
	if (ok)
		probe_functions_free(&found);
	if (question.symbols)
		symbols_free(question.symbols);
	choice_free(choice);
	return ok && file->places.count;
}

static uint64_t key_of(const struct image *image)
{
	const uint64_t what[] = {image->device, image->inode};

	return hash_bytes(what, sizeof(what));
}

/* Another file. Returns its number; -1: it has no such functions, or cannot be probed. */
static int add(struct requests_tls *tls, const struct image *image)
{
	const struct symbol_image what = {
		.fd = image->fd, .path = image->path, .root = image->root};
	struct file file = {.device = image->device, .inode = image->inode};
	bool is_go = probe_is_go(&what);

	if (is_go || has_openssl(image)) {
		if (find_places(&file, image) && tls->files.count < FILES_MAX) {
			file.fd = fcntl(image->fd, F_DUPFD_CLOEXEC, 0);
			snprintf(file.path, sizeof(file.path), "/proc/self/fd/%d", file.fd);
			if (file.fd >= 0 && vec_push(&tls->files, file))
				return (int)tls->files.count - 1;
			if (file.fd >= 0)
				close(file.fd);
		}
		vec_free(&file.places);
		/* many programs of Go do not encrypt */
		tls->refused += !is_go;
	}
	if (tls->others.count >= OTHERS_MAX)
		map_free(&tls->others);
	/* without memory it is looked at again */
	(void)!map_put(&tls->others, key_of(image), 1);
	return -1;
}

static int find(const struct requests_tls *tls, const struct image *image)
{
	for (size_t i = 0; i < tls->files.count; i++)
		if (tls->files.at[i].device == image->device &&
		    tls->files.at[i].inode == image->inode)
			return (int)i;
	return -1;
}

/* -- processes --------------------------------------------------------------------------------- */

static unsigned int attach(struct requests_tls *tls, uint32_t number, pid_t pid)
{
	struct file *file = &tls->files.at[number];
	int err;

	vec_foreach (&tls->bound, bound)
		if (bound->pid == pid && bound->file == number)
			return SOURCE_IMAGE_EACH;
	if (!tls->bind && file->is_open)
		return 0;
	if (tls->bind && (tls->bound.count >= BOUND_MAX ||
			  !vec_push(&tls->bound, (struct bound){pid, number}))) {
		tls->refused++;
		return 0;
	}
	err = uprobes_attach(tls->uprobes, file->path, tls->bind ? pid : 0, file->places.at,
			     file->places.count, NULL);
	if (err) {
		tls->bound.count -= tls->bind;
		tls->refused += err != -ESRCH;
		file->is_refused = err != -ESRCH && !tls->bind;
		return 0;
	}
	file->is_open = !tls->bind;
	return SOURCE_IMAGE_PROBED | (tls->bind ? SOURCE_IMAGE_EACH : 0);
}

unsigned int requests_tls_meet(struct requests_tls *tls, pid_t pid, const struct image *image)
{
	int number;

	if (!tls->uprobes || image->kind != IMAGE_FILE || image->fd < 0 ||
	    map_get(&tls->others, key_of(image)))
		return 0;
	number = find(tls, image);
	if (number < 0)
		number = add(tls, image);
	if (number < 0 || tls->files.at[number].is_refused)
		return 0;
	return attach(tls, (uint32_t)number, pid);
}

void requests_tls_ended(struct requests_tls *tls, pid_t pid)
{
	size_t kept = 0;

	vec_foreach (&tls->bound, bound) {
		if (bound->pid != pid)
			tls->bound.at[kept++] = *bound;
		else if (tls->uprobes)
			uprobes_detach(tls->uprobes, tls->files.at[bound->file].path, pid);
	}
	tls->bound.count = kept;
}

uint64_t requests_tls_refused(const struct requests_tls *tls)
{
	return tls->refused;
}
