// SPDX-License-Identifier: Apache-2.0
#include "process/images.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/map.h"
#include "base/vec.h"
#include "process/far_files.h"
#include "process/image_open.h"
#include "process/procfs.h"

#define UNUSED_KEPT_NS	4000000000ull
#define UNUSED_KEPT_MAX 128
#define VDSO_BYTES_MAX	(256 * 1024)
#define MAPS_BYTES_MAX	(1024 * 1024)
#define OPEN_TRIES	8

struct entry {
	struct image image; /* first: images are handed out by pointer to it */
	uint64_t key;
	struct entry *next; /* with the same key */
	uint32_t tries;	    /* to open it, of those that failed */
	bool is_silent;	    /* its file system did not answer */
	uint64_t unused_since;
	struct entry *older, *newer; /* in the list of unused ones */
};

struct images {
	struct images_listener listener;
	struct far_files *far;
	struct map entries; /* key to struct entry */
	uint32_t count;
	struct {
		uint32_t *at;
		size_t count, room;
	} free_numbers;
	uint32_t numbers;
	struct entry *oldest_unused, *newest_unused;
	uint32_t unused;
	uint64_t unopened;
	size_t mappings; /* of all processes */
};

static struct entry *entry_of(struct image *image)
{
	return (struct entry *)image;
}

