// SPDX-License-Identifier: Apache-2.0
/*
 * Where exceptions are caught: at __cxa_begin_catch, which the code of each catch calls first. An
 * image that calls it by a stub, or has a copy of its own, has its place itself. One that calls it
 * through a pointer (-fno-plt) has none: then the probe is put into the library that defines it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/file.h"
#include "sources/calls/plan_private.h"

/* How an image comes to __cxa_begin_catch. */
enum catch_place {
	CATCH_NONE,	 /* it does not call it */
	CATCH_HERE,	 /* by this stub, or this function of its own */
	CATCH_ELSEWHERE, /* through a pointer */
};

/* own: only a function that the file defines counts. */
static enum catch_place catch_place(const struct plan *plan, const struct symbol_image *file,
				    bool own, struct probe_site *site)
{
	struct probe_question question = {
		.image = file,
		.symbols = plan->symbols,
		.own = true,
		.called = !own,
		.exit = PROBE_WISH_AUTO,
		.stays = true,
		.unwinders = true,
		.refused_too = true,
	};
	struct probe_functions functions = {0};
	enum catch_place place = CATCH_NONE;
	struct choice *choice;

	if (choice_new(&choice))
		return CATCH_NONE;
	question.choice = choice;
	if (!choice_add_function(choice, true, "__cxa_begin_catch", NULL))
		probe_functions_of(&question, &functions, NULL);
	for (size_t i = 0; i < functions.count && place != CATCH_HERE; i++) {
		if (functions.at[i].refusal == PROBE_REFUSED_NO_STUB)
			place = CATCH_ELSEWHERE;
		if (functions.at[i].refusal != PROBE_ALLOWED)
			continue;
		*site = functions.at[i].entry;
		place = CATCH_HERE;
	}
	probe_functions_free(&functions);
	choice_free(choice);
	return place;
}

/* Is a function of this image traced that may catch, or that calls into one that does? */
static bool is_traced(const struct plan_image *image)
{
	return !image->is_called && image->functions.count;
}

bool plan_find_catch(const struct plan *plan, const struct plan_image *image,
		     struct probe_site *site)
{
	struct symbol_image file = plan_symbol_image(image);

	return (is_traced(image) || image->is_catcher) &&
	       catch_place(plan, &file, image->is_catcher, site) == CATCH_HERE;
}

static bool needs_catcher(const struct plan *plan)
{
	struct probe_site site;

	vec_foreach (&plan->images, image) {
		struct symbol_image file = plan_symbol_image(image);

		if (is_traced(image) && catch_place(plan, &file, false, &site) == CATCH_ELSEWHERE)
			return true;
	}
	return false;
}

/* The plan may have the library already, if the program calls its other functions. */
static bool mark_known(struct plan *plan, const struct part *part)
{
	struct stat st;

	if (file_stat(part->fd, &st))
		return true;
	vec_foreach (&plan->images, image) {
		if (image->device != st.st_dev || image->inode != st.st_ino)
			continue;
		image->is_catcher = true;
		return true;
	}
	return false;
}

static int add_catcher(struct plan *plan, const struct part *part, struct fail *why)
{
	struct plan_image image;
	int err, fd;

	if (mark_known(plan, part))
		return 0;
	fd = fcntl(part->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return fail_errno(why, -errno, NULL, "cannot trace %s", part->path);
	err = plan_describe(plan, fd, part->path, part->root, &image);
	if (err <= 0)
		return err ? fail_errno(why, err, NULL, "cannot trace") : 0;
	image.is_catcher = true;
	return plan_keep_image(plan, &image, why);
}

int plan_add_catchers(struct plan *plan, const struct parts *parts, struct fail *why)
{
	struct probe_site site;
	int err = 0;

	if (plan->options.only_files || !needs_catcher(plan))
		return 0;
	vec_foreach (&parts->all, part) {
		struct symbol_image file = {.fd = part->fd, .path = part->path, .root = part->root};

		if (!err && part->fd >= 0 && catch_place(plan, &file, true, &site) == CATCH_HERE)
			err = add_catcher(plan, part, why);
	}
	return err;
}
