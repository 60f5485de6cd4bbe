// SPDX-License-Identifier: Apache-2.0
#include "runtime/hotspot/hotspot.h"

#include "film/film.h"

#define JAVA	FILM_FRAME_JAVA
#define NATIVE	FILM_FRAME_NATIVE
#define GETS	FILM_ROLE_GETS_WORK
#define LOOPS	FILM_ROLE_WORK_LOOP
#define AWAITS	FILM_ROLE_AWAITS
#define LIBRARY FILM_ROLE_LIBRARY

/*
 * Sources: OpenJDK 17 to 25, java.base (java/util/concurrent, java/lang, java/util/Timer.java,
 * jdk/internal/vm/Continuation.java) and src/hotspot/share (runtime, gc/shared, gc/g1, compiler,
 * prims/jvm.cpp).
 */
const struct film_role_row hotspot_roles[] = {
	{GETS, JAVA, "java.util.concurrent.ThreadPoolExecutor.getTask"},
	{GETS, JAVA, "java.util.concurrent.ForkJoinPool.awaitWork"},
	{AWAITS, JAVA, "java.util.concurrent.ForkJoinPool.awaitWork"},
	{GETS, JAVA, "java.lang.ref.*ReferenceQueue.remove"}, /* 21 on: Native… */
	{GETS, JAVA, "java.lang.ref.Reference.waitForReferencePendingList"},
	{AWAITS, JAVA, "java.lang.ref.Reference.waitForReferencePendingList"},
	{GETS, JAVA, "java.lang.VirtualThread.takeVirtualThreadListToUnblock"},
	{AWAITS, JAVA, "java.lang.VirtualThread.takeVirtualThreadListToUnblock"},
	{LOOPS, JAVA, "java.util.TimerThread.mainLoop"},
	{AWAITS, JAVA, "java.lang.Object.wait*"},
	{AWAITS, JAVA, "java.util.concurrent.locks.Abstract*Synchronizer$ConditionObject.await*"},
	{AWAITS, JAVA, "java.util.concurrent.SynchronousQueue$*.transfer"},
	{AWAITS, JAVA, "java.util.concurrent.LinkedTransferQueue*.await*"},
	/* its own threads */
	{LOOPS, NATIVE, "GangWorker::loop*"},
	{LOOPS, NATIVE, "WorkerThread::run*"},
	{LOOPS, NATIVE, "CompileQueue::get*"},
	{LOOPS, NATIVE, "VMThread::wait_for_*"},
	{LOOPS, NATIVE, "WatcherThread::sleep*"},
	{LOOPS, NATIVE, "ServiceThread::service_thread_entry*"},
	{LOOPS, NATIVE, "NotificationThread::notification_thread_entry*"},
	{LOOPS, NATIVE, "MonitorDeflationThread::monitor_deflation_thread_entry*"},
	{LOOPS, NATIVE, "NMethodSweeper::sweeper_loop*"},
	{LOOPS, NATIVE, "G1ConcurrentMarkThread::run_service*"},
	{LOOPS, NATIVE, "G1ConcurrentRefineThread::run_service*"},
	{LOOPS, NATIVE, "G1*Thread::wait_for_*"},
	{LOOPS, NATIVE, "G1ServiceThread::*"},
	{LOOPS, NATIVE, "os::signal_wait*"},
	{AWAITS, NATIVE, "Monitor::wait*"},
	{AWAITS, NATIVE, "PosixSemaphore::wait*"},
	{FILM_ROLE_TIMED_WAIT, NATIVE, "JVM_Sleep*"}, /* Thread.sleep() */
	{FILM_ROLE_SAFEPOINT, FILM_ROLES_OF_THREAD, "VM Thread"},
	/* virtual threads, of which the kernel keeps 15 bytes of their carriers' names */
	{FILM_ROLE_RUNS + FILM_TASKS_JAVA, JAVA, "jdk.internal.vm.Continuation.*"},
	{FILM_ROLE_RUNS + FILM_TASKS_JAVA, FILM_ROLES_OF_THREAD, "VirtualThread-u*"},
	{LIBRARY, JAVA, "java.*"},
	{LIBRARY, JAVA, "jdk.internal.*"},
	{LIBRARY, JAVA, "sun.*"},
	{LIBRARY, JAVA, "javax.*"},
	{LIBRARY, FILM_ROLES_OF_FILE, "libjvm.so"},
	{LIBRARY, FILM_ROLES_OF_FILE, "libnio.so"},
	{LIBRARY, FILM_ROLES_OF_FILE, "libnet.so"},
	{LIBRARY, FILM_ROLES_OF_FILE, "libjava.so"},
	{0},
};
