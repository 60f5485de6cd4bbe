// SPDX-License-Identifier: Apache-2.0
#include "bench.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int bench_set_up(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	strcpy(b->directory, "/tmp/stackcam-symbol-XXXXXX");
	if (!mkdtemp(b->directory)) {
		free(b);
		return -1;
	}
	snprintf(b->debug, sizeof(b->debug), "%s/debug", b->directory);
	*state = b;
	return 0;
}

int bench_tear_down(void **state)
{
	struct bench *b = *state;
	char command[128];
	int status;

	snprintf(command, sizeof(command), "rm -rf '%s'", b->directory);
	status = system(command);
	free(b);
	return status;
}

static int run(struct bench *b, const char *format, va_list args)
{
	char what[2048], command[4096];

	vsnprintf(what, sizeof(what), format, args);
	snprintf(command, sizeof(command), "cd '%s' && { %s; } >log 2>&1", b->directory, what);
	return system(command);
}

void bench_run(struct bench *b, const char *format, ...)
{
	char command[256];
	va_list args;
	int status;

	va_start(args, format);
	status = run(b, format, args);
	va_end(args);
	if (!status)
		return;
	snprintf(command, sizeof(command), "cat '%s/log' >&2", b->directory);
	status = system(command);
	print_error("'%s' failed\n", format);
	_fail(__FILE__, __LINE__);
}

bool bench_try(struct bench *b, const char *format, ...)
{
	va_list args;
	int status;

	va_start(args, format);
	status = run(b, format, args);
	va_end(args);
	return status == 0;
}

void bench_write(struct bench *b, const char *name, const char *text)
{
	FILE *f = fopen(bench_path(b, name), "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
	assert_int_equal(fclose(f), 0);
}

const char *bench_path(struct bench *b, const char *name)
{
	static char paths[4][256];
	static int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", b->directory, name);
	return path;
}

static bool find_by_nm(struct bench *b, const char *file, const char *symbol, const char *option,
		       uint64_t *address, uint64_t *size)
{
	char command[512], line[1024], name[512];
	bool found = false;
	FILE *nm;

	snprintf(command, sizeof(command), "nm -P %s '%s'", option, bench_path(b, file));
	nm = popen(command, "r");
	assert_non_null(nm);
	while (fgets(line, sizeof(line), nm)) {
		*size = 0;
		if (sscanf(line, "%511s %*c %" SCNx64 " %" SCNx64, name, address, size) < 2)
			continue;
		if (!strcmp(name, symbol)) {
			found = true;
			break;
		}
	}
	while (fgets(line, sizeof(line), nm))
		;
	pclose(nm);
	return found;
}

static void find_symbol(struct bench *b, const char *file, const char *symbol, uint64_t *address,
			uint64_t *size)
{
	if (!find_by_nm(b, file, symbol, "2>/dev/null", address, size) &&
	    !find_by_nm(b, file, symbol, "-D", address, size)) {
		print_error("nm finds no '%s' in %s\n", symbol, file);
		_fail(__FILE__, __LINE__);
	}
}

uint64_t bench_address(struct bench *b, const char *file, const char *symbol)
{
	uint64_t address, size;

	find_symbol(b, file, symbol, &address, &size);
	return address;
}

uint64_t bench_size(struct bench *b, const char *file, const char *symbol)
{
	uint64_t address, size;

	find_symbol(b, file, symbol, &address, &size);
	return size;
}

static void take(void *context, size_t index, const struct symbol_name *names, size_t count)
{
	char *text = context;
	size_t room = 4096;

	assert_int_equal(index, 0);
	assert_int_equal(text[0], 0);
	for (size_t i = 0; i < count; i++) {
		int n = snprintf(text, room, "%s%s", i ? " < " : "", names[i].function);

		assert_true(n > 0 && (size_t)n < room);
		text += n;
		room -= (size_t)n;
		if (!names[i].file)
			continue;
		n = snprintf(text, room, " %s:%u",
			     strrchr(names[i].file, '/') ? strrchr(names[i].file, '/') + 1
							 : names[i].file,
			     names[i].line);
		assert_true(n > 0 && (size_t)n < room);
		text += n;
		room -= (size_t)n;
	}
}

const char *bench_ask_image(struct bench *b, const struct symbol_image *image,
			    const struct symbol_options *options, uint64_t address)
{
	static char text[4096];
	const struct symbol_options none = {0};
	struct symbols *symbols;
	struct fail why = {0};

	text[0] = 0;
	assert_int_equal(symbols_new(options ? options : &none, &symbols), 0);
	b->err = symbols_of_image(symbols, image, &address, 1, take, text, &why);
	snprintf(b->error, sizeof(b->error), "%s", why.what);
	snprintf(b->missing, sizeof(b->missing), "%s", symbols_missing(symbols));
	symbols_free(symbols);
	return text;
}

const char *bench_ask_start(struct bench *b, const char *file, uint64_t address, uint64_t start)
{
	static char text[4096];
	const struct symbol_options none = {0};
	struct symbol_image image = {.path = bench_path(b, file), .root = ""};
	struct symbols *symbols;

	text[0] = 0;
	image.fd = open(image.path, O_RDONLY | O_CLOEXEC);
	assert_true(image.fd >= 0);
	assert_int_equal(symbols_new(&none, &symbols), 0);
	assert_int_equal(symbols_of_starts(symbols, &image, &address, &start, 1, take, text, NULL),
			 0);
	symbols_free(symbols);
	close(image.fd);
	return text;
}

const char *bench_ask(struct bench *b, const char *file, const struct symbol_options *options,
		      uint64_t address)
{
	struct symbol_image image = {.path = bench_path(b, file), .root = ""};
	const char *text;

	image.fd = open(image.path, O_RDONLY | O_CLOEXEC);
	assert_true(image.fd >= 0);
	text = bench_ask_image(b, &image, options, address);
	close(image.fd);
	assert_int_equal(b->err, 0);
	return text;
}
