// SPDX-License-Identifier: Apache-2.0
#include "resolve/function_roles.h"

#include "film/film.h"
#include "film/roles.h"
#include "protocol/protocols.h"
#include "runtime/runtime.h"

/*
 * Sources: Linux mm/vmscan.c, mm/memcontrol.c, mm/page_io.c, mm/memory.c, fs/fuse/dev.c;
 * PostgreSQL src/backend/storage/lmgr, src/backend/libpq/be-secure.c, src/backend/utils/adt/misc.c;
 * MariaDB sql/mdl.cc, storage/innobase/lock/lock0lock.cc, sql/net_serv.cc, sql/item_func.cc; MySQL
 * storage/innobase/lock/lock0wait.cc; Ruby process.c; nginx src/core/ngx_thread_pool.c; tokio
 * tokio/src/runtime.
 */
static const struct film_role_row functions[] = {
	{FILM_ROLE_FAULT, FILM_FRAME_KERNEL, "handle_mm_fault"},
	{FILM_ROLE_FAULT, FILM_FRAME_KERNEL, "exc_page_fault"},
	{FILM_ROLE_FAULT, FILM_FRAME_KERNEL, "do_swap_page"},
	{FILM_ROLE_FAULT, FILM_FRAME_KERNEL, "try_to_free_*pages"},
	{FILM_ROLE_FAULT, FILM_FRAME_KERNEL, "shrink_node*"},
	{FILM_ROLE_DISK, FILM_FRAME_KERNEL, "io_schedule*"},
	{FILM_ROLE_DISK, FILM_FRAME_KERNEL, "submit_bio*"},
	{FILM_ROLE_DISK, FILM_FRAME_KERNEL, "blk_mq_*"},
	{FILM_ROLE_DISK, FILM_FRAME_KERNEL, "__wait_on_buffer"},
	{FILM_ROLE_DISK, FILM_FRAME_KERNEL, "folio_wait_*"},
	{FILM_ROLE_DISK, FILM_FRAME_KERNEL, "jbd2_*"},
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
	/* Ruby, where its libruby has symbols */
	{FILM_ROLE_TIMED_WAIT, FILM_FRAME_NATIVE, "rb_f_sleep"},
	{FILM_ROLE_WORK_LOOP, FILM_FRAME_NATIVE, "ngx_thread_pool_cycle"},
	{FILM_ROLE_AWAITS, FILM_FRAME_NATIVE, "ngx_thread_cond_wait"},
	{FILM_ROLE_GETS_WORK, FILM_FRAME_NATIVE, "tokio::runtime::blocking::pool::Inner::run*"},
	{FILM_ROLE_RUNS + FILM_TASKS_TOKIO, FILM_FRAME_NATIVE, "tokio::runtime::*"},
	{FILM_ROLE_RUNS + FILM_TASKS_TOKIO, FILM_ROLES_OF_THREAD, "tokio-runtime-w*"},
	/* inject/ */
	{FILM_ROLE_RECORDER, FILM_ROLES_OF_FILE, "libstackcam-*"},
	/* of Rust and C++ what waits, and files whose code is on the way of every program */
	{FILM_ROLE_LIBRARY, FILM_FRAME_NATIVE, "std::sync::*"},
	{FILM_ROLE_LIBRARY, FILM_FRAME_NATIVE, "std::sys::*"},
	{FILM_ROLE_LIBRARY, FILM_FRAME_NATIVE, "std::thread*"},
	{FILM_ROLE_LIBRARY, FILM_FRAME_NATIVE, "core::ops::*"},
	{FILM_ROLE_LIBRARY, FILM_FRAME_NATIVE, "parking_lot*"},
	{FILM_ROLE_LIBRARY, FILM_FRAME_NATIVE, "std::mutex*"},
	{FILM_ROLE_LIBRARY, FILM_FRAME_NATIVE, "std::condition*"},
	{FILM_ROLE_LIBRARY, FILM_FRAME_NATIVE, "__gthread*"},
	{FILM_ROLE_LIBRARY, FILM_FRAME_NATIVE, "std::lock_*"},
	{FILM_ROLE_LIBRARY, FILM_FRAME_NATIVE, "std::unique_lock*"},
	{FILM_ROLE_LIBRARY, FILM_ROLES_OF_FILE, "libc.so*"},
	{FILM_ROLE_LIBRARY, FILM_ROLES_OF_FILE, "libc-2*"},
	{FILM_ROLE_LIBRARY, FILM_ROLES_OF_FILE, "libpthread*"},
	{FILM_ROLE_LIBRARY, FILM_ROLES_OF_FILE, "ld-linux*"},
	{FILM_ROLE_LIBRARY, FILM_ROLES_OF_FILE, "ld-2*"},
	{FILM_ROLE_LIBRARY, FILM_ROLES_OF_FILE, "ld-musl*"},
	{FILM_ROLE_LIBRARY, FILM_ROLES_OF_FILE, "libdl*"},
	{FILM_ROLE_LIBRARY, FILM_ROLES_OF_FILE, "librt*"},
	{FILM_ROLE_LIBRARY, FILM_ROLES_OF_FILE, "libstdc++.so*"},
	{FILM_ROLE_LIBRARY, FILM_ROLES_OF_FILE, "libgcc_s*"},
	{FILM_ROLE_LIBRARY, FILM_ROLES_OF_FILE, "libaio.so*"},
	{FILM_ROLE_LIBRARY, FILM_ROLES_OF_FILE, "liburing*"},
	{FILM_ROLE_LIBRARY, FILM_ROLES_OF_FILE, "libtsan*"},
	{FILM_ROLE_LIBRARY, FILM_ROLES_OF_FILE, "libasan*"},
	{FILM_ROLE_LIBRARY, FILM_ROLES_OF_FILE, "[[]vdso]"},
	{0},
};

static void put_all(struct buf *text, const struct film_role_row *rows)
{
	for (; rows && rows->glob; rows++)
		film_role_put(text, rows);
}

void function_roles(struct buf *text)
{
	put_all(text, functions);
	for (size_t i = 0; runtime_types[i]; i++)
		put_all(text, runtime_types[i]->roles);
	for (size_t i = 0; protocol_types[i]; i++)
		put_all(text, protocol_types[i]->roles);
	buf_put_u8(text, 0);
	if (text->failed)
		buf_free(text);
}
