// SPDX-License-Identifier: Apache-2.0
#include "sources/gpu/code.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../inject/gpu_places.h"
#include "base/file.h"
#include "base/map.h"
#include "base/saturated.h"
#include "base/vec.h"
#include "symbol/cubin/names.h"

/* Of all modules together: a framework with all its libraries has loaded some 100 MB. */
#define BYTES_MAX (256u << 20)
/* Modules and bytes that are read in one go: others wait for the next one. */
#define READ_MOST	64
#define READ_BYTES_MOST (64u << 20)

struct module {
	uint64_t hash;
	void *bytes;
	struct cubin cubin;
	struct cubin_lines lines;
	struct map by_name; /* gpu_name_hash() -> index of a text */
	uint32_t image;	    /* of the film; 0: none yet */
};

struct gpu_code {
	int fd;
	uint64_t offset; /* up to which the file was read */
	uint64_t bytes;	 /* of all modules */
	bool is_damaged; /* the file has something else at the offset */
	vec(struct module *) modules;
	struct map by_hash;  /* of the bytes -> index of a module */
	uint32_t last_frame; /* highest number of a frame so far: a higher one is new */
	struct gpu_code_losses losses;
	char how[512];
};

int gpu_code_file(void)
{
	int fd = memfd_create("stackcam-gpu-code", MFD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int gpu_code_new(int fd, struct gpu_code **result)
{
	struct gpu_code *code = calloc(1, sizeof(*code));

	if (!code) {
		close(fd);
		return -ENOMEM;
	}
	code->fd = fd;
	*result = code;
	return 0;
}

/* -- modules ----------------------------------------------------------------------------------- */

static void free_module(struct module *module)
{
	cubin_lines_free(&module->lines);
	cubin_close(&module->cubin);
	map_free(&module->by_name);
	free(module->bytes);
	free(module);
}

void gpu_code_free(struct gpu_code *code)
{
	if (!code)
		return;
	vec_foreach (&code->modules, module)
		free_module(*module);
	vec_free(&code->modules);
	map_free(&code->by_hash);
	close(code->fd);
	free(code);
}

static uint64_t bytes_of(const struct module *module, size_t size)
{
	const struct cubin *cubin = &module->cubin;

	return size + sizeof(*module) + cubin->texts.room * 4 * sizeof(*cubin->texts.at) +
	       cubin->functions.room * sizeof(*cubin->functions.at) +
	       cubin->file.section_count * sizeof(*cubin->file.sections) +
	       module->lines.rows.room * (sizeof(*module->lines.rows.at) + sizeof(void *)) +
	       module->lines.files.room * sizeof(*module->lines.files.at);
}

/* bytes: owned from here on. */
static void add_module(struct gpu_code *code, void *bytes, size_t size)
{
	struct module *module = calloc(1, sizeof(*module));
	uint64_t hash = gpu_code_hash(bytes, size);
	int err;

	if (!module || map_get(&code->by_hash, hash)) {
		code->losses.full += !module;
		free(module);
		free(bytes);
		return;
	}
	module->bytes = bytes;
	module->hash = hash;
	err = cubin_open(&module->cubin, bytes, size);
	if (err || !module->cubin.file.section_count) {
		code->losses.too_old += err == -ENOTSUP;
		code->losses.damaged += err != -ENOTSUP;
		free_module(module);
		return;
	}
	/* it has variables alone: it has no samples */
	if (!module->cubin.texts.count) {
		free_module(module);
		return;
	}
	/* what is damaged of the lines is not there */
	cubin_lines_read(&module->lines, &module->cubin, CUBIN_LINES);
	for (size_t i = 0; i < module->cubin.texts.count; i++)
		map_put(&module->by_name, gpu_name_hash(module->cubin.texts.at[i].name), i);
	if (bytes_of(module, size) > BYTES_MAX - code->bytes || !vec_push(&code->modules, module)) {
		code->losses.full++;
		free_module(module);
		return;
	}
	code->bytes += bytes_of(module, size);
	map_put(&code->by_hash, hash, code->modules.count - 1);
}

/* False: there is nothing more, or not completely yet. */
static bool read_module(struct gpu_code *code, uint64_t end)
{
	struct gpu_code_head head;
	uint64_t at = code->offset + sizeof(head);
	void *bytes;

	if (end < at || !file_read_at(code->fd, code->offset, &head, sizeof(head)))
		return false;
	if (head.magic != GPU_CODE_MAGIC || !head.size || head.size > GPU_CODE_MAX) {
		code->losses.damaged++;
		code->is_damaged = true;
		return false;
	}
	if (end - at < head.size)
		return false;
	bytes = head.size <= BYTES_MAX - code->bytes ? malloc(head.size) : NULL;
	if (!bytes) {
		code->losses.full++;
	} else if (file_read_at(code->fd, at, bytes, head.size)) {
		add_module(code, bytes, head.size);
	} else {
		code->losses.damaged++;
		free(bytes);
	}
	code->offset = at + head.size;
	return true;
}

bool gpu_code_read(struct gpu_code *code)
{
	uint64_t begin = code->offset;
	struct stat status;

	if (code->is_damaged || fstat(code->fd, &status) || status.st_size < 0)
		return false;
	for (int i = 0; i < READ_MOST && code->offset - begin < READ_BYTES_MOST &&
			read_module(code, (uint64_t)status.st_size);
	     i++)
		;
	/* the memory of what was read */
	if (code->offset > begin)
		fallocate(code->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)begin,
			  (off_t)(code->offset - begin));
	return code->offset > begin;
}

/* -- frames ------------------------------------------------------------------------------------ */

static uint32_t image_of(struct module *module, struct film_writer *film)
{
	char path[32];
	struct film_image image = {
		.kind = FILM_IMAGE_DEVICE, .path = path, .build_id_size = CUBIN_BUILD_ID};

	snprintf(path, sizeof(path), "[sm_%u]", module->cubin.architecture);
	memcpy(image.build_id, module->cubin.build_id, CUBIN_BUILD_ID);
	if (!module->image)
		module->image = film_add_image(film, &image);
	return module->image;
}

/* Functions that were inlined, with the lines of the calls; the last one is the symbol's. */
static void name_frame(struct gpu_code *code, struct module *module, struct film_writer *film,
		       uint32_t frame, uint64_t address, const char *function)
{
	struct film_name of_film[CUBIN_PLACES_MAX];
	struct cubin_names names;
	size_t count = cubin_names_find(&names, &module->lines, &module->cubin, address, function);

	if (!count) {
		code->losses.without_lines++;
		if (!code->losses.how) {
			cubin_how_to_get_lines(&module->cubin, code->how, sizeof(code->how));
			code->losses.how = code->how;
		}
		film_name_frame(film, frame, &(struct film_name){.function = function}, 1);
		return;
	}
	for (size_t i = 0; i < count; i++)
		of_film[i] = (struct film_name){names.at[i].function, names.at[i].file,
						names.at[i].line};
	film_name_frame(film, frame, of_film, count);
	cubin_names_free(&names);
}

static uint32_t push(struct film_writer *film, uint32_t stack, uint32_t frame)
{
	return frame ? film_stack(film, stack, frame, FILM_HOW_EXACT) : stack;
}

/* Pushes the kernel and, if the code is not the kernel's own, the device function. */
static uint32_t push_functions(struct gpu_code *code, struct module *module,
			       struct samples *samples, struct film_writer *film, uint32_t stack,
			       const char *kernel, uint64_t address)
{
	const struct cubin_function *function = cubin_function_of(&module->cubin, address);
	bool is_kernel = true;
	const char *symbol =
		function ? cubin_source_name(&module->cubin, function, &is_kernel) : NULL;
	uint32_t frame = film_frame(film, image_of(module, film), FILM_FRAME_DEVICE, address);

	if (!is_kernel)
		stack = push(film, stack, samples_mark(samples, kernel));
	if (frame > code->last_frame) {
		char *name = symbol ? symbol_demangle_short(symbol) : NULL;

		code->last_frame = frame;
		name_frame(code, module, film, frame, address, name ? name : kernel);
		free(name);
	}
	return push(film, stack, frame);
}

uint32_t gpu_code_stack(struct gpu_code *code, struct samples *samples, struct film_writer *film,
			uint32_t stack, const struct gpu_instruction *at)
{
	const char *kernel = at->name ? at->name : "[kernel without a name]", *mnemonic = NULL;
	uint64_t *number = map_get(&code->by_hash, at->code), *text = NULL;
	struct module *module = number ? code->modules.at[*number] : NULL;
	const struct cubin_text *in;
	char instruction[64];

	if (module)
		text = map_get(&module->by_name, at->function);
	in = text ? &module->cubin.texts.at[*text] : NULL;
	if (in && at->offset < in->size) {
		mnemonic = cubin_mnemonic(&module->cubin, in->address + at->offset);
		stack = push_functions(code, module, samples, film, stack, kernel,
				       in->address + at->offset);
	} else {
		code->losses.unknown = add_saturated(code->losses.unknown, at->count);
		stack = push(film, stack, samples_mark(samples, kernel));
	}
	snprintf(instruction, sizeof(instruction), "%s +0x%llx", mnemonic ? mnemonic : "[unknown]",
		 (unsigned long long)at->offset);
	return push(film, stack, samples_mark(samples, instruction));
}

void gpu_code_next_film(struct gpu_code *code)
{
	vec_foreach (&code->modules, module)
		(*module)->image = 0;
	code->last_frame = 0;
}

struct gpu_code_losses gpu_code_losses(const struct gpu_code *code)
{
	return code->losses;
}
