# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2086
# Which Debian packages stackcam needs, and how they get here. Sourced by run.sh and test.sh.

# To build it.
build_packages="
	gcc libc6-dev linux-libc-dev meson ninja-build pkg-config python3
	clang llvm bpftool libbpf-dev
	libelf-dev libdw-dev libdebuginfod-dev libiberty-dev
	libcapstone-dev libpcre2-dev
	libmicrohttpd-dev libgnutls28-dev libcurl4-gnutls-dev libjansson-dev libnghttp2-dev
	libzstd-dev zlib1g-dev liblzma-dev libsqlite3-dev
	libcmocka-dev
"

# To build and check its own packages.
deb_packages="debhelper dpkg-dev lintian"
image_packages="skopeo libcap2-bin"

# To make the pictures of the documentation, with a browser of those that tests need.
picture_packages="chromium chromium-driver python3-selenium webp nginx postgresql python3-psycopg2"

# To test it: lint and the fuzzer; compilers and tools that make what is tested; the oracles; the web
# page in a browser; other kernels. "A|B": one of them; where none is installed, the first that there is.
test_packages="
	clang-format clang-tidy lld libclang-rt-dev|libclang-rt-14-dev
	python3-pytest python3-pytest-xdist python3-yaml
	g++ musl-tools dwz xz-utils debuginfod
	golang-go golang-google-grpc-dev libleveldb-dev rustc
	linux-perf libssl-dev libc6-dbg
	lua5.1 lua5.2 lua5.3 lua5.4 liblua5.1-0 liblua5.4-0 luajit
	default-jdk-headless|openjdk-17-jdk-headless libtomcat10-java libjemalloc2 libjemalloc-dev
	redis-tools nghttp2-server nghttp2-client curl apache2-utils python3-grpcio gunicorn nginx haproxy php-fpm procps
	postgresql python3-psycopg2
	python3-aiohttp python3-uvicorn python3-uvloop python3-httpx
	mariadb-server-core mariadb-client-core
	nodejs node-acorn node-cjs-module-lexer node-undici libuv1|libuv1t64
	chromium chromium-driver python3-selenium
	busybox-static cpio qemu-system-x86 lz4 zstd
"

# The same in distributions without apt. Untested: names only. (Ubuntu has Debian's names, but bpftool, which comes with
# linux-tools-common and linux-tools-generic up to 24.04.)
fedora_packages="
	gcc glibc-devel kernel-headers meson ninja-build pkgconf-pkg-config python3
	clang llvm bpftool libbpf-devel
	elfutils-libelf-devel elfutils-devel elfutils-debuginfod-client-devel binutils-devel
	capstone-devel pcre2-devel
	libmicrohttpd-devel gnutls-devel libcurl-devel jansson-devel libnghttp2-devel
	libzstd-devel zlib-devel xz-devel sqlite-devel
	libcmocka-devel nodejs npm
"
arch_packages="
	gcc glibc linux-api-headers meson ninja pkgconf python
	clang llvm bpf libbpf
	libelf debuginfod binutils
	capstone pcre2
	libmicrohttpd gnutls curl jansson libnghttp2
	zstd zlib xz sqlite
	cmocka nodejs npm
"

# The page is built with npm; a Node.js that is no package of Debian brings its own.
command -v npm >/dev/null || build_packages="$build_packages nodejs npm"

# Those of "A|B".
alternatives()
{
	echo "$1" | tr '|' ' '
}

# has_package A|B: is one installed?
has_package()
{
	for package in $(alternatives "$1"); do
		case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
		installed) return 0 ;;
		esac
	done
	return 1
}

missing_packages()
{
	for wanted in "$@"; do
		has_package "$wanted" || echo "$wanted"
	done
}

# packages_to_be_had A|B…: of each the first that apt knows; the first one, for apt to complain of, where it knows none.
packages_to_be_had()
{
	for wanted in "$@"; do
		chosen=${wanted%%|*}
		for package in $(alternatives "$wanted"); do
			apt-cache policy "$package" | grep -q 'Candidate: [^(]' || continue
			chosen=$package
			break
		done
		echo "$chosen"
	done
}

# Installs those that are missing. Needs no network when none is.
install_packages()
{
	missing=$(missing_packages "$@")
	[ -n "$missing" ] || return 0
	local as_root=
	if [ "$(id -u)" -ne 0 ]; then
		command -v sudo >/dev/null || {
			echo "missing packages, which only root can install: "$missing >&2
			return 1
		}
		as_root="sudo"
	fi
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update &&
		$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends \
			install $(packages_to_be_had $missing)
}
