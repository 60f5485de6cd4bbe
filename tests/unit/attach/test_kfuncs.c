// SPDX-License-Identifier: Apache-2.0
/* Functions of the kernel whose prototypes are not those that the probes declare. */
#include "../prelude.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "attach/kernel_types.h"
#include "attach/kfuncs.h"
#include "bpf/probes.skel.h"

#define HOLD	"bpf_task_work_schedule_resume_impl"
#define RESUME	"bpf_task_work_schedule_resume"
#define RELEASE "bpf_task_release"
#define CAST	"bpf_rdonly_cast"

/* The types of a kernel with one function, of the result and the parameters that are named. */
struct kernel {
	struct btf *btf;
	int number, nothing, structure;
};

static struct kernel kernel_new(void)
{
	struct kernel kernel = {.btf = btf__new_empty()};
	int task = btf__add_struct(kernel.btf, "task_struct", 8);

	kernel.number = btf__add_int(kernel.btf, "int", 4, BTF_INT_SIGNED);
	kernel.nothing = btf__add_ptr(kernel.btf, 0);
	kernel.structure = btf__add_ptr(kernel.btf, task);
	return kernel;
}

static void add(struct kernel *kernel, const char *name, int result, int count, const int *types)
{
	int prototype = btf__add_func_proto(kernel->btf, result), i;

	for (i = 0; i < count; i++)
		assert_int_equal(btf__add_func_param(kernel->btf, "", types[i]), 0);
	assert_true(btf__add_func(kernel->btf, name, BTF_FUNC_STATIC, prototype) > 0);
}

/* last: its last parameter; 0: it has four. */
static void add_hold_as(struct kernel *kernel, const char *name, int last)
{
	int keys[] = {kernel->structure, kernel->nothing, kernel->nothing}, callback, to;
	int i, prototype = btf__add_func_proto(kernel->btf, kernel->number);

	for (i = 0; i < 3; i++)
		btf__add_func_param(kernel->btf, "", keys[i]);
	to = btf__add_ptr(kernel->btf, prototype);
	callback = btf__add_typedef(kernel->btf, "bpf_task_work_callback_t", to);
	add(kernel, name, kernel->number, last ? 5 : 4,
	    (int[]){kernel->structure, kernel->structure, kernel->nothing, callback, last});
}

static void add_hold(struct kernel *kernel, int last)
{
	add_hold_as(kernel, HOLD, last);
}

static struct btf *types_of(const void *object, size_t size)
{
	int fd = memfd_create("object", 0);
	char path[64];
	struct btf *btf;

	assert_int_equal(write(fd, object, size), size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	btf = btf__parse(path, NULL);
	close(fd);
	return btf;
}

/* Fits our own probes; returns the types of what came out; null: nothing had to be changed. */
static struct btf *fit(const struct kernel *kernel)
{
	struct btf *own = kernel_types_of_probes(), *fitted = NULL;
	struct bpf_object *opened;
	const void *object;
	void *bytes;
	size_t size;

