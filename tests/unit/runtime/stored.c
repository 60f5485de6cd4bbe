// SPDX-License-Identifier: Apache-2.0
#include "stored.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zstd.h>

#include "unwind/pages.h"

#define MAGIC		    "stackcam process 1\n"
#define IMAGES_STORED_MAX   4096
#define MAPPINGS_STORED_MAX 16384
#define SEGMENTS_MAX	    64
#define RULES_STORED_MAX    65536
#define BYTES_MAX	    (64u << 20) /* uncompressed */

void stored_free(struct stored *stored)
{
	vec_foreach (&stored->images, image) {
		if (image->image.fd >= 0)
			close(image->image.fd);
		free(image->image.path);
		free(image->image.root);
		free(image->image.segments);
		pieces_free(&image->file);
		vec_free(&image->rules);
	}
	vec_free(&stored->images);
	vec_free(&stored->mappings);
	vec_free(&stored->mapped);
	pieces_free(&stored->memory);
	free(stored->process.command);
	free(stored->process.exe);
	free(stored->process.cgroup);
	free(stored->process.container);
	*stored = (struct stored){0};
}

static void put_text(struct buf *to, const char *s)
{
	buf_put(to, s ? s : "", strlen(s ? s : "") + 1);
}

static void pack_image(struct stored_image *from, struct buf *to)
{
	const struct image *image = &from->image;
	uint64_t behind = 0;
	uint32_t i;

	put_text(to, image->path);
	buf_put_varint(to, image->kind);
	buf_put_varint(to, image->is_elf);
	buf_put_varint(to, image->build_id_size);
	buf_put(to, image->build_id, image->build_id_size);
	buf_put_varint(to, image->segment_count);
	for (i = 0; i < image->segment_count; i++) {
		buf_put_varint(to, image->segments[i].offset);
		buf_put_varint(to, image->segments[i].address);
		buf_put_varint(to, image->segments[i].size);
	}
	buf_put_varint(to, from->file_size);
	buf_put_varint(to, from->suspects);
	buf_put_varint(to, from->has_table);
	buf_put_varint(to, from->rules.count);
	vec_foreach (&from->rules, rule) {
		buf_put_varint(to, rule->address - behind);
		buf_put(to, &rule->rule, sizeof(rule->rule));
		behind = rule->address;
	}
	pieces_write(&from->file, to);
}

void stored_pack(struct stored *stored, struct buf *to)
{
	uint64_t behind = 0;
	size_t i;

	buf_put(to, MAGIC, strlen(MAGIC));
	put_text(to, stored->process.comm);
	put_text(to, stored->process.command);
	put_text(to, stored->process.exe);
	buf_put_varint(to, (uint64_t)stored->process.pid);
	for (i = 0; i < 16; i++)
		buf_put_varint(to, stored->thread.registers[i]);
	buf_put_varint(to, stored->thread.pc);
	buf_put_varint(to, stored->thread.tls);
	buf_put_varint(to, stored->images.count);
	vec_foreach (&stored->images, image)
		pack_image(image, to);
	buf_put_varint(to, stored->mappings.count);
	for (i = 0; i < stored->mappings.count; i++) {
		const struct mapping *mapping = &stored->mappings.at[i];

		buf_put_varint(to, mapping->start - behind);
		buf_put_varint(to, mapping->end - mapping->start);
		buf_put_varint(to, mapping->offset);
		buf_put_varint(to, mapping->bias);
		buf_put_varint(to, stored->mapped.at[i]);
		behind = mapping->end;
	}
	pieces_write(&stored->memory, to);
}

static char *take_text(struct bytes *from)
{
	char *copy = strdup(bytes_text(from));

	from->failed |= !copy;
	return copy;
}

/* A number that counts something; more than limit is damage. */
static uint32_t take_count(struct bytes *from, uint32_t limit)
{
	uint64_t count = bytes_varint(from);

	if (count > limit)
		from->failed = true;
	return from->failed ? 0 : (uint32_t)count;
}

static void unpack_segments(struct image *image, struct bytes *from)
{
	uint32_t i;

	image->segment_count = take_count(from, SEGMENTS_MAX);
	image->segments = calloc(image->segment_count + 1, sizeof(*image->segments));
	from->failed |= !image->segments;
	for (i = 0; i < image->segment_count && !from->failed; i++) {
		image->segments[i].offset = bytes_varint(from);
		image->segments[i].address = bytes_varint(from);
		image->segments[i].size = bytes_varint(from);
	}
}

