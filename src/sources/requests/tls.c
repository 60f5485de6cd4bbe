// SPDX-License-Identifier: Apache-2.0
#include "sources/requests/tls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "bpf/requests/abi.h"
#include "elf/file.h"
#include "probe/functions.h"
#include "arch/isa.h"

/* The most files with probes. */
#define FILES_MAX 1024

/* Symbols of a file that are looked at to see whether it has OpenSSL in it. */
#define SYMBOLS_MAX 200000

enum {
	/* no probe: what else is to be known of a file */
	PLACE_QUEUE = REQUESTS_TLS_PLACES, /* where the runtime puts what can run */
	PLACE_ACCEPT,			   /* others can connect to it */
	PLACES
};

static const struct {
	const char *symbol;
	int place;
} functions[] = {
	{"SSL_read", REQUESTS_TLS_READ},
	{"SSL_write", REQUESTS_TLS_WRITE},
	{"SSL_read_ex", REQUESTS_TLS_READ_EX},
	{"SSL_write_ex", REQUESTS_TLS_WRITE_EX},
	{"SSL_free", REQUESTS_TLS_FREE},
	{"crypto/tls.(*Conn).Read", REQUESTS_TLS_GO_READ},
	{"crypto/tls.(*Conn).Write", REQUESTS_TLS_GO_WRITE},
	{"crypto/tls.(*Conn).Close", REQUESTS_TLS_GO_CLOSE},
	{"net/http.(*persistConn).roundTrip", REQUESTS_GO_ASKS},
	{"net/http.persistConnWriter.Write", REQUESTS_GO_WRITES},
	{"runtime.newproc.func1", REQUESTS_GO_STARTS},
	{"net/http.(*http2serverConn).runHandler", REQUESTS_GO_HANDLES},
	{"golang.org/x/net/http2.(*serverConn).runHandler", REQUESTS_GO_HANDLES},
	{"google.golang.org/grpc.(*Server).handleStream", REQUESTS_GO_HANDLES_GRPC},
	{"google.golang.org/grpc/internal/transport.(*loopyWriter).run", REQUESTS_GO_SENDS_GRPC},
	{"google.golang.org/grpc/internal/transport.(*http2Client).reader", REQUESTS_GO_READS_GRPC},
	{"google.golang.org/grpc/internal/transport.(*http2Client).NewStream",
	 REQUESTS_GO_ASKS_GRPC},
	{"runtime.runqput", PLACE_QUEUE},
	{"net.(*netFD).accept", PLACE_ACCEPT},
};

enum {
	FUNCTIONS = sizeof(functions) / sizeof(functions[0])
};

/* -- files ------------------------------------------------------------------------------------- */

struct defined {
	bool reads, writes;
};