	assert_non_null(own);
	object = probes__elf_bytes(&size);
	assert_int_equal(kfuncs_fit(object, size, kernel->btf, own, &bytes), 0);
	if (bytes) {
		fitted = types_of(bytes, size);
		assert_non_null(fitted);
		/* what came out is still an object that libbpf reads */
		opened = bpf_object__open_mem(bytes, size, NULL);
		assert_non_null(opened);
		bpf_object__close(opened);
	}
	free(bytes);
	btf__free(own);
	return fitted;
}

static void test_what_is_the_same_stays(void **state)
{
	struct kernel kernel = kernel_new();
	struct btf *fitted;

	(void)state;
	add_hold(&kernel, kernel.nothing);
	add(&kernel, RELEASE, 0, 1, &kernel.structure);
	fitted = fit(&kernel);
	assert_non_null(fitted);
	assert_int_equal(kfunc_state(kernel.btf, fitted, HOLD), KFUNC_SAME);
	assert_int_equal(kfunc_state(kernel.btf, fitted, RELEASE), KFUNC_SAME);
	/* no kernel has both names */
	assert_int_equal(kfunc_state(kernel.btf, fitted, RESUME), KFUNC_MISSING);
	btf__free(fitted);
	btf__free(kernel.btf);
}

/* What is missing is not a function any more; where all are, their section has gone. */
static void test_what_is_missing_is_hidden(void **state)
{
	struct kernel kernel = kernel_new();
	struct btf *own = kernel_types_of_probes(), *fitted = fit(&kernel);

	(void)state;
	assert_true(btf__find_by_name_kind(own, CAST, BTF_KIND_FUNC) > 0);
	assert_non_null(fitted);
	assert_true(btf__find_by_name_kind(fitted, CAST, BTF_KIND_FUNC) < 0);
	assert_true(btf__find_by_name_kind(fitted, ".ksyms", BTF_KIND_DATASEC) < 0);
	assert_int_equal(btf__type_cnt(fitted), btf__type_cnt(own));
	btf__free(fitted);
	add(&kernel, RELEASE, 0, 1, &kernel.structure);
	fitted = fit(&kernel);
	assert_non_null(fitted);
	assert_true(btf__find_by_name_kind(fitted, CAST, BTF_KIND_FUNC) < 0);
	assert_true(btf__find_by_name_kind(fitted, ".ksyms", BTF_KIND_DATASEC) > 0);
	assert_int_equal(kfunc_state(kernel.btf, fitted, RELEASE), KFUNC_SAME);
	btf__free(fitted);
	btf__free(own);
	btf__free(kernel.btf);
}

static void test_a_pointer_leads_elsewhere(void **state)
{
	struct kernel kernel = kernel_new();
	struct btf *own = kernel_types_of_probes(), *fitted;

	(void)state;
	add_hold(&kernel, kernel.structure);
	assert_int_equal(kfunc_state(kernel.btf, own, HOLD), KFUNC_POINTERS);
	fitted = fit(&kernel);
	assert_non_null(fitted);
	assert_int_equal(kfunc_state(kernel.btf, fitted, HOLD), KFUNC_SAME);
	btf__free(fitted);
	btf__free(own);
	btf__free(kernel.btf);
}

static void test_another_number_of_parameters(void **state)
{
	struct kernel kernel = kernel_new();
	struct btf *own = kernel_types_of_probes(), *fitted;

	(void)state;
	add_hold(&kernel, kernel.nothing);
	add(&kernel, RELEASE, 0, 2, (int[]){kernel.structure, kernel.number});
	assert_int_equal(kfunc_state(kernel.btf, own, RELEASE), KFUNC_CHANGED);
	fitted = fit(&kernel);
	assert_non_null(fitted);
	assert_int_equal(kfunc_state(kernel.btf, fitted, RELEASE), KFUNC_MISSING);
	/* the other one is as it was */
	assert_int_equal(kfunc_state(kernel.btf, fitted, HOLD), KFUNC_SAME);
	btf__free(fitted);
	btf__free(own);
	btf__free(kernel.btf);
}

/*
 * As Linux 7.0 has it: only the function without the parameter that it fills in can be called.
 */
static void test_a_parameter_is_filled_in(void **state)
{
	struct kernel kernel = kernel_new();
	struct btf *own = kernel_types_of_probes(), *fitted;

	(void)state;
	add_hold(&kernel, kernel.structure);
	assert_int_equal(kfunc_state(kernel.btf, own, HOLD), KFUNC_POINTERS);
	add_hold_as(&kernel, RESUME, 0);
	assert_int_equal(kfunc_state(kernel.btf, own, HOLD), KFUNC_CHANGED);
	fitted = fit(&kernel);
	assert_non_null(fitted);
	assert_int_equal(kfunc_state(kernel.btf, fitted, HOLD), KFUNC_MISSING);
	btf__free(fitted);
	btf__free(own);
	btf__free(kernel.btf);
}

static void test_a_number_for_a_pointer(void **state)
{
	struct kernel kernel = kernel_new();
	struct btf *own = kernel_types_of_probes();

	(void)state;
	add_hold(&kernel, kernel.number);
	assert_int_equal(kfunc_state(kernel.btf, own, HOLD), KFUNC_CHANGED);
	assert_int_equal(kfunc_state(kernel.btf, own, RELEASE), KFUNC_MISSING);
	btf__free(own);
	btf__free(kernel.btf);
}

static void test_what_is_no_object(void **state)
{
	struct kernel kernel = kernel_new();
	struct btf *own = kernel_types_of_probes();
	void *fitted;

	(void)state;
	add_hold(&kernel, kernel.number);
	assert_int_equal(kfuncs_fit("no object", 9, kernel.btf, own, &fitted), -EINVAL);
	assert_null(fitted);
	btf__free(own);
	btf__free(kernel.btf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_the_same_stays),
		cmocka_unit_test(test_what_is_missing_is_hidden),
		cmocka_unit_test(test_a_pointer_leads_elsewhere),
		cmocka_unit_test(test_another_number_of_parameters),
		cmocka_unit_test(test_a_parameter_is_filled_in),
		cmocka_unit_test(test_a_number_for_a_pointer),
		cmocka_unit_test(test_what_is_no_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
