// SPDX-License-Identifier: Apache-2.0
#include "sources/calls/plan_private.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "bpf/calls/abi.h"
#include "elf/file.h"

#define FUNCTIONS_LIMIT 50000u

const char *plan_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int add_pattern(struct choice *choice, const struct plan_pattern *pattern, struct fail *why)
{
	return pattern->is_library
		       ? choice_add_library(choice, pattern->include, pattern->text, why)
		       : choice_add_function(choice, pattern->include, pattern->text, why);
}

/* A choice of one pattern, which is added to the wide one as well. */
static int add_switch(struct plan *plan, const char *pattern, struct choice **choice,
		      struct fail *why)
{
	struct plan_pattern one = {.include = true, .text = pattern};
	int err;

	if (!pattern)
		return 0;
	err = choice_new(choice);
	if (err)
		return fail_errno(why, err, NULL, "cannot trace");
	err = add_pattern(*choice, &one, why);
	/* if nothing is chosen, everything is, and that would be undone */
	if (!err && plan->options.pattern_count)
		err = add_pattern(plan->wide, &one, why);
	return err;
}

static int make_choices(struct plan *plan, struct fail *why)
{
	const struct plan_options *options = &plan->options;
	int err = choice_new(&plan->wanted);
	size_t i;

	if (!err)
		err = choice_new(&plan->wide);
	if (err)
		return fail_errno(why, err, NULL, "cannot trace");
	for (i = 0; !err && i < options->pattern_count; i++) {
		err = add_pattern(plan->wanted, &options->patterns[i], why);
		if (!err)
			err = add_pattern(plan->wide, &options->patterns[i], why);
	}
	if (!err)
		err = add_switch(plan, options->under, &plan->under, why);
	if (!err)
		err = add_switch(plan, options->start_on, &plan->start_on, why);
	if (!err)
		err = add_switch(plan, options->stop_on, &plan->stop_on, why);
	if (!err)
		err = add_switch(plan, options->stack, &plan->stack, why);
	return err;
}

static uint32_t flags_of(const struct plan *plan, const struct probe_function *f)
{
	uint32_t flags = 0;

	if (f->exit == PROBE_EXIT_INFERRED)
		flags |= CALLS_FUNCTION_INFERRED | (f->may_leave ? CALLS_FUNCTION_MAY_LEAVE : 0);
	if (f->exit == PROBE_EXIT_RETURN && plan->options.exit == PROBE_WISH_AUTO)
		flags |= CALLS_FUNCTION_GUARDED;
	if (f->is_go)
		flags |= CALLS_FUNCTION_GO | (f->begins_again ? CALLS_FUNCTION_AGAIN : 0);
	if (plan->under && choice_has(plan->under, f->name, f->symbol, f->library))
		flags |= CALLS_FUNCTION_UNDER;
	if (plan->start_on && choice_has(plan->start_on, f->name, f->symbol, f->library))
		flags |= CALLS_FUNCTION_START_ON;
	if (plan->stop_on && choice_has(plan->stop_on, f->name, f->symbol, f->library))
		flags |= CALLS_FUNCTION_STOP_ON;
	if (plan->stack && choice_has(plan->stack, f->name, f->symbol, f->library))
		flags |= CALLS_FUNCTION_STACK;
	if (!choice_has(plan->wanted, f->name, f->symbol, f->library))
		flags |= CALLS_FUNCTION_HIDDEN;
	return flags;
}

struct symbol_image plan_symbol_image(const struct plan_image *image)
{
	return (struct symbol_image){
		.fd = image->fd,
		.path = image->path,
		.root = image->root,
		.build_id = image->build_id,
		.build_id_size = image->build_id_size,
	};
}

static const char *is_inside(const struct plan *plan, const char *path)
{
	const char *name = plan_base_name(path);
	size_t i;

	for (i = 0; i < plan->options.inside_count; i++)
		if (!fnmatch(plan->options.inside[i], name, 0) ||
		    !fnmatch(plan->options.inside[i], path, 0))
			return name;
	return NULL;
}

