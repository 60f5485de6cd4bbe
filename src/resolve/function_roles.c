// SPDX-License-Identifier: Apache-2.0
#include "resolve/function_roles.h"

#include <stdint.h>

#include "film/film.h"
#include "film/roles.h"

/*
 * Sources: Linux mm/vmscan.c, mm/memcontrol.c, mm/page_io.c, mm/memory.c, fs/fuse/dev.c;
 * PostgreSQL src/backend/storage/lmgr, src/backend/libpq/be-secure.c, src/backend/utils/adt/misc.c;
 * MariaDB sql/mdl.cc, storage/innobase/lock/lock0lock.cc, sql/net_serv.cc, sql/item_func.cc; MySQL
 * storage/innobase/lock/lock0wait.cc; OpenJDK src/hotspot/share/runtime/safepoint.cpp.
 */
static const struct {
	enum film_role role;
	unsigned int kind; /* enum film_frame_kind, or FILM_ROLES_OF_THREAD */
	const char *glob;
} functions[] = {
	{FILM_ROLE_RECLAIM, FILM_FRAME_KERNEL, "try_to_free_*pages"},
	{FILM_ROLE_RECLAIM, FILM_FRAME_KERNEL, "shrink_node*"},
	{FILM_ROLE_RECLAIM, FILM_FRAME_KERNEL, "shrink_lruvec*"},
	{FILM_ROLE_RECLAIM_GROUP, FILM_FRAME_KERNEL, "try_to_free_mem_cgroup_pages*"},
	{FILM_ROLE_RECLAIM_GROUP, FILM_FRAME_KERNEL, "try_charge_memcg*"},
	{FILM_ROLE_RECLAIM_GROUP, FILM_FRAME_KERNEL, "mem_cgroup_handle_over_high*"},
	{FILM_ROLE_SWAP_OUT, FILM_FRAME_KERNEL, "swap_writepage*"},
	{FILM_ROLE_SWAP_OUT, FILM_FRAME_KERNEL, "swap_writeout*"},
	{FILM_ROLE_SWAP_OUT, FILM_FRAME_KERNEL, "add_to_swap*"},
	{FILM_ROLE_SWAP_OUT, FILM_FRAME_KERNEL, "folio_alloc_swap*"},
	{FILM_ROLE_SWAP_IN, FILM_FRAME_KERNEL, "do_swap_page*"},
	{FILM_ROLE_FUSE, FILM_FRAME_KERNEL, "request_wait_answer*"},
	{FILM_ROLE_FUSE, FILM_FRAME_KERNEL, "fuse_simple_request*"},
	{FILM_ROLE_FUSE, FILM_FRAME_KERNEL, "__fuse_simple_request*"},
	{FILM_ROLE_FUSE, FILM_FRAME_KERNEL, "fuse_read*"},
	{FILM_ROLE_FUSE, FILM_FRAME_KERNEL, "fuse_file_*"},
	{FILM_ROLE_ROW_LOCK, FILM_FRAME_NATIVE, "XactLockTableWait"},
	{FILM_ROLE_ROW_LOCK, FILM_FRAME_NATIVE, "heap_lock_tuple"},
	{FILM_ROLE_ROW_LOCK, FILM_FRAME_NATIVE, "lock_wait"},
	{FILM_ROLE_ROW_LOCK, FILM_FRAME_NATIVE, "lock_wait(*"},
	{FILM_ROLE_ROW_LOCK, FILM_FRAME_NATIVE, "lock_wait_suspend_thread*"},
	{FILM_ROLE_TABLE_LOCK, FILM_FRAME_NATIVE, "ProcSleep"},
	{FILM_ROLE_TABLE_LOCK, FILM_FRAME_NATIVE, "MDL_wait::timed_wait*"},
	{FILM_ROLE_CLIENT_READ, FILM_FRAME_NATIVE, "secure_read"},
	{FILM_ROLE_CLIENT_READ, FILM_FRAME_NATIVE, "my_net_read*"},
	{FILM_ROLE_CLIENT_WRITE, FILM_FRAME_NATIVE, "secure_write"},
	{FILM_ROLE_CLIENT_WRITE, FILM_FRAME_NATIVE, "net_real_write*"},
	{FILM_ROLE_SLEEP, FILM_FRAME_NATIVE, "pg_sleep"},
	{FILM_ROLE_SLEEP, FILM_FRAME_NATIVE, "Item_func_sleep::*"},
	{FILM_ROLE_SAFEPOINT, FILM_ROLES_OF_THREAD, "VM Thread"},
};

void function_roles(struct buf *text)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		buf_printf(text, "%s %u %s\n", film_role_name(functions[i].role), functions[i].kind,
			   functions[i].glob);
	buf_put_u8(text, 0);
	if (text->failed)
		buf_free(text);
}
