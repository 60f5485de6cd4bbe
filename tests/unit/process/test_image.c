// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/image_open.h"
#include "process/images.h"

/* A file with the parts of an ELF image that matter here. */
struct small_elf {
	Elf64_Ehdr header;
	Elf64_Phdr segment[4];
	struct {
		Elf64_Nhdr other;
		char other_name[8];
		Elf64_Nhdr id;
		char id_name[4];
		uint8_t id_bytes[20];
	} notes;
};

static struct small_elf small_elf(uint8_t id_byte)
{
	struct small_elf e = {
		.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			   .e_phoff = offsetof(struct small_elf, segment),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 4},
		.segment = {{.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = 0x1000},
			    {.p_type = PT_LOAD,
			     .p_flags = PF_R | PF_X,
			     .p_offset = 0x1040,
			     .p_vaddr = 0x2040,
			     .p_filesz = 0x3000},
			    {.p_type = PT_NOTE,
			     .p_offset = offsetof(struct small_elf, notes),
			     .p_filesz = sizeof(e.notes),
			     .p_align = 4},
			    {.p_type = PT_LOAD,
			     .p_flags = PF_R | PF_X,
			     .p_offset = 0x4080,
			     .p_vaddr = 0x8080,
			     .p_filesz = 0x100}},
		.notes = {.other = {5, 0, 3},
			  .other_name = "Go\0\0\0",
			  .id = {4, 20, 3},
			  .id_name = "GNU"},
	};

	memset(e.notes.id_bytes, id_byte, sizeof(e.notes.id_bytes));
	return e;
}

static struct image read_memory(const void *memory, size_t size)
{
	struct image image = {.fd = -1, .memory = memory, .memory_size = size};

	assert_int_equal(image_read_elf(&image), 0);
	return image;
}

static void elf_headers(void **state)
{
	struct small_elf e = small_elf(0xab);
	struct image image = read_memory(&e, sizeof(e));

	(void)state;
	assert_true(image.is_elf);
	assert_int_equal(image.build_id_size, 20);
	assert_memory_equal(image.build_id, e.notes.id_bytes, 20);
	assert_int_equal(image.segment_count, 2);
	assert_int_equal(image.segments[0].offset, 0x1040);
	assert_int_equal(image.segments[0].address, 0x2040);
	assert_int_equal(image.segments[0].size, 0x3000);
	free(image.segments);
}

static void bias_of_a_mapping(void **state)
{
	struct small_elf e = small_elf(1);
	struct image image = read_memory(&e, sizeof(e));
	uint64_t bias;

	(void)state;
	/*
	 * the first page of the segment; one within; the page that two segments share is the
	 * second's
	 */
	assert_true(image_bias(&image, 0x7f0000002000, 0x1000, &bias));
	assert_int_equal(bias, 0x7f0000000000);
	assert_true(image_bias(&image, 0x7f0000003000, 0x2000, &bias));
	assert_int_equal(bias, 0x7f0000000000);
	assert_true(image_bias(&image, 0x7f0000008000, 0x4000, &bias));
	assert_int_equal(bias, 0x7f0000000000);
	/* outside of all: addresses are file offsets */
	assert_false(image_bias(&image, 0x500000, 0, &bias));
	assert_int_equal(bias, 0x500000);
	assert_false(image_bias(&image, 0x500000, 0x9000, &bias));
	assert_int_equal(bias, 0x500000 - 0x9000);
	free(image.segments);
}

/*
 * Any part may be cut off or be nonsense: nothing outside may be read (the sanitizers watch).
 */
static void damaged_elf(void **state)
{
	struct small_elf e = small_elf(1);
	struct image image;

	(void)state;
	for (size_t size = 0; size <= sizeof(e); size++) {
		void *copy = malloc(size ? size : 1);

		memcpy(copy, &e, size);
		image = read_memory(copy, size);
		assert_true(image.build_id_size == 0 || size == sizeof(e));
		free(image.segments);
		free(copy);
	}
	for (size_t at = 0; at < sizeof(e); at++) {
		struct small_elf broken = e;

		((uint8_t *)&broken)[at] ^= 0xff;
		image = read_memory(&broken, sizeof(broken));
		free(image.segments);
	}
	e.header.e_phoff = UINT64_MAX - 10;
	image = read_memory(&e, sizeof(e));
	assert_true(image.is_elf);
	assert_int_equal(image.segment_count, 0);
	free(image.segments);
}

static void own_executable(void **state)
{
	struct image image = {.fd = open("/proc/self/exe", O_RDONLY)};
	uint64_t bias;

	(void)state;
	assert_int_equal(image_read_elf(&image), 0);
	assert_true(image.is_elf);
	assert_int_equal(image.segment_count, 1);
	assert_true(image_bias(&image, 0x10000, image.segments[0].offset & ~4095ull, &bias));
	free(image.segments);
	close(image.fd);
}