/* Numbers the functions of an image that is about to be in the plan. */
static int number_functions(struct plan *plan, struct plan_image *image, struct fail *why)
{
	uint32_t more = image->is_called ? CALLS_FUNCTION_CALLER : 0;
	size_t i;

	image->first = (uint32_t)plan->functions.count;
	if (image->functions.count > plan->limit - plan->functions.count)
		return fail(why, -E2BIG, "narrow it with -f PATTERN, or raise --limit",
			    "%zu functions of %s match, which is more than the limit of %zu",
			    image->functions.count, image->path, plan->limit);
	for (i = 0; i < image->functions.count; i++) {
		const struct probe_function *f = &image->functions.at[i];

		plan->traceable += f->refusal == PROBE_ALLOWED;
		if (!vec_push(&plan->functions,
			      (struct plan_function){(uint32_t)plan->images.count, f,
						     flags_of(plan, f) | more, false}))
			return fail_errno(why, -ENOMEM, NULL, "cannot trace");
	}
	return 0;
}

/* Lists the functions of an image that is about to be in the plan. */
static int list_functions(struct plan *plan, struct plan_image *image, struct fail *why)
{
	struct symbol_image file = plan_symbol_image(image);
	struct probe_question question = {
		.image = &file,
		.symbols = plan->symbols,
		.choice = plan->wide,
		.own = true,
		.called = image->is_program,
		.inside = image->is_program ? NULL : plan_base_name(image->path),
		.exit = plan->options.exit,
		.calm = plan->calm,
		.stays = plan->options.stays,
		.refused_too = plan->options.refused_too,
	};

	return plan->options.only_files ? 0 : probe_functions_of(&question, &image->functions, why);
}

static bool is_known(const struct plan *plan, dev_t device, ino_t inode)
{
	vec_foreach (&plan->images, image)
		if (image->device == device && image->inode == inode)
			return true;
	return false;
}

static void image_free(struct plan_image *image)
{
	probe_functions_free(&image->functions);
	called_names_free(&image->names);
	if (image->fd >= 0)
		close(image->fd);
	free(image->path);
	free(image->root);
}

int plan_describe(const struct plan *plan, int fd, const char *path, const char *root,
		  struct plan_image *image)
{
	struct elf_file elf;
	struct stat st;

	*image = (struct plan_image){.fd = fd};
	if (file_stat(fd, &st) || is_known(plan, st.st_dev, st.st_ino)) {
		image_free(image);
		return 0;
	}
	image->device = st.st_dev;
	image->inode = st.st_ino;
	image->path = strdup(path);
	image->root = strdup(root);
	if (!image->path || !image->root) {
		image_free(image);
		return -ENOMEM;
	}
	if (!elf_file_open(&elf, fd)) {
		image->build_id_size = elf.build_id_size;
		memcpy(image->build_id, elf.build_id, elf.build_id_size);
		elf_file_close(&elf);
	}
	return 1;
}

int plan_keep_image(struct plan *plan, struct plan_image *image, struct fail *why)
{
	int err = number_functions(plan, image, why);

	if (!err && !vec_push(&plan->images, *image))
		err = fail_errno(why, -ENOMEM, NULL, "cannot trace");
	if (err) {
		image_free(image);
		return err;
	}
	if (!plan->left_out.count)
		plan->left_out = image->functions.left_out;
	else
		plan->left_out.count += image->functions.left_out.count;
	return 0;
}

/* Takes over fd. Returns 0, also when the file is known already. */
static int add_file(struct plan *plan, int fd, const char *path, const char *root, bool is_program,
		    struct fail *why)
{
	struct plan_image image;
	int err = plan_describe(plan, fd, path, root, &image);

	if (err <= 0)
		return err ? fail_errno(why, err, NULL, "cannot trace") : 0;
	image.is_program = is_program;
	err = list_functions(plan, &image, why);
	if (!err)
		return plan_keep_image(plan, &image, why);
	image_free(&image);
	return err;
}

