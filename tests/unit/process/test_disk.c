// SPDX-License-Identifier: Apache-2.0
/* Which disk a file system lies on, by a folder that is laid out as sysfs is. */
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>

#include "process/disk.h"

#define DEVICE(major, minor) ((uint32_t)(major) << 20 | (minor))

/* Each device has a folder, a partition one in its disk's, and links to it. */
static const char make[] =
	"mkdir -p dev/block class/block block devices/pci/block/sda/sda1 "
	"devices/pci/block/sda/sda2 devices/pci/block/sdb devices/virtual/block && "
	"touch devices/pci/block/sda/sda1/partition devices/pci/block/sda/sda2/partition && "
	"for name in dm-0 dm-1 dm-2 md0; do mkdir -p devices/virtual/block/$name/slaves; done && "
	"ln -s ../../../sda2 devices/virtual/block/dm-0/slaves/sda2 && "
	"ln -s ../../dm-0 devices/virtual/block/dm-1/slaves/dm-0 && "
	"ln -s ../../dm-2 devices/virtual/block/dm-2/slaves/dm-2 && "
	"ln -s ../../../sda1 devices/virtual/block/md0/slaves/sda1 && "
	"ln -s ../../../sdb devices/virtual/block/md0/slaves/sdb && "
	"for name in sda sda/sda1 sda/sda2 sdb; do "
	"ln -s ../../devices/pci/block/$name class/block/${name##*/}; done && "
	"for name in dm-0 dm-1 dm-2 md0; do "
	"ln -s ../../devices/virtual/block/$name class/block/$name && "
	"ln -s ../devices/virtual/block/$name block/$name; done && "
	"ln -s ../devices/pci/block/sda block/sda && ln -s ../devices/pci/block/sdb block/sdb && "
	"cd dev/block && ln -s ../../devices/pci/block/sda/sda1 8:1 && "
	"ln -s ../../devices/pci/block/sdb 8:16 && "
	"for minor in 0 1 2; do ln -s ../../devices/virtual/block/dm-$minor 253:$minor; done && "
	"ln -s ../../devices/virtual/block/md0 9:0";

static void run_in(const char *folder, const char *what)
{
	char command[4096];
	int length = snprintf(command, sizeof(command), "cd '%s' && %s", folder, what);

	assert_true(length > 0 && (size_t)length < sizeof(command));
	assert_int_equal(system(command), 0);
}

static void test_layers(void **state)
{
	char folder[] = "/tmp/stackcam-disk-XXXXXX", name[DISK_NAME_MAX];

	(void)state;
	assert_non_null(mkdtemp(folder));
	run_in(folder, make);
	assert_string_equal(disk_of_device_in(folder, DEVICE(8, 1), name), "sda");
	assert_string_equal(disk_of_device_in(folder, DEVICE(8, 16), name), "sdb");
	/* a logical volume of a partition, and one of that */
	assert_string_equal(disk_of_device_in(folder, DEVICE(253, 0), name), "sda");
	assert_string_equal(disk_of_device_in(folder, DEVICE(253, 1), name), "sda");
	/* of two disks; of itself, which none is; of none, and one that is not there */
	assert_string_equal(disk_of_device_in(folder, DEVICE(9, 0), name), "md0");
	assert_string_equal(disk_of_device_in(folder, DEVICE(253, 2), name), "dm-2");
	assert_string_equal(disk_of_device_in(folder, DEVICE(0, 40), name), "");
	assert_string_equal(disk_of_device_in(folder, DEVICE(8, 2), name), "");
	run_in(folder, "rm -r \"$PWD\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