static void unpack_rules(struct stored_image *to, struct bytes *from)
{
	uint32_t count = take_count(from, RULES_STORED_MAX), i;
	uint64_t address = 0;

	for (i = 0; i < count && !from->failed; i++) {
		struct stored_rule rule = {.address = address + bytes_varint(from)};
		const uint8_t *bytes = bytes_read(from, sizeof(rule.rule));

		if (!bytes || rule.address < address)
			break;
		memcpy(&rule.rule, bytes, sizeof(rule.rule));
		from->failed |= !vec_push(&to->rules, rule);
		address = rule.address;
	}
}

static void unpack_image(struct stored *stored, struct bytes *from)
{
	struct stored_image made = {.image = {.fd = -1}}, *to;
	const uint8_t *id;

	if (!vec_push(&stored->images, made)) {
		from->failed = true;
		return;
	}
	to = vec_last(&stored->images);
	to->image.number = (uint32_t)stored->images.count;
	to->image.users = 1;
	to->image.path = take_text(from);
	to->image.root = strdup("");
	to->image.kind = (enum image_kind)take_count(from, IMAGE_SPECIAL);
	to->image.is_elf = bytes_varint(from) != 0;
	to->image.build_id_size = take_count(from, IMAGE_BUILD_ID_MAX);
	id = bytes_read(from, to->image.build_id_size);
	if (id)
		memcpy(to->image.build_id, id, to->image.build_id_size);
	unpack_segments(&to->image, from);
	to->file_size = bytes_varint(from);
	to->suspects = (uint32_t)bytes_varint(from);
	to->has_table = bytes_varint(from) != 0;
	unpack_rules(to, from);
	pieces_read(&to->file, from, BYTES_MAX);
}

/* As the kernel lists them: in order, and none overlaps another. */
static void unpack_mapping(struct stored *stored, struct bytes *from, uint64_t *behind)
{
	struct mapping mapping;
	uint32_t image;

	mapping.start = *behind + bytes_varint(from);
	mapping.end = mapping.start + bytes_varint(from);
	mapping.offset = bytes_varint(from);
	mapping.bias = bytes_varint(from);
	mapping.image = NULL;
	image = take_count(from, (uint32_t)stored->images.count);
	if (mapping.start < *behind || mapping.end <= mapping.start ||
	    image >= stored->images.count || !vec_push(&stored->mappings, mapping) ||
	    !vec_push(&stored->mapped, image))
		from->failed = true;
	*behind = mapping.end;
}

int stored_unpack(struct stored *stored, const void *bytes, size_t count)
{
	struct bytes from = {bytes, (const uint8_t *)bytes + count, false};
	const uint8_t *magic = bytes_read(&from, strlen(MAGIC));
	uint64_t behind = 0;
	uint32_t n, i;

	*stored = (struct stored){0};
	if (!magic || memcmp(magic, MAGIC, strlen(MAGIC)) != 0)
		return -EINVAL;
	snprintf(stored->process.comm, sizeof(stored->process.comm), "%s", bytes_text(&from));
	stored->process.command = take_text(&from);
	stored->process.exe = take_text(&from);
	stored->process.cgroup = strdup("");
	stored->process.container = strdup("");
	stored->process.pid = (pid_t)bytes_varint(&from);
	for (i = 0; i < 16; i++)
		stored->thread.registers[i] = bytes_varint(&from);
	stored->thread.pc = bytes_varint(&from);
	stored->thread.tls = bytes_varint(&from);
	n = take_count(&from, IMAGES_STORED_MAX);
	for (i = 0; i < n && !from.failed; i++)
		unpack_image(stored, &from);
	n = take_count(&from, MAPPINGS_STORED_MAX);
	for (i = 0; i < n && !from.failed; i++)
		unpack_mapping(stored, &from, &behind);
	pieces_read(&stored->memory, &from, BYTES_MAX);
	if (!from.failed)
		return 0;
	stored_free(stored);
	return -EINVAL;
}

int stored_save(struct stored *stored, const char *path)
{
	struct buf plain = {0};
	size_t room, size;
	FILE *file = NULL;
	uint8_t *packed;
	int err = -ENOMEM;

	stored_pack(stored, &plain);
	room = ZSTD_compressBound(plain.count);
	packed = malloc(room);
	if (plain.failed || !packed)
		goto done;
	size = ZSTD_compress(packed, room, plain.at, plain.count, 19);
	file = fopen(path, "we");
	err = !file || ZSTD_isError(size) || fwrite(packed, 1, size, file) != size ? -EIO : 0;
done:
	if (file && fclose(file) && !err)
		err = -EIO;
	free(packed);
	buf_free(&plain);
	return err;
}

uint8_t *stored_expand(const void *compressed, size_t size, size_t *expanded)
{
	unsigned long long wanted = ZSTD_getFrameContentSize(compressed, size);
	uint8_t *plain;

	if (wanted == ZSTD_CONTENTSIZE_UNKNOWN || wanted == ZSTD_CONTENTSIZE_ERROR ||
	    wanted > BYTES_MAX)
		return NULL;
	plain = malloc((size_t)wanted + 1);
	if (!plain)
		return NULL;
	*expanded = ZSTD_decompress(plain, (size_t)wanted, compressed, size);
	if (!ZSTD_isError(*expanded))
		return plain;
	free(plain);
	return NULL;
}

