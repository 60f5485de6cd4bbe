// SPDX-License-Identifier: Apache-2.0
/*
 * Stores a process for tests: stops it, walks the stack of one of its threads as the recorder
 * would, and writes what was read on the way and the stack that was found. It needs the right to
 * trace the process.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "excerpt.h"
#include "stored.h"
#include "traced.h"

#define LINE 64

/*
 * Bytes from which on something is left out: more bytes serve also when a runtime's file reads
 * more some day.
 */
#define LARGE 32768

struct options {
	pid_t pid, tid;
	const char *until, *out;
	int tries;
	bool show;
};

/* A process in the making. */
struct maker {
	struct stored stored;
	struct targets *targets;
	const struct process *process;
	struct traced traced;
	struct map image_places; /* image number -> place in stored.images */
};

static struct stored_image *stored_of(struct maker *maker, const struct image *image)
{
	const uint64_t *place = map_get(&maker->image_places, image->number);

	return place ? &maker->stored.images.at[*place] : NULL;
}

static bool take_image(struct maker *maker, const struct image *image)
{
	struct stored_image to = {.image = *image};
	size_t bytes = image->segment_count * sizeof(*image->segments);

	to.image.path = strdup(image->path);
	to.image.root = NULL;
	to.image.segments = malloc(bytes + 1);
	if (!to.image.path || !to.image.segments)
		return false;
	if (bytes)
		memcpy(to.image.segments, image->segments, bytes);
	return map_put(&maker->image_places, image->number, maker->stored.images.count) &&
	       vec_push(&maker->stored.images, to);
}

static bool take_process(struct maker *maker)
{
	const struct process *from = maker->process;
	struct process *to = &maker->stored.process;
	size_t i;

	to->pid = from->pid;
	snprintf(to->comm, sizeof(to->comm), "%s", from->comm);
	to->command = strdup(from->command);
	to->exe = strdup(from->exe);
	for (i = 0; i < from->mapping_count; i++) {
		const struct mapping *mapping = &from->mappings[i];

		if (!stored_of(maker, mapping->image) && !take_image(maker, mapping->image))
			return false;
		if (!vec_push(&maker->stored.mappings, *mapping) ||
		    !vec_push(&maker->stored.mapped,
			      (uint32_t)*map_get(&maker->image_places, mapping->image->number)))
			return false;
	}
	return true;
}

/* What lies around it is kept too: a runtime's file may read a little more some day. */
static void keep_around(struct maker *maker, uint64_t address)
{
	uint8_t line[LINE];

	address &= ~(LINE - 1ull);
	if (!runtime_read_process((void *)(intptr_t)maker->process->pid, line, LINE, address))
		pieces_put(&maker->stored.memory, address, line, LINE);
}

static int read_and_keep(void *context, void *to, size_t size, uint64_t address)
{
	struct maker *maker = context;
	int err = runtime_read_process((void *)(intptr_t)maker->process->pid, to, size, address);

	if (err || !size)
		return err;
	keep_around(maker, address);
	keep_around(maker, address + size - 1);
	return pieces_put(&maker->stored.memory, address, to, size) ? 0 : -EFAULT;
}

static uint32_t suspects_of(void *context, const struct image *image)
{
	struct stored_image *to = stored_of(context, image);
	struct budget budget;
	uint32_t suspects;
	size_t i;

	/* asked again for each of its mappings; it reads the file */
	if (to->looked)
		return to->suspects;
	to->looked = true;
	runtime_budget(&budget);
	suspects = image->kind == IMAGE_FILE ? runtime_suspects(image, &budget) : 0;
	for (i = 0; runtime_types[i]; i++)
		if (suspects >> i & 1)
			to->suspects |= 1u << runtime_types[i]->id;
	if (to->suspects)
		excerpt_begin(to);
	return to->suspects;
}

static void table_of(void *context, const struct image *image, struct unwind_pool *pool,
		     struct unwind_rules *rules, struct unwind_table *table)
{
	struct stored_image *to = stored_of(context, image);

	if (image->memory)
		unwind_table_of_memory(image->memory, image->memory_size, pool, rules, table, NULL);
	else if (image->fd >= 0 && image->is_elf)
		unwind_table_of_file(image->fd, pool, rules, table, NULL);
	to->has_table = table->pages != 0;
}

static void passed(void *context, const struct image *image, uint64_t address,
		   const struct unwind_rule *rule)
{
	struct stored_image *to = stored_of(context, image);
	struct stored_rule added = {address, *rule};
	size_t i;

	for (i = 0; i < to->rules.count && to->rules.at[i].address < address; i++)
		;
	if ((i < to->rules.count && to->rules.at[i].address == address) ||
	    !vec_push(&to->rules, added))
		return;
	memmove(&to->rules.at[i + 1], &to->rules.at[i],
		(to->rules.count - 1 - i) * sizeof(*to->rules.at));
	to->rules.at[i] = added;
}