int images_new(const struct images_listener *listener, struct images **images)
{
	struct images *all = calloc(1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	all->listener = *listener;
	*images = all;
	return 0;
}

void images_read_far(struct images *images, struct far_files *far)
{
	images->far = far;
}

struct far_files *images_far(const struct images *images)
{
	return images->far;
}

enum image_kind image_kind_of(const char *path, ino_t inode, const char **name)
{
	/* the kernel's file for a memory that has a name */
	static const char *const memory_files[] = {"/memfd:", "/dev/zero", "/SYSV",
						   "/anon_hugepage"};

	*name = path;
	if (!strcmp(path, "[vdso]"))
		return IMAGE_VDSO;
	if (!strcmp(path, "[vsyscall]"))
		return IMAGE_VSYSCALL;
	if (!strcmp(path, "[heap]"))
		return IMAGE_ANON;
	if (!strncmp(path, "[stack", 6)) {
		*name = "[stack]";
		return IMAGE_ANON;
	}
	if (!inode && (!*path || !strncmp(path, "//", 2) || !strncmp(path, "[anon", 5))) {
		*name = "//anon";
		return IMAGE_ANON;
	}
	if (!inode || path[0] == '[' || !strncmp(path, "anon_inode:", 11))
		return IMAGE_SPECIAL;
	for (size_t i = 0; i < sizeof(memory_files) / sizeof(memory_files[0]); i++)
		if (!strncmp(path, memory_files[i], strlen(memory_files[i])))
			return IMAGE_ANON;
	return IMAGE_FILE;
}

static uint64_t ns_of(struct timespec time)
{
	return (uint64_t)time.tv_sec * 1000000000ull + (uint64_t)time.tv_nsec;
}

static struct image_identity identity_of(const struct stat *st)
{
	return (struct image_identity){
		.device = st->st_dev,
		.inode = st->st_ino,
		.size = (uint64_t)st->st_size,
		.changed = ns_of(st->st_ctim),
		.modified = ns_of(st->st_mtim),
	};
}

/*
 * Whether an image that has the device and inode in question still is what it was when it was
 * opened. A change of its metadata alone (a link, its deletion, a touch) leaves it the same: then
 * the build id decides, since contents may be written and all times but that of the change be set
 * back.
 */
static bool is_unchanged(struct entry *e)
{
	struct image now = {.fd = e->image.fd};
	struct image_identity identity;
	struct stat st;
	int err = file_stat(e->image.fd, &st);

	/* nothing is known to have changed while the file system does not answer */
	if (err)
		return err == -ETIMEDOUT;
	identity = identity_of(&st);
	if (identity.size != e->image.identity.size)
		return false;
	if (!memcmp(&identity, &e->image.identity, sizeof(identity)))
		return true;
	if (image_read_elf(&now))
		return false;
	free(now.segments);
	if (!now.build_id_size || now.build_id_size != e->image.build_id_size ||
	    memcmp(now.build_id, e->image.build_id, now.build_id_size))
		return false;
	e->image.identity = identity;
	return true;
}

/* The length of a path without the mark of a deleted file. */
static size_t path_length(const char *path)
{
	static const char mark[] = " (deleted)";
	size_t length = strlen(path), cut = sizeof(mark) - 1;

	return length > cut && !strcmp(path + length - cut, mark) ? length - cut : length;
}

static bool is_answer(struct entry *e, const struct image_question *q, const char *name)
{
	const struct image *image = &e->image;
	size_t length = path_length(name);

	if (image->inode != q->inode || image->device != q->device)
		return false;
	if (image->fd >= 0)
		return is_unchanged(e);
	return strlen(image->path) == length && !memcmp(image->path, name, length);
}

static uint64_t key_of(const struct image_question *q, enum image_kind kind, const char *name)
{
	uint64_t key = hash_u64((uint64_t)q->device * 31 + q->inode);

	if (q->inode)
		return key;
	if (kind == IMAGE_VDSO)
		return (q->end - q->start) * 2 + (q->start > UINT32_MAX);
	return hash_bytes(name, strlen(name));
}

/* The vDSO is the same in all processes of one kind; only 32-bit ones have another than we. */
static const void *own_vdso(size_t size)
{
	uint64_t at = getauxval(AT_SYSINFO_EHDR);
	struct buf text = {0};
	const void *found = NULL;

	if (at && !procfs_read(getpid(), "maps", MAPS_BYTES_MAX, &text)) {
		char *line = (char *)text.at, *next;

		for (; *line && !found; line = next) {
			struct procfs_mapping m;

			next = strchr(line, '\n');
			next = next ? next + 1 : line + strlen(line);
			if (procfs_parse_mapping(line, &m) && m.start == at && m.end - at == size)
				found = (const void *)(uintptr_t)at;
		}
	}
	buf_free(&text);
	return found;
}

static void *copy_memory(pid_t pid, uint64_t start, size_t size)
{
	void *copy = malloc(size);
	char path[32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = copy && fd >= 0 ? pread(fd, copy, size, (off_t)start) : -1;
	if (fd >= 0)
		close(fd);
	if (n == (ssize_t)size)
		return copy;
	free(copy);
	return NULL;
}

static int load_vdso(struct image *image, const struct image_question *q)
{
	size_t size = q->end - q->start;
	const void *own;
	void *copy = NULL;

	if (size > VDSO_BYTES_MAX)
		return 0;
	own = q->start > UINT32_MAX ? own_vdso(size) : NULL;
	if (own) {
		copy = malloc(size);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, own, size);
	} else {
		copy = copy_memory(q->pid, q->start, size);
	}
	if (!copy)
		return 0;
	image->memory = copy;
	image->memory_size = size;
	image->is_of_root = own;
	return image_read_elf(image);
}

static bool drop_oldest_unused(struct images *images);

static int load_file(struct images *images, struct entry *e, const struct image_question *q)
{
	struct image *image = &e->image;
	struct image_question question = *q;
	struct stat st;
	int err;

	question.path = image->path;
	image->is_far = far_files_is_far(images->far, q->pid, q->device);
	image->fd = image_open(images->far, &question, &st);
	while (image->fd == -EMFILE && drop_oldest_unused(images))
		image->fd = image_open(images->far, &question, &st);
	if (image->fd < 0) {
		if (image->fd == -ENXIO)
			image->kind = IMAGE_SPECIAL;
		e->is_silent = image->fd == -ETIMEDOUT;
		image->fd = -1;
		return 0;
	}
	image->identity = identity_of(&st);
	image->is_of_root = !st.st_uid && !(st.st_mode & S_IWOTH);
	err = image_read_elf(image);
	if (err)
		return err;
	if (image->kind == IMAGE_FILE || image->is_elf) {
		image->kind = IMAGE_FILE;
	} else {
		close(image->fd);
		image->fd = -1;
	}
	return 0;
}

static void free_entry(struct entry *e)
{
	if (e->image.fd >= 0)
		close(e->image.fd);
	free((void *)e->image.memory);
	free(e->image.segments);
	free(e->image.path);
	free(e->image.root);
	free(e);
}

static struct entry *load(struct images *images, const struct image_question *q,
			  enum image_kind kind, const char *name)
{
	struct entry *e = calloc(1, sizeof(*e));
	char root[32] = "";
	int err = 0;

	if (!e)
		return NULL;
	e->image.fd = -1;
	e->image.kind = kind;
	e->image.device = q->device;
	e->image.inode = q->inode;
	if (kind == IMAGE_FILE)
		image_root(q->pid, root, sizeof(root));
	e->image.root = strdup(root);
	e->image.path = strndup(name, path_length(name));
	if (!e->image.path || !e->image.root)
		err = -ENOMEM;
	else if (kind == IMAGE_VDSO)
		err = load_vdso(&e->image, q);
	else if (q->inode && kind != IMAGE_SPECIAL)
		err = load_file(images, e, q);
	if (!err)
		return e;
	free_entry(e);
	return NULL;
}

/* Gives an entry its number and its place in the table. */
static bool enter(struct images *images, struct entry *e)
{
	uint64_t *same = map_get(&images->entries, e->key);
	bool reuses = images->free_numbers.count > 0;

	/* room for the number to come back to, so that giving it back cannot fail */
	if (!vec_reserve(&images->free_numbers, images->numbers + 1))
		return false;
	e->next = same ? (struct entry *)(uintptr_t)*same : NULL;
	if (!map_put(&images->entries, e->key, (uintptr_t)e))
		return false;
	e->image.number = reuses ? *vec_last(&images->free_numbers) : images->numbers++;
	if (reuses)
		images->free_numbers.count--;
	images->count++;
	return true;
}

static void leave(struct images *images, struct entry *e)
{
	uint64_t *first = map_get(&images->entries, e->key);
	struct entry *at = (struct entry *)(uintptr_t)*first;

	if (at == e && !e->next) {
		map_remove(&images->entries, e->key);
	} else if (at == e) {
		*first = (uintptr_t)e->next;
	} else {
		while (at->next != e)
			at = at->next;
		at->next = e->next;
	}
	vec_push(&images->free_numbers, e->image.number);
	images->count--;
}

static void unlink_unused(struct images *images, struct entry *e)
{
	*(e->older ? &e->older->newer : &images->oldest_unused) = e->newer;
	*(e->newer ? &e->newer->older : &images->newest_unused) = e->older;
	e->older = e->newer = NULL;
	images->unused--;
}

static bool drop_oldest_unused(struct images *images)
{
	struct entry *e = images->oldest_unused;

	if (!e)
		return false;
	unlink_unused(images, e);
	leave(images, e);
	if (images->listener.image_gone)
		images->listener.image_gone(images->listener.context, &e->image);
	free_entry(e);
	return true;
}

static struct entry *find(struct images *images, const struct image_question *q, uint64_t key,
			  const char *name)
{
	uint64_t *first = map_get(&images->entries, key);
	struct entry *e = first ? (struct entry *)(uintptr_t)*first : NULL;

	while (e && !is_answer(e, q, name))
		e = e->next;
	return e;
}

static struct image *get_existing(struct images *images, struct entry *e)
{
	if (!e->image.users)
		unlink_unused(images, e);
	e->image.users++;
	return &e->image;
}

/*
 * Whether it is worth to try the file again: it was mapped by a process that was gone before its
 * container's files could be reached, say, and this one may still live. One whose file system did
 * not answer costs next to nothing until it does.
 */
static bool may_open_now(struct entry *e)
{
	return e->image.kind == IMAGE_FILE && e->image.fd < 0 &&
	       (e->is_silent || e->tries++ < OPEN_TRIES);
}

struct image *images_get(struct images *images, const struct image_question *q)
{
	const char *name;
	enum image_kind kind = image_kind_of(q->path, q->inode, &name);
	uint64_t key = key_of(q, kind, name);
	struct entry *e = find(images, q, key, name), *loaded = NULL;
	struct image *existing = NULL;

	/* in use: so it is not what is dropped to make room for itself */
	if (e)
		existing = get_existing(images, e);
	if (e && !may_open_now(e))
		return existing;
	if (images->count < IMAGES_MAX || drop_oldest_unused(images))
		loaded = load(images, q, kind, name);
	if (!loaded)
		return existing;
	loaded->key = key;
	if ((e && loaded->image.fd < 0) || !enter(images, loaded)) {
		free_entry(loaded);
		return existing;
	}
	if (e)
		images_release(images, existing, e->unused_since);
	if (loaded->image.kind == IMAGE_FILE && loaded->image.fd < 0)
		images->unopened++;
	loaded->image.users = 1;
	if (images->listener.image_new)
		images->listener.image_new(images->listener.context, &loaded->image);
	return &loaded->image;
}

void images_use(struct image *image)
{
	image->users++;
}

void images_release(struct images *images, struct image *image, uint64_t time)
{
	struct entry *e = entry_of(image);

	if (--image->users)
		return;
	e->unused_since = time;
	e->older = images->newest_unused;
	*(e->older ? &e->older->newer : &images->oldest_unused) = e;
	images->newest_unused = e;
	images->unused++;
}

void images_forget_before(struct images *images, uint64_t time)
{
	uint64_t before = time == UINT64_MAX	  ? UINT64_MAX
			  : time > UNUSED_KEPT_NS ? time - UNUSED_KEPT_NS
						  : 0;

	while (images->oldest_unused &&
	       (images->unused > UNUSED_KEPT_MAX || images->oldest_unused->unused_since < before))
		drop_oldest_unused(images);
}

void images_free(struct images *images)
{
	uint64_t key, value;

	if (!images)
		return;
	for (size_t i = 0; map_next(&images->entries, &i, &key, &value);) {
		struct entry *e = (struct entry *)(uintptr_t)value, *next;

		for (; e; e = next) {
			next = e->next;
			if (images->listener.image_gone)
				images->listener.image_gone(images->listener.context, &e->image);
			free_entry(e);
		}
	}
	map_free(&images->entries);
	vec_free(&images->free_numbers);
	free(images);
}

bool images_add_mappings(struct images *images, size_t more)
{
	if (more > MAPPINGS_ALL_MAX - images->mappings)
		return false;
	images->mappings += more;
	return true;
}

void images_drop_mappings(struct images *images, size_t fewer)
{
	images->mappings -= fewer;
}

uint64_t images_bias(const struct image *image, uint64_t start, uint64_t offset)
{
	uint64_t bias;

	/* there is no file whose addresses could stand for those of the process */
	if (image->kind != IMAGE_FILE && image->kind != IMAGE_VDSO)
		return 0;
	image_bias(image, start, offset, &bias);
	return bias;
}

uint32_t images_count(const struct images *images)
{
	return images->count;
}

uint64_t images_unopened(const struct images *images)
{
	return images->unopened;
}