int stored_load(struct stored *stored, const char *path)
{
	FILE *file = fopen(path, "re");
	uint8_t *packed = NULL, *plain = NULL;
	struct stat about;
	size_t size = 0;
	int err = -EIO;

	*stored = (struct stored){0};
	/* no more than it needs: tests have the allocator fill what it hands out */
	if (file && !fstat(fileno(file), &about) && about.st_size <= (off_t)BYTES_MAX)
		packed = malloc((size_t)about.st_size + 1);
	if (packed) {
		size = fread(packed, 1, (size_t)about.st_size, file);
		plain = stored_expand(packed, size, &size);
	}
	if (plain)
		err = stored_unpack(stored, plain, size);
	if (file)
		fclose(file);
	free(packed);
	free(plain);
	return err;
}

/* What is known of the image's file, as a file. */
static int make_file(struct stored_image *image)
{
	pieces_runs runs = {0};
	int fd = memfd_create("stored-image", MFD_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	if (image->file_size >> 40 || ftruncate(fd, (off_t)image->file_size))
		err = -EINVAL;
	if (!pieces_list(&image->file, &runs))
		err = -ENOMEM;
	vec_foreach (&runs, run) {
		uint8_t bytes[4096];
		size_t done = 0, part;

		for (; !err && done < run->count; done += part) {
			part = run->count - done < 4096 ? run->count - done : 4096;
			if (run->address + done > image->file_size ||
			    !pieces_get(&image->file, run->address + done, bytes, part) ||
			    pwrite(fd, bytes, part, (off_t)(run->address + done)) != (ssize_t)part)
				err = -EIO;
		}
	}
	vec_free(&runs);
	if (err)
		close(fd);
	else
		image->image.fd = fd;
	return err;
}

int stored_begin(struct stored *stored)
{
	size_t i;
	int err;

	vec_foreach (&stored->images, image) {
		if (image->image.fd >= 0 || !image->file.pages.count)
			continue;
		err = make_file(image);
		if (err)
			return err;
	}
	for (i = 0; i < stored->mappings.count; i++)
		stored->mappings.at[i].image = &stored->images.at[stored->mapped.at[i]].image;
	stored->process.mappings = stored->mappings.at;
	stored->process.mapping_count = stored->mappings.count;
	return 0;
}

static int read_stored(void *context, void *to, size_t size, uint64_t address)
{
	struct stored *stored = context;

	if (stored->reads_max && stored->reads >= stored->reads_max)
		return -ESRCH;
	stored->reads++;
	return pieces_get(&stored->memory, address, to, size) ? 0 : -EFAULT;
}

static struct stored_image *image_of(const struct image *image)
{
	return (struct stored_image *)((uintptr_t)image - offsetof(struct stored_image, image));
}

static uint32_t suspects_of(void *context, const struct image *image)
{
	(void)context;
	return image_of(image)->suspects;
}

/* Where no stack went there is no rule: a walk that comes there has lost the way. */
static void table_of(void *context, const struct image *image, struct unwind_pool *pool,
		     struct unwind_rules *rules, struct unwind_table *table)
{
	static const struct unwind_rule nothing = {.cfa = UNWIND_CFA_UNSUPPORTED};
	const struct stored_image *stored = image_of(image);
	struct pages pages;
	uint32_t count;
	int err = 0;

	(void)context;
	*table = (struct unwind_table){0};
	if (!stored->rules.count || !stored->has_table ||
	    (vec_last(&stored->rules)->address >> UNWIND_PAGE_SHIFT) -
			    (stored->rules.at[0].address >> UNWIND_PAGE_SHIFT) >
		    PAGES_MAX / 2)
		return;
	pages_begin(&pages, stored->rules.at[0].address, pool, rules);
	vec_foreach (&stored->rules, rule) {
		struct unwind_rule plain = rule->rule;

		plain.until = 0;
		if (!err)
			err = pages_add(&pages, rule->address, &plain);
		if (!err)
			err = pages_add(&pages, rule->address + 1, &nothing);
	}
	if (!err)
		err = pages_end(&pages, &table->directory, &count);
	else
		pages_drop(&pages);
	if (err)
		return;
	table->first_page = (uint32_t)pages.first_page;
	table->pages = count;
}

struct stored_source stored_source(struct stored *stored)
{
	return (struct stored_source){
		.process = &stored->process,
		.thread = &stored->thread,
		.memory = {read_stored, stored},
		.context = stored,
		.suspects = suspects_of,
		.table = table_of,
	};
}