/* Tables are read from the files too: that is not to be kept. */
static void table_apart(void *context, const struct image *image, struct unwind_pool *pool,
			struct unwind_rules *rules, struct unwind_table *table)
{
	struct stored_image *to = stored_of(context, image);
	struct image copy = *image;

	/* another descriptor of the same file is not watched */
	if (copy.fd >= 0)
		copy.fd = dup(copy.fd);
	copy.number = to->image.number;
	table_of(context, &copy, pool, rules, table);
	if (copy.fd >= 0)
		close(copy.fd);
}

static void forget(struct maker *maker)
{
	vec_foreach (&maker->stored.images, image) {
		if (image->suspects)
			excerpt_end(image);
		image->image.fd = -1; /* it is the target's */
	}
	stored_free(&maker->stored);
	map_free(&maker->image_places);
	targets_free(maker->targets);
	traced_let_go(&maker->traced);
	*maker = (struct maker){0};
}

/* Stops the process and walks. stack->text is the caller's. Negative errno. */
static int look(struct maker *maker, const struct options *options, struct stored_stack *stack)
{
	static const struct targets_listener nobody = {0};
	pid_t tid = options->tid ? options->tid : traced_busiest(options->pid);
	struct stored_source source = {
		.thread = &maker->stored.thread,
		.memory = {read_and_keep, maker},
		.context = maker,
		.suspects = suspects_of,
		.table = table_apart,
		.passed = passed,
	};

	if (!traced_stop(&maker->traced, options->pid) ||
	    !traced_registers(&maker->stored.thread, tid))
		return -ESRCH;
	if (targets_new(&nobody, &maker->targets))
		return -ENOMEM;
	source.process = maker->process = targets_find(maker->targets, options->pid);
	if (!maker->process)
		return -ESRCH;
	if (!take_process(maker))
		return -ENOMEM;
	return stored_walk(&source, stack);
}

static int write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");
	int err = file && fputs(text, file) >= 0 ? 0 : -EIO;

	if (file && fclose(file))
		err = -EIO;
	return err;
}

/*
 * Whether the stored process, as it is now, says this, by these runtimes (bits of enum
 * unwind_runtime).
 */
static bool says(struct stored *stored, struct stored_stack *stack, const char *text,
		 uint32_t attached)
{
	struct stored_source source = stored_source(stored);
	bool same = !stored_walk(&source, stack) && stack->attached == attached &&
		    !strcmp((char *)stack->text.at, text);

	buf_free(&stack->text);
	return same;
}

/* Something stored that is to become smaller, without saying anything else. */
struct smaller {
	struct stored *stored;
	struct stored_stack *stack;
	const char *text;
	uint32_t attached;
	struct pieces *pieces; /* the memory, */
	int fd;		       /* or the contents of this file; else -1 */
};

static void set(const struct smaller *s, uint64_t address, const uint8_t *bytes, size_t count)
{
	pieces_put(s->pieces, address, bytes, count);
	if (s->fd >= 0 && pwrite(s->fd, bytes, count, (off_t)address) != (ssize_t)count)
		perror("store: pwrite");
}

/*
 * Clears what was read but makes no difference: of names, say, mostly more is read than they are
 * long, and of tables all entries. By halves, down to some bytes.
 */
static void clear(const struct smaller *s, uint64_t address, size_t count)
{
	static const uint8_t zero[4096];
	uint8_t kept[4096];

	if (count < 64 || !pieces_get(s->pieces, address, kept, count) ||
	    !memcmp(kept, zero, count))
		return;
	set(s, address, zero, count);
	if (says(s->stored, s->stack, s->text, s->attached))
		return;
	set(s, address, kept, count);
	clear(s, address, count / 2);
	clear(s, address + count / 2, count - count / 2);
}

static void make_smaller(const struct smaller *s)
{
	pieces_runs runs = {0};

	if (!pieces_list(s->pieces, &runs))
		return;
	vec_foreach (&runs, run)
		for (size_t at = 0; at < run->count; at += 4096)
			clear(s, run->address + at,
			      run->count - at < 4096 ? run->count - at : 4096);
	vec_free(&runs);
}

static void make_all_smaller(struct stored *stored, struct stored_stack *stack, const char *text,
			     uint32_t attached)
{
	struct smaller s = {stored, stack, text, attached, &stored->memory, -1};

	make_smaller(&s);
	vec_foreach (&stored->images, image) {
		s.pieces = &image->file;
		s.fd = image->image.fd;
		if (s.fd >= 0)
			make_smaller(&s);
	}
}