static void kinds(void **state)
{
	const char *name;

	(void)state;
	assert_int_equal(image_kind_of("/usr/bin/x", 5, &name), IMAGE_FILE);
	assert_int_equal(image_kind_of("[vdso]", 0, &name), IMAGE_VDSO);
	assert_int_equal(image_kind_of("[vsyscall]", 0, &name), IMAGE_VSYSCALL);
	assert_int_equal(image_kind_of("[uprobes]", 0, &name), IMAGE_SPECIAL);
	assert_int_equal(image_kind_of("anon_inode:[perf_event]", 9, &name), IMAGE_SPECIAL);
	assert_int_equal(image_kind_of("", 0, &name), IMAGE_ANON);
	assert_string_equal(name, "//anon");
	assert_int_equal(image_kind_of("//anon", 0, &name), IMAGE_ANON);
	assert_int_equal(image_kind_of("[anon:v8]", 0, &name), IMAGE_ANON);
	assert_string_equal(name, "//anon");
	assert_int_equal(image_kind_of("[heap]", 0, &name), IMAGE_ANON);
	assert_string_equal(name, "[heap]");
	assert_int_equal(image_kind_of("/memfd:doublemapper", 7, &name), IMAGE_ANON);
	assert_int_equal(image_kind_of("/dev/zero", 7, &name), IMAGE_ANON);
}

struct heard {
	int born, gone;
};

static void heard_new(void *context, struct image *image)
{
	(void)image;
	((struct heard *)context)->born++;
}

static void heard_gone(void *context, struct image *image)
{
	assert_int_equal(image->users, 0);
	((struct heard *)context)->gone++;
}

static char directory[] = "/tmp/stackcam-test-XXXXXX";

static void write_file(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}

static struct image_question question_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	/* no such process: the file is found by its path */
	return (struct image_question){5000000, 0x1000, 0x2000, st.st_dev, st.st_ino, path};
}

static void one_image_per_file(void **state)
{
	struct small_elf a = small_elf(1), b = small_elf(2);
	struct heard heard = {0};
	struct images_listener listener = {&heard, heard_new, heard_gone};
	struct images *images;
	struct image *first, *again, *renamed, *other;
	struct image_question q;
	char path[64], moved[64];

	(void)state;
	assert_int_equal(images_new(&listener, &images), 0);
	snprintf(path, sizeof(path), "%s/one", directory);
	snprintf(moved, sizeof(moved), "%s/two", directory);
	write_file(path, &a, sizeof(a));
	q = question_of(path);
	first = images_get(images, &q);
	again = images_get(images, &q);
	assert_ptr_equal(first, again);
	assert_int_equal(first->users, 2);
	assert_int_equal(first->kind, IMAGE_FILE);
	assert_true(first->fd >= 0);
	assert_true(first->is_elf);
	assert_string_equal(first->path, path);
	assert_string_equal(first->root, "");
	assert_int_equal(heard.born, 1);

	/* another name, then none at all: still the same */
	assert_int_equal(rename(path, moved), 0);
	q.path = moved;
	renamed = images_get(images, &q);
	assert_ptr_equal(renamed, first);
	assert_int_equal(unlink(moved), 0);
	renamed = images_get(images, &q);
	assert_ptr_equal(renamed, first);

	/* replaced: a new image, and the old one stays readable */
	write_file(path, &b, sizeof(b));
	q = question_of(path);
	other = images_get(images, &q);
	assert_ptr_not_equal(other, first);
	assert_int_not_equal(other->number, first->number);
	assert_int_equal(other->build_id[0], 2);
	assert_int_equal(first->build_id[0], 1);
	assert_int_equal(images_count(images), 2);

	/* no caller uses it: it goes, after a while */
	images_release(images, other, 1000);
	assert_int_equal(heard.gone, 0);
	images_forget_before(images, 2000);
	assert_int_equal(heard.gone, 0);
	images_forget_before(images, 1000 + 5000000000ull);
	assert_int_equal(heard.gone, 1);
	assert_int_equal(images_count(images), 1);
	while (first->users)
		images_release(images, first, 2000);
	images_free(images);
	assert_int_equal(heard.gone, 2);
	unlink(path);
}

