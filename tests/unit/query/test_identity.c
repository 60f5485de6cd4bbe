// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/identity.h"

#define ID   "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID  "3f2a8c1e-9b1d-4c6e-8f3a-2b7c5d9e1f00"
#define UID_ "3f2a8c1e_9b1d_4c6e_8f3a_2b7c5d9e1f00"

struct known {
	const char *cgroup, *exe, *command, *comm, *service;
};

static void named(const struct identity *identity, const struct known *known)
{
	const struct film_process process = {
		.pid = 1234,
		.parent = 1,
		.comm = known->comm,
		.command = known->command,
		.exe = known->exe,
		.cgroup = known->cgroup,
		.container = "",
	};
	char name[256];

	identity_of(identity, &process, name, sizeof(name));
	assert_string_equal(name, known->service);
}

/* Paths as systemd, Docker, Podman, containerd, CRI-O, LXC and the kubelet make them. */
static void test_groups(void **state)
{
#define NGINX "/usr/sbin/nginx", "nginx: worker process", "nginx"
	static const struct known table[] = {
		{"/system.slice/nginx.service", NGINX, "nginx"},
		{"/system.slice/system-postgresql.slice/postgresql@14-main.service",
		 "/usr/lib/postgresql/14/bin/postgres", "postgres: checkpointer", "postgres",
		 "postgresql@14-main"},
		{"/system.slice/systemd-journald.service", "/lib/systemd/systemd-journald", "",
		 "systemd-journal", "systemd-journald"},
		{"/system.slice/my\\x2dapp.service", NGINX, "my-app"},
		{"/system.slice/bad\\x1b\\x0a.service", NGINX, "bad\\x1b\\x0a"},
		{"/init.scope", "/usr/lib/systemd/systemd", "/sbin/init", "systemd", "systemd"},
		{"/system.slice", NGINX, "nginx"},
		{"/system.slice/run-u42.service", NGINX, "nginx"},
		{"/system.slice/run-r0123456789abcdef0123456789abcdef.scope", NGINX, "nginx"},
		{"/system.slice/.service", NGINX, "nginx"},
		{"/user.slice/user-1000.slice/session-3.scope", "/usr/bin/vim", "vim x", "vim",
		 "vim"},
		{"/user.slice/user-1000.slice/user@1000.service/init.scope",
		 "/usr/lib/systemd/systemd", "", "systemd", "systemd"},
		{"/user.slice/user-1000.slice/user@1000.service/app.slice/"
		 "app-gnome-org.mozilla.firefox-4711.scope",
		 "/usr/lib/firefox/firefox", "", "firefox", "org.mozilla.firefox"},
		{"/user.slice/user-1000.slice/user@1000.service/app.slice/"
		 "app-gnome\\x2dterminal@autostart.service",
		 NGINX, "gnome-terminal"},
		{"/user.slice/user-1000.slice/user@1000.service/app.slice/pipewire.service", NGINX,
		 "pipewire"},
		{"/machine.slice/machine-qemu\\x2d1\\x2dvm.scope", NGINX, "machine-qemu-1-vm"},
		{"/docker/" ID, NGINX, "nginx"},
		{"/system.slice/docker-" ID ".scope", NGINX, "nginx"},
		{"/system.slice/docker-" ID ".scope/init.scope", NGINX, "nginx"},
		{"/machine.slice/libpod-" ID ".scope/container", NGINX, "nginx"},
		{"/machine.slice/libpod-conmon-" ID ".scope", "/usr/bin/conmon", "", "conmon",
		 "conmon"},
		{"/system.slice/containerd.service", "/usr/bin/containerd", "", "containerd",
		 "containerd"},
		{"/system.slice/containerd.service/kubepods-burstable-pod" UID_
		 ".slice:cri-containerd:" ID,
		 NGINX, "nginx"},
		{"/kubepods/burstable/pod" UID "/" ID, NGINX, "nginx"},
		{"/kubepods/pod" UID "/" ID, NGINX, "nginx"},
		{"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
		 ".slice/cri-containerd-" ID ".scope",
		 NGINX, "nginx"},
		{"/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope", NGINX, "nginx"},
		{"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_
		 ".slice/cri-containerd-" ID ".scope",
		 NGINX, "nginx"},
		{"/lxc/mail", NGINX, "nginx [container mail]"},
		{"/lxc.payload.mail/system.slice/nginx.service", NGINX, "nginx [container mail]"},
		{"", NGINX, "nginx"},
		{"/", NGINX, "nginx"},
		{"////", NGINX, "nginx"},
		{"kubepods", NGINX, "nginx"},
		{"/kubepods.slice/-pod.slice", NGINX, "nginx"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		named(NULL, &table[i]);
}

static void test_programs(void **state)
{
	static const struct known table[] = {
		{"", "/usr/bin/python3.11", "/usr/bin/python3 /srv/app.py --port 80", "python3",
		 "app.py"},
		{"", "/usr/bin/python3.11", "python3 -u -W ignore -m http.server 80", "python3",
		 "http.server"},
		{"", "/usr/bin/python3.11", "/usr/bin/python3 /usr/bin/gunicorn app:app",
		 "gunicorn", "gunicorn"},
		{"", "/usr/bin/python3.11", "python3 -c import-this x.py", "python3", "python3.11"},
		{"", "/usr/bin/python3.11", "python3", "python3", "python3.11"},
		{"", "/usr/bin/python3.11", "python3 -", "python3", "python3.11"},
		{"", "/usr/bin/python3.11", "python3 /srv/shop/__main__.py", "python3",
		 "shop/__main__.py"},
		{"", "/opt/pypy/bin/pypy3", "pypy3 run.py", "pypy3", "run.py"},
		{"", "/usr/lib/jvm/bin/java",
		 "java -Xmx2g -cp /a.jar:/b.jar org.apache.kafka.Kafka server.properties", "java",
		 "org.apache.kafka.Kafka"},
		{"", "/usr/lib/jvm/bin/java", "java -XX:+UseG1GC -jar /opt/app/shop.jar --x",
		 "java", "shop.jar"},
		{"", "/usr/lib/jvm/bin/java", "java --module-path m -m com.x/com.x.Main", "java",
		 "com.x.Main"},
		{"", "/usr/lib/jvm/bin/java", "java @argfile Main", "java", "Main"},
		{"", "/usr/bin/node", "node --require ./t.js --max-old-space-size=9 /srv/web.js",
		 "node", "web.js"},
		{"", "/usr/bin/node", "node /srv/api/index.js", "node", "api/index.js"},
		{"", "/usr/bin/node", "node index.js", "node", "index.js"},
		{"", "/usr/bin/node", "node -e 1", "node", "node"},
		{"", "/usr/bin/ruby3.1", "ruby -I lib bin/rails server", "ruby", "rails"},
		{"", "/usr/bin/perl", "perl -I lib -w /usr/bin/ack foo", "ack", "ack"},
		{"", "/usr/bin/php8.2", "php -d a=b -f /srv/x.php", "php", "x.php"},
		{"", "/usr/sbin/php-fpm8.2", "php-fpm: pool www", "php-fpm8.2", "php-fpm8.2"},
		{"", "/usr/bin/bash", "bash /usr/local/bin/backup.sh -v", "backup.sh", "backup.sh"},
		{"", "/usr/bin/bash", "bash -c sleep 5", "bash", "bash"},
		{"", "/usr/bin/bash", "-bash", "bash", "bash"},
		{"", "/usr/bin/bash", "bash /dev/fd/63 -v", "bash", "bash"},
		{"", "/usr/bin/python3.11", "python3 /dev/stdin", "python3", "python3.11"},
		{"", "/memfd:sealed-91173221a7ea", "/srv/backend --x", "memfd:sealed-91",
		 "backend"},
		{"", "/memfd:runc_cloned:/proc/self/exe", "runc init", "6", "runc"},
		{"", "/memfd:x", "", "memfd:x", "memfd:x"},
		{"", "/usr/bin/dash", "/bin/sh -e /etc/init.d/x start", "sh", "x"},
		{"", "/usr/bin/luajit-2.1.0-beta3", "luajit -j off main.lua", "luajit", "main.lua"},
		{"", "/bin/busybox", "httpd -f", "httpd", "httpd"},
		{"", "/usr/bin/redis-check-rdb", "/usr/bin/redis-server 127.0.0.1:6379",
		 "redis-server", "redis-server"},
		{"", "/usr/lib/llvm-14/bin/clang", "clang++ -c x.cc", "clang++", "clang++"},
		{"", "/opt/x/bin/real", "/opt/x/bin/a-name-of-more-than-15 -v", "a-name-of-more-",
		 "a-name-of-more-than-15"},
		{"", "/opt/x/bin/real", "else --x", "other", "real"},
		{"", "/usr/bin/nginx", "nginx: master process", "nginx", "nginx"},
		{"", "", "/srv/thing --x", "", "thing"},
		{"", "", "", "worker", "worker"},
		{"", "", "", "", "[unknown]"},
		{"", "/", "/", "/", "/"},
		{"", "/usr/bin/python3", "python3 -- -odd.py", "python3", "-odd.py"},
		{"", "/usr/bin/python3", "python3 -m", "python3", "python3"},
		{"", "/usr/bin/python3", "     ", "python3", "python3"},
	};
	struct film_process kernel = {.pid = 77,
				      .parent = 2,
				      .comm = "kworker/0:1",
				      .exe = "",
				      .command = "",
				      .cgroup = "/",
				      .container = ""};
	char name[64];

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		named(NULL, &table[i]);
	identity_of(NULL, &kernel, name, sizeof(name));
	assert_string_equal(name, "kernel");
}

static struct identity *rules(const char *const *texts)
{
	struct identity *identity, *copy;
	struct fail why = {0};

	assert_int_equal(identity_new(&identity, &why), 0);
	for (; *texts; texts++)
		assert_int_equal(identity_add(identity, *texts, &why), 0);
	copy = identity_copy(identity);
	identity_free(identity);
	assert_non_null(copy);
	return copy;
}

static void test_rules(void **state)
{
	static const char *const texts[] = {
		"unit=postgresql@*-*.service db-$2",
		"command=* --name ?ail*  mailer$9",
		"comm=x* y$1$1",
		"exe=/opt/*/bin/* $2-of-$1",
		"cgroup=/a*b*c $1|$2",
		"container=0123* box-$1",
		NULL,
	};
	static const struct known table[] = {
		{"/system.slice/postgresql@14-main.service", "/usr/bin/p", "p", "p", "db-main"},
		{"", "/usr/bin/p", "p --name mails", "p", "mailer"},
		{"", "/usr/bin/p", "p", "xab", "yabab"},
		{"", "/usr/bin/p", "p", "x", "y"},
		{"", "/opt/shop/bin/cart", "p", "p", "cart-of-shop"},
		{"/axbybzc", "/usr/bin/p", "p", "p", "x|ybz"},
		{"/docker/" ID, "/usr/bin/p", "p", "p",
		 "box-456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
		{"/axbybzcd", "/usr/bin/p", "p", "p", "p"},
	};
	struct identity *identity = rules(texts);

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		named(identity, &table[i]);
	identity_free(identity);
}

/*
 * What was pushed is called as its client said, in any form and under any rules
 * there are.
 */
static void test_said(void **state)
{
	static const struct known table[] = {
		{"service:shop", "", "", "shop", "shop"},
		{"service:web/api (v2) .cpu", "", "", "x", "web/api (v2) .cpu"},
		{"service:python3", "/usr/bin/python3", "python3 app.py", "python3", "python3"},
		{"service:", "", "", "comm", "comm"},
	};
	struct identity *identity;
	struct fail why;

	(void)state;
	assert_int_equal(identity_new(&identity, &why), 0);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		named(identity, &table[i]);
	assert_int_equal(identity_add(identity, "comm=shop other", &why), 0);
	named(identity, &table[0]);
	identity_free(identity);
}

static void test_wrong_rules(void **state)
{
	static const char *const wrong[] = {"",	       "unit",	   "unit=",   "unit=x",
					    "unit= x", "what=x y", "unit=x ", "=x y"};
	struct identity *identity;
	struct fail why = {0};

	(void)state;
	assert_int_equal(identity_new(&identity, &why), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(identity_add(identity, wrong[i], &why), -EINVAL);
	identity_free(identity);
	identity_free(NULL);
}

/*
 * With any name that a process gives itself: no more than there is room for, at least one
 * character, whole characters.
 */
static void test_hostile(void **state)
{
	static const char *const stars[] = {"command=*a*a*a*a*a*a*a*a*a*a*b $1$2$3$9", NULL};
	struct identity *identity = rules(stars);
	static char text[70000];
	struct film_process process = {.pid = 1,
				       .comm = text,
				       .exe = text,
				       .command = text,
				       .cgroup = text,
				       .container = ""};
	unsigned int seed = 1;

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	for (int i = 0; i < 3000; i++) {
		static const char *const pieces[] = {
			"/",	    "kubepods", "-pod", "pod", ".slice",
			".scope",   ".service", "app-", "@",   "\\x2d",
			"\\x",	    " ",	"-m",	"é",   "\xff",
			"\x1b[31m", "python3",	"java", "lxc", "0123456789abcdef",
			"run-u",    "index.js", "-",	"…",   "user@",
			"session-"};
		size_t size = 2 + (size_t)rand_r(&seed) % 60, length;
		char name[64];

		for (size_t k = 0, n = (size_t)rand_r(&seed) % 12; i && !k;) {
			*text = 0;
			for (; k <= n; k++)
				strcat(text, pieces[(unsigned int)rand_r(&seed) % 26]);
		}
		memset(name, 1, sizeof(name));
		identity_of(i % 2 ? identity : NULL, &process, name, size);
		length = strlen(name);
		assert_true(length >= 1 && length < size);
		for (size_t k = size; k < sizeof(name); k++)
			assert_int_equal(name[k], 1);
	}
	identity_free(identity);
}

static void test_cut(void **state)
{
	struct film_process process = {
		.comm = "äöüäöüäöü", .exe = "", .command = "x", .cgroup = "", .container = ""};
	char name[10];

	(void)state;
	identity_of(NULL, &process, name, sizeof(name));
	assert_string_equal(name, "äöü…");
}

/* A rule is a part of the command line that it was given on, and must not find itself there. */
static void test_own_command(void **state)
{
	static const char *const rules[] = {"command=*shop* shop", "command=*stackcam serve watch",
					    "exe=*/stackcam own"};
	struct identity *identity;
	static const struct known table[] = {
		{"", "/usr/bin/stackcam", "stackcam agent --service command=*shop* shop",
		 "stackcam", "own"},
		{"", "/usr/bin/stackcam", "stackcam report --focus shop", "stackcam", "own"},
		{"", "/usr/bin/stackcam", "/usr/bin/stackcam serve --service command=*shop* shop",
		 "stackcam", "watch"},
		{"", "/usr/bin/stackcam", "stackcam", "stackcam", "own"},
		{"", "/usr/bin/stackcam-of-others", "stackcam-of-others shop", "", "shop"},
		{"", "/srv/shop/bin/web", "web --of shop", "web", "shop"},
	};

	(void)state;
	assert_int_equal(identity_new(&identity, NULL), 0);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		assert_int_equal(identity_add(identity, rules[i], NULL), 0);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		named(identity, &table[i]);
	identity_free(identity);
}

/* The build of an interpreter says nothing of its script. Without one it is the program's own. */
static void test_scripts(void **state)
{
	static const struct {
		const char *exe, *command;
		bool is_script;
	} table[] = {
		{"/usr/bin/python3.11", "python3 /srv/shop/web.py --port 80", true},
		{"/usr/bin/python3.11", "python3 -m http.server", true},
		{"/usr/bin/python3.11", "python3", false},
		{"/usr/bin/python3.11", "python3 -c pass", false},
		{"/usr/lib/jvm/bin/java", "java -jar shop.jar", true},
		{"/usr/bin/dash", "sh /usr/bin/ldd x", true},
		{"/usr/sbin/nginx", "nginx: worker process", false},
		{"", "", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct film_process process = {
			.pid = 1234,
			.parent = 1,
			.comm = "main",
			.command = table[i].command,
			.exe = table[i].exe,
		};

		assert_int_equal(identity_is_script(&process), table[i].is_script);
	}
}

/* What a program says of itself stands behind rules, and before what is guessed. */
static void test_resources(void **state)
{
	static const struct {
		const char *resource, *service;
	} table[] = {
		{"service.name=checkout,service.namespace=shop", "shop/checkout"},
		{"deployment.environment.name=prod,service.name=checkout", "checkout"},
		{"service.namespace=shop", "nginx"},
		{"service.name=", "nginx"},
		{"=,,==", "nginx"},
		{"", "nginx"},
		{NULL, "nginx"},
	};
	struct film_process process = {.comm = "nginx",
				       .exe = "/usr/sbin/nginx",
				       .command = "nginx",
				       .cgroup = "/system.slice/nginx.service",
				       .container = ""};
	struct identity *identity;
	struct fail why;
	char name[256];

	(void)state;
	assert_int_equal(identity_new(&identity, &why), 0);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		process.resource = table[i].resource;
		identity_of(identity, &process, name, sizeof(name));
		assert_string_equal(name, table[i].service);
	}
	assert_int_equal(identity_add(identity, "comm=nginx web", &why), 0);
	process.resource = table[0].resource;
	identity_of(identity, &process, name, sizeof(name));
	assert_string_equal(name, "web");
	identity_free(identity);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resources),   cmocka_unit_test(test_groups),
		cmocka_unit_test(test_programs),    cmocka_unit_test(test_said),
		cmocka_unit_test(test_rules),	    cmocka_unit_test(test_wrong_rules),
		cmocka_unit_test(test_hostile),	    cmocka_unit_test(test_cut),
		cmocka_unit_test(test_own_command), cmocka_unit_test(test_scripts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