static long size_of(const char *path)
{
	struct stat info;

	return stat(path, &info) ? 0 : (long)info.st_size;
}

/* Puts down what was found, and reads it again: it must say the same. */
static int keep(struct maker *maker, const struct options *options, const char *text,
		uint32_t attached)
{
	char path[4096];
	struct stored_stack *stack = calloc(1, sizeof(*stack));
	int err = stack ? 0 : -ENOMEM;
	struct stored again;

	vec_foreach (&maker->stored.images, image) {
		if (image->suspects)
			err = excerpt_end(image) ? err : -ENOMEM;
	}
	snprintf(path, sizeof(path), "%s.process", options->out);
	if (!err)
		err = stored_save(&maker->stored, path);
	if (!err)
		err = stored_load(&again, path);
	if (!err)
		err = stored_begin(&again);
	if (err) {
		fprintf(stderr, "store: cannot write %s: %s\n", path, strerror(-err));
		free(stack);
		return err;
	}
	if (!says(&again, stack, text, attached)) {
		fprintf(stderr, "store: %s, read again, says something else\n", path);
		err = -EILSEQ;
	} else if (size_of(path) > LARGE) {
		make_all_smaller(&again, stack, text, attached);
		err = stored_save(&again, path);
	}
	snprintf(path, sizeof(path), "%s.stack", options->out);
	if (!err)
		err = write_text(path, text);
	free(stack);
	stored_free(&again);
	return err;
}

static bool is_wanted(const struct options *options, const struct stored_stack *stack)
{
	return stack->end == UNWIND_END_ROOT && !stack->missed && !stack->unnamed &&
	       (!options->until || strstr((const char *)stack->text.at, options->until));
}

static int store(const struct options *options)
{
	struct stored_stack *stack = calloc(1, sizeof(*stack));
	struct maker maker = {0};
	int i, err = -EAGAIN;

	for (i = 0; stack && i < options->tries && err == -EAGAIN; i++) {
		err = look(&maker, options, stack);
		if (!err && is_wanted(options, stack))
			err = keep(&maker, options, (char *)stack->text.at, stack->attached);
		else if (!err)
			err = -EAGAIN;
		if (i + 1 == options->tries || err != -EAGAIN)
			fputs(stack->text.at ? (char *)stack->text.at : "", stdout);
		buf_free(&stack->text);
		forget(&maker);
	}
	free(stack);
	if (err)
		fprintf(stderr, "store: %s\n", strerror(-err));
	return err ? 1 : 0;
}

/* Prints the stack of a stored process. */
static int show(const char *path)
{
	struct stored_stack *stack = calloc(1, sizeof(*stack));
	struct stored_source source;
	struct stored stored;
	int err = stored_load(&stored, path);

	if (!err)
		err = stored_begin(&stored);
	source = stored_source(&stored);
	if (!err)
		err = stored_walk(&source, stack);
	if (err) {
		fprintf(stderr, "store: %s: %s\n", path, strerror(-err));
		return 1;
	}
	printf("%s: %s\n%zu images, %zu mappings, %zu pages of memory, %" PRIu64 " reads\n",
	       stored.process.comm, stored.process.command, stored.images.count,
	       stored.mappings.count, stored.memory.pages.count, stored.reads);
	fputs((char *)stack->text.at, stdout);
	buf_free(&stack->text);
	free(stack);
	stored_free(&stored);
	return 0;
}

static int usage(void)
{
	fputs("usage: store [--tid TID] [--until TEXT] [--tries N] PID OUT\n"
	      "       store --show FILE\n"
	      "\n"
	      "Writes OUT.process and OUT.stack: a thread of a process (its busiest one) with a "
	      "complete,\n"
	      "named stack, in which TEXT stands.\n",
	      stderr);
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"tid", required_argument, NULL, 't'},	 {"until", required_argument, NULL, 'u'},
		{"tries", required_argument, NULL, 'n'}, {"whole", no_argument, NULL, 'w'},
		{"show", no_argument, NULL, 's'},	 {0},
	};
	struct options options = {.tries = 50};
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (option == 't')
			options.tid = atoi(optarg);
		else if (option == 'u')
			options.until = optarg;
		else if (option == 'n')
			options.tries = atoi(optarg);
		else if (option == 's')
			options.show = true;
		else
			return usage();
	}
	if (options.show)
		return argc == optind + 1 ? show(argv[optind]) : usage();
	if (argc != optind + 2)
		return usage();
	options.pid = atoi(argv[optind]);
	options.out = argv[optind + 1];
	return store(&options);
}