static void overwritten_in_place(void **state)
{
	struct small_elf a = small_elf(1), b = small_elf(2);
	struct images_listener listener = {0};
	struct image *first, *second;
	struct image_question q;
	struct images *images;
	struct stat st;
	char path[64];
	int fd;

	(void)state;
	assert_int_equal(images_new(&listener, &images), 0);
	snprintf(path, sizeof(path), "%s/one", directory);
	write_file(path, &a, sizeof(a));
	q = question_of(path);
	first = images_get(images, &q);
	/* the same inode, size and time of modification: only its change betrays it */
	assert_int_equal(stat(path, &st), 0);
	fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, &b, sizeof(b), 0), sizeof(b));
	assert_int_equal(futimens(fd, (struct timespec[]){st.st_atim, st.st_mtim}), 0);
	close(fd);
	second = images_get(images, &q);
	assert_ptr_not_equal(first, second);
	assert_int_equal(second->build_id[0], 2);
	/* only touched */
	assert_int_equal(utimensat(AT_FDCWD, path, NULL, 0), 0);
	assert_ptr_equal(images_get(images, &q), second);
	images_free(images);
	unlink(path);
}

static void never_another_file(void **state)
{
	struct small_elf a = small_elf(1);
	struct images_listener listener = {0};
	struct image_question q;
	struct images *images;
	struct image *image;
	char path[64];

	(void)state;
	assert_int_equal(images_new(&listener, &images), 0);
	snprintf(path, sizeof(path), "%s/one", directory);
	write_file(path, &a, sizeof(a));
	q = question_of(path);
	q.inode++;
	image = images_get(images, &q);
	assert_int_equal(image->kind, IMAGE_FILE);
	assert_int_equal(image->fd, -1);
	assert_int_equal(images_unopened(images), 1);
	assert_ptr_equal(images_get(images, &q), image);
	assert_int_equal(images_unopened(images), 1);
	unlink(path);

	/* a FIFO would block the thread that opens it */
	assert_int_equal(mkfifo(path, 0600), 0);
	q = question_of(path);
	image = images_get(images, &q);
	assert_int_equal(image->kind, IMAGE_SPECIAL);
	assert_int_equal(image->fd, -1);
	unlink(path);
	images_free(images);
}