static bool add_symbol(void *context, const Elf64_Sym *symbol, struct elf_strings *names)
{
	struct defined *defined = context;
	const char *name;

	if (!symbol->st_shndx || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
		return true;
	name = elf_strings_get(names, symbol->st_name);
	defined->reads |= !strcmp(name, functions[REQUESTS_TLS_READ].symbol);
	defined->writes |= !strcmp(name, functions[REQUESTS_TLS_WRITE].symbol);
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
	elf_each_symbol(&file, SHT_DYNSYM, SYMBOLS_MAX, add_symbol, &defined);
	if (!defined.reads || !defined.writes)
		elf_each_symbol(&file, SHT_SYMTAB, SYMBOLS_MAX, add_symbol, &defined);
	elf_file_close(&file);
	return defined.reads && defined.writes;
}

static bool add_place(struct probed_look *look, uint64_t offset, int place, bool is_exit)
{
	/* a place that is refused is so in its file */
	uint32_t group = look->number * REQUESTS_TLS_PLACES + (uint32_t)place;

	return probed_look_add(look, offset, group, REQUESTS_TLS_COOKIE(place, is_exit), is_exit);
}

/* Those that are over when they begin need no end. */
static bool has_end(int place)
{
	return place == REQUESTS_GO_ASKS_GRPC ||
	       (place != REQUESTS_TLS_FREE && place != REQUESTS_TLS_GO_WRITE &&
		place < REQUESTS_TLS_GO_CLOSE);
}

/*
 * A function of Go begins with a check for room on its stack, behind which its entry is. The kernel
 * executes what stands there as a copy, but emulates the jump of the check, which costs a fraction;
 * the arguments are there as well. Where the stack must grow, the function begins twice.
 */
static uint64_t cheap_entry(const struct image *image, const struct probe_function *function)
{
	uint64_t begin = function->entry.offset - function->slide;
	uint8_t code[64];
	ssize_t got = file_read_some(image->fd, begin, code, sizeof(code));
	size_t jump = got > 0 ? isa_go_stack_jump(code, (size_t)got) : 0;

	return jump ? begin + jump : function->entry.offset;
}

/* Of functions that are looked for, by place; null: it is not there. */
struct found_places {
	const struct probe_function *at[PLACES];
};

/* Code of a function that may be in the file. */
#define STARTS_CODE_MAX 512

/*
 * Where the runtime has made a goroutine, and is about to call the function that queues it: the
 * kernel emulates a call, too. 0: it is not there.
 */
static uint64_t starts_entry(const struct image *image, const struct found_places *found)
{
	const struct probe_function *starts = found->at[REQUESTS_GO_STARTS];
	const struct probe_function *queue = found->at[PLACE_QUEUE];
	uint64_t begin = starts->entry.offset - starts->slide;
	size_t size = starts->size < STARTS_CODE_MAX ? starts->size : STARTS_CODE_MAX;
	uint8_t code[STARTS_CODE_MAX];
	ssize_t got = queue ? file_read_some(image->fd, begin, code, size) : 0;
	struct isa_insn insn;

	for (size_t at = 0; got > 0 && at < (size_t)got; at += insn.length) {
		if (!isa_read(&insn, code + at, (size_t)got - at))
			return 0;
		if (isa_flow(&insn) == ISA_FLOW_CALL &&
		    isa_target(&insn, starts->address + at) == queue->address)
			return begin + at;
	}
	return 0;
}

static uint64_t entry_of(const struct image *image, const struct found_places *found,
			 const struct probe_function *function, int place)
{
	if (place == REQUESTS_GO_STARTS)
		return starts_entry(image, found);
	return place >= REQUESTS_GO_ASKS ? cheap_entry(image, function) : function->entry.offset;
}

static bool add_function(struct probed_look *look, const struct probe_functions *all,
			 const struct found_places *found, const struct probe_function *function,
			 int place)
{
	uint64_t entry = entry_of(look->image, found, function, place);

	/* other places say something without that one */
	if (has_end(place) && (function->exit != PROBE_EXIT_RET || !function->exits))
		return place == REQUESTS_GO_ASKS_GRPC;
	if (entry && !add_place(look, entry, place, false))
		return false;
	for (uint32_t i = 0; has_end(place) && i < function->exits; i++)
		if (!add_place(look, all->exits[function->first_exit + i].offset, place, true))
			return false;
	return true;
}

static int place_of(const struct probe_function *function)
{
	for (size_t i = 0; i < FUNCTIONS; i++)
		if (!strcmp(function->symbol, functions[i].symbol))
			return functions[i].place;
	return -1;
}

static bool add_functions(struct probed_look *look, const struct probe_functions *all)
{
	struct found_places found = {0};
	bool ok = true;

	for (size_t i = 0; i < all->count; i++) {
		int place = place_of(&all->at[i]);

		if (place >= 0)
			found.at[place] = &all->at[i];
	}
	for (size_t i = 0; ok && i < all->count; i++) {
		int place = place_of(&all->at[i]);

		/* what none can connect to serves nothing */
		if (place < 0 || place >= REQUESTS_TLS_PLACES ||
		    (place == REQUESTS_GO_STARTS && !found.at[PLACE_ACCEPT]))
			continue;
		ok = add_function(look, all, &found, &all->at[i], place);
	}
	return ok;
}

static bool find_places(struct probed_look *look)
{
	const struct image *image = look->image;
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

	for (size_t i = 0; ok && i < FUNCTIONS; i++)
		ok = !choice_add_function(choice, true, functions[i].symbol, NULL);
	question.choice = choice;
	if (ok)
		ok = !probe_functions_of(&question, &found, NULL);
	if (ok) {
		ok = add_functions(look, &found);
		probe_functions_free(&found);
	}
	if (question.symbols)
		symbols_free(question.symbols);
	choice_free(choice);
	return ok && look->places.count;
}

static int look(struct probed_look *look, struct fail *why)
{
	const struct image *image = look->image;
	const struct symbol_image what = {
		.fd = image->fd, .path = image->path, .root = image->root};
	bool is_go = probe_is_go(&what);

	if (!is_go && !has_openssl(image))
		return -ENOENT;
	if (find_places(look))
		return 0;
	/* many programs of Go do not encrypt */
	return is_go ? -ENOENT : fail(why, -ENOTSUP, NULL, "its functions cannot be probed");
}

const struct probed_kind requests_tls_kind = {
	.most = FILES_MAX,
	.too_many = "too many files",
	.look = look,
};

/* -- processes --------------------------------------------------------------------------------- */

/* Those of other processes of the same program, too, which do the same. */
bool requests_tls_leave_starts(struct probed_images *tls, pid_t pid)
{
	vec_foreach (&tls->files.processes, process)
		if (process->pid == pid && tls->files.uprobes)
			return !uprobes_remove_group(tls->files.uprobes,
						     process->file * REQUESTS_TLS_PLACES +
							     REQUESTS_GO_STARTS);
	return false;
}