static bool is_only_program(const struct plan *plan)
{
	size_t programs = 0;

	vec_foreach (&plan->images, image)
		programs += image->is_program;
	return programs == 1;
}

/* The libraries among the parts whose functions are not traced themselves. */
static size_t called_libraries(const struct plan *plan, const struct parts *parts,
			       struct called_library *libraries, struct symbol_image *files)
{
	size_t count = 0;

	vec_foreach (&parts->all, part) {
		if (part->is_program || part->fd < 0 || is_inside(plan, part->path))
			continue;
		files[count] = (struct symbol_image){
			.fd = part->fd, .path = part->path, .root = part->root};
		libraries[count] = (struct called_library){.image = &files[count],
							   .name = plan_base_name(part->path)};
		count++;
	}
	return count;
}

/* A library into which the program calls becomes an image of its own; takes over its functions. */
static int add_called(struct plan *plan, struct called_library *library, struct fail *why)
{
	struct plan_image image;
	int err, fd;

	if (!library->functions.count)
		return 0;
	fd = fcntl(library->image->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return fail_errno(why, -errno, NULL, "cannot trace %s", library->name);
	err = plan_describe(plan, fd, library->image->path, library->image->root, &image);
	if (err <= 0)
		return err ? fail_errno(why, err, NULL, "cannot trace") : 0;
	image.is_called = true;
	image.functions = library->functions;
	image.names = library->names;
	library->functions = (struct probe_functions){0};
	library->names = (struct called_names){0};
	return plan_keep_image(plan, &image, why);
}

/* Probes what a program calls in libraries there, where that is cheaper than on its stubs. */
static int move_stubs(struct plan *plan, size_t program, const struct parts *parts,
		      struct fail *why)
{
	const struct probe_functions *stubs = &plan->images.at[program].functions;
	struct called_library *libraries = calloc(parts->all.count, sizeof(*libraries));
	struct symbol_image *files = calloc(parts->all.count, sizeof(*files));
	bool *moved = calloc(stubs->count + 1, sizeof(*moved));
	const struct called_wish wish = {plan->options.exit, plan->calm, plan->options.stays};
	size_t count, i;
	int err = -ENOMEM;

	if (!libraries || !files || !moved) {
		fail_errno(why, err, NULL, "cannot trace");
		goto out;
	}
	count = called_libraries(plan, parts, libraries, files);
	err = called_find(plan->symbols, stubs, moved, libraries, count, &wish, why);
	for (i = 0; !err && i < stubs->count; i++)
		plan->functions.at[plan->images.at[program].first + i].is_moved = moved[i];
	for (i = 0; !err && i < count; i++)
		err = add_called(plan, &libraries[i], why);
	for (i = 0; i < count; i++)
		probe_functions_free(&libraries[i].functions);
	for (i = 0; i < count; i++)
		called_names_free(&libraries[i].names);
out:
	free(libraries);
	free(files);
	free(moved);
	return err;
}

/*
 * The libraries of the languages themselves make threads and set handlers when someone asks them
 * to.
 */
static bool is_calm(int fd, const char *path, const char *root)
{
	static const char *const of_languages[] = {"libc.so*", "libstdc++.so*", "libgcc_s.so*",
						   "libm.so*", "ld-linux*"};
	const struct symbol_image file = {.fd = fd, .path = path, .root = root};
	size_t i;

	for (i = 0; i < sizeof(of_languages) / sizeof(of_languages[0]); i++)
		if (!fnmatch(of_languages[i], plan_base_name(path), 0))
			return true;
	return probe_is_calm(&file);
}

static int add_parts(struct plan *plan, struct parts *parts, struct fail *why)
{
	size_t programs, i;
	int err = 0;

	plan->calm = !plan->options.no_guard;
	vec_foreach (&parts->all, part)
		plan->calm &= is_calm(part->fd, part->path, part->root);
	vec_foreach (&parts->all, part) {
		if (err || !(part->is_program || is_inside(plan, part->path)))
			continue;
		err = add_file(plan, part->fd, part->path, part->root, part->is_program, why);
		part->fd = -1;
	}
	programs = plan->images.count;
	/* of several programs with different libraries, each stub is the better place */
	for (i = 0; !err && i < programs && is_only_program(plan); i++)
		if (plan->images.at[i].is_program)
			err = move_stubs(plan, i, parts, why);
	return err ? err : plan_add_catchers(plan, parts, why);
}

size_t plan_limit(const struct plan *plan)
{
	return plan->limit;
}

const char *plan_warning(const struct plan *plan)
{
	return plan->warning;
}

int plan_new(const struct plan_options *options, struct plan **result, struct fail *why)
{
	struct plan *plan = calloc(1, sizeof(*plan));
	static const struct symbol_options symbol_options;
	struct parts parts = {0};
	int err;

	if (!plan)
		return fail_errno(why, -ENOMEM, NULL, "cannot trace");
	plan->options = *options;
	plan->limit = options->limit ? options->limit : FUNCTIONS_LIMIT;
	err = make_choices(plan, why);
	if (!err && symbols_new(&symbol_options, &plan->symbols))
		err = fail_errno(why, -ENOMEM, NULL, "cannot trace");
	if (!err)
		err = parts_find(plan->options.selection, &parts, why);
	if (!err)
		err = add_parts(plan, &parts, why);
	if (!err && !plan->traceable && !(options->only_files && plan->images.count) &&
	    !(options->refused_too && plan->functions.count))
		err = plan_no_match(plan, &parts, why);
	if (err == -ENOENT && why && plan_may_grow(plan)) {
		if (asprintf(&plan->warning, "%s; %s", why->what,
			     plan->images.count ? "what a target executes or loads later is traced"
						: "those that start later are traced") < 0)
			plan->warning = NULL;
		err = 0;
	}
	parts_free(&parts);
	if (!err && options->exit == PROBE_WISH_RETURN && !plan->warning)
		plan->warning = strdup("--exit return changes return addresses: an exception, a "
				       "cancelled thread or a coroutine that passes one can end a "
				       "target; without it, none can");
	if (err)
		plan_free(plan);
	else
		*result = plan;
	return err;
}

void plan_free(struct plan *plan)
{
	if (!plan)
		return;
	vec_foreach (&plan->images, image)
		image_free(image);
	vec_free(&plan->images);
	vec_free(&plan->functions);
	choice_free(plan->wanted);
	choice_free(plan->wide);
	choice_free(plan->under);
	choice_free(plan->start_on);
	choice_free(plan->stop_on);
	choice_free(plan->stack);
	symbols_free(plan->symbols);
	free(plan->warning);
	free(plan);
}

uint32_t plan_find(const struct plan *plan, const struct image *image)
{
	struct stat st;

	if (image->kind != IMAGE_FILE || image->fd < 0 || file_stat(image->fd, &st))
		return UINT32_MAX;
	for (uint32_t i = 0; i < plan->images.count; i++)
		if (plan->images.at[i].inode == st.st_ino && plan->images.at[i].device == st.st_dev)
			return i;
	return UINT32_MAX;
}

int plan_add_image(struct plan *plan, const struct image *image, bool is_program, uint32_t *added)
{
	size_t before = plan->images.count;
	int err, fd;

	*added = UINT32_MAX;
	if (image->kind != IMAGE_FILE || image->fd < 0 || !image->is_elf)
		return 0;
	plan->calm = plan->calm && is_calm(image->fd, image->path, image->root);
	if (!is_program && !is_inside(plan, image->path))
		return 0;
	fd = fcntl(image->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	err = add_file(plan, fd, image->path, image->root, is_program, NULL);
	if (!err && plan->images.count > before)
		*added = (uint32_t)before;
	return err;
}

const struct probe_left_out *plan_left_out(const struct plan *plan)
{
	return &plan->left_out;
}

const struct plan_image *plan_images(const struct plan *plan, size_t *count)
{
	*count = plan->images.count;
	return plan->images.at;
}

const struct plan_function *plan_functions(const struct plan *plan, size_t *count)
{
	*count = plan->functions.count;
	return plan->functions.at;
}