/* What could not be opened is tried again: no other image is left then that could make room. */
static void no_descriptors_to_try_again(void **state)
{
	struct small_elf a = small_elf(1);
	struct heard heard = {0};
	struct images_listener listener = {&heard, heard_new, heard_gone};
	struct rlimit all, few;
	struct image_question q;
	struct images *images;
	struct image *image;
	char path[64];

	(void)state;
	assert_int_equal(images_new(&listener, &images), 0);
	snprintf(path, sizeof(path), "%s/one", directory);
	write_file(path, &a, sizeof(a));
	q = question_of(path);
	assert_int_equal(unlink(path), 0);
	image = images_get(images, &q);
	assert_int_equal(image->kind, IMAGE_FILE);
	assert_int_equal(image->fd, -1);
	images_release(images, image, 1000);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
	few = (struct rlimit){0, all.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_ptr_equal(images_get(images, &q), image);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
	assert_int_equal(heard.gone, 0);
	assert_int_equal(image->users, 1);
	assert_int_equal(images_count(images), 1);
	images_release(images, image, 2000);
	images_free(images);
}

static void no_descriptors_left(void **state)
{
	struct small_elf a = small_elf(1);
	struct images_listener listener = {0};
	struct rlimit all, few;
	struct image_question q;
	struct images *images;
	struct image *image;
	char path[64];
	int next;

	(void)state;
	assert_int_equal(images_new(&listener, &images), 0);
	snprintf(path, sizeof(path), "%s/one", directory);
	write_file(path, &a, sizeof(a));
	q = question_of(path);
	next = dup(0);
	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
	few = (struct rlimit){(rlim_t)next, all.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	image = images_get(images, &q);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
	assert_non_null(image);
	assert_int_equal(image->kind, IMAGE_FILE);
	assert_int_equal(image->fd, -1);
	/* the image stays as it is; the next process that maps the file gets another one */
	assert_true(images_get(images, &q)->fd >= 0);
	assert_int_equal(image->fd, -1);
	images_free(images);
	unlink(path);
}

/* What no caller uses is closed when descriptors run out. */
static void descriptors_of_unused_ones(void **state)
{
	struct small_elf a = small_elf(1);
	struct images_listener listener = {0};
	struct rlimit all, few;
	struct image_question q;
	struct images *images;
	struct image *image;
	char path[64];
	int last = -1, filler[16], fillers = 0;

	(void)state;
	assert_int_equal(images_new(&listener, &images), 0);
	snprintf(path, sizeof(path), "%s/one", directory);
	for (int i = 0; i < 3; i++) {
		write_file(path, &a, sizeof(a));
		q = question_of(path);
		image = images_get(images, &q);
		assert_true(image->fd >= 0);
		last = image->fd;
		images_release(images, image, 1);
		unlink(path);
	}
	write_file(path, &a, sizeof(a));
	q = question_of(path);
	/* no number below the limit is free */
	do
		filler[fillers++] = dup(0);
	while (filler[fillers - 1] < last);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
	few = (struct rlimit){(rlim_t)filler[fillers - 1] + 1, all.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	image = images_get(images, &q);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
	assert_true(image->fd >= 0);
	while (fillers)
		close(filler[--fillers]);
	images_free(images);
	unlink(path);
}

/* Files that only the process still has, and memory. */
static void by_the_kernels_link(void **state)
{
	struct small_elf a = small_elf(7);
	struct images_listener listener = {0};
	int fd = memfd_create("jit", MFD_CLOEXEC);
	struct images *images;
	struct image *image;
	struct stat st;
	char link[64];
	void *memory;

	(void)state;
	assert_int_equal(images_new(&listener, &images), 0);
	assert_int_equal(ftruncate(fd, 8192), 0);
	assert_int_equal(pwrite(fd, &a, sizeof(a), 0), sizeof(a));
	assert_int_equal(fstat(fd, &st), 0);
	memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	assert_true(memory != MAP_FAILED);
	snprintf(link, sizeof(link), "/proc/self/map_files/%lx-%lx", (unsigned long)memory,
		 (unsigned long)memory + 4096);
	if (access(link, R_OK)) {
		images_free(images);
		skip();
	}
	image = images_get(images, &(struct image_question){getpid(), (uintptr_t)memory,
							    (uintptr_t)memory + 4096, st.st_dev,
							    st.st_ino, "/memfd:jit (deleted)"});
	assert_int_equal(image->kind, IMAGE_FILE);
	assert_string_equal(image->path, "/memfd:jit");
	assert_true(image->is_elf);
	assert_int_equal(image->build_id[0], 7);
	images_free(images);
	munmap(memory, 4096);
	close(fd);
}

static void memory_without_a_file(void **state)
{
	struct images_listener listener = {0};
	struct images *images;
	struct image *a, *b, *heap, *vsyscall;

	(void)state;
	assert_int_equal(images_new(&listener, &images), 0);
	a = images_get(images, &(struct image_question){5000000, 0x1000, 0x2000, 0, 0, "//anon"});
	b = images_get(images, &(struct image_question){5000001, 0x5000, 0x6000, 0, 0, ""});
	heap = images_get(images,
			  &(struct image_question){5000000, 0x1000, 0x2000, 0, 0, "[heap]"});
	vsyscall = images_get(images,
			      &(struct image_question){5000000, 0xffffffffff600000,
						       0xffffffffff601000, 0, 0, "[vsyscall]"});
	assert_ptr_equal(a, b);
	assert_ptr_not_equal(a, heap);
	assert_int_equal(vsyscall->kind, IMAGE_VSYSCALL);
	assert_int_equal(images_bias(a, 0x1000, 0x1000), 0);
	assert_int_equal(images_bias(vsyscall, 0xffffffffff600000, 0), 0);
	images_free(images);
}

static void vdso(void **state)
{
	struct images_listener listener = {0};
	unsigned long start = 0, end = 0;
	struct images *images;
	struct image *image;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");

	(void)state;
	assert_int_equal(images_new(&listener, &images), 0);
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "[vdso]"))
			assert_int_equal(sscanf(line, "%lx-%lx", &start, &end), 2);
	fclose(maps);
	assert_true(start);
	image = images_get(images, &(struct image_question){5000000, start, end, 0, 0, "[vdso]"});
	assert_int_equal(image->kind, IMAGE_VDSO);
	assert_non_null(image->memory);
	assert_int_equal(image->memory_size, end - start);
	assert_true(image->is_elf);
	assert_true(image->build_id_size > 0);
	assert_int_equal(images_bias(image, start, 0), start - image->segments[0].address);
	/* of another size: another kind of process, of which this one is gone */
	image = images_get(
		images, &(struct image_question){5000000, 0xf7fc0000, 0xf7fc4000, 0, 0, "[vdso]"});
	assert_null(image->memory);
	images_free(images);
}

static int make_directory(void **state)
{
	(void)state;
	return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
	(void)state;
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elf_headers),
		cmocka_unit_test(bias_of_a_mapping),
		cmocka_unit_test(damaged_elf),
		cmocka_unit_test(own_executable),
		cmocka_unit_test(kinds),
		cmocka_unit_test(one_image_per_file),
		cmocka_unit_test(overwritten_in_place),
		cmocka_unit_test(never_another_file),
		cmocka_unit_test(no_descriptors_to_try_again),
		cmocka_unit_test(no_descriptors_left),
		cmocka_unit_test(descriptors_of_unused_ones),
		cmocka_unit_test(by_the_kernels_link),
		cmocka_unit_test(memory_without_a_file),
		cmocka_unit_test(vdso),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
