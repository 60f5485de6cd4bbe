# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# Debian's kernels, for the tests that boot them. Sourced; $cache is where they are kept.
#
# They come from all suites that have one. apt fetches them with a folder of its own, so it checks signatures, and neither
# the machine's sources nor its packages are touched. The mirror is the one that the machine's own packages come from.
kernel_suites="bookworm bookworm-backports trixie trixie-backports sid experimental"

# All series that are tested, the oldest first. Debian's suites lose those between the long-term ones some day.
kernel_series="6.1 6.12 6.16 6.17 6.18 6.19 7.2 7.3"

# kernel_apt COMMAND WORD…: one of apt's programs with that folder.
kernel_apt()
{
	APT_CONFIG=$cache/apt/apt.conf LC_ALL=C "$@"
}

# kernel_index: makes the folder and fetches the suites' indices, unless that was done this day.
kernel_index()
{
	local apt=$cache/apt keys=/usr/share/keyrings/debian-archive-keyring.gpg mirror suite
	[ -z "$(find "$apt/fetched" -mtime -1 2>/dev/null)" ] || return 0
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1)
	[ -n "$mirror" ] && [ -e "$keys" ] || return 1
	mkdir -p "$apt/lists/partial" "$apt/archives/partial"
	: >"$apt/status"
	for suite in $kernel_suites; do
		echo "deb [arch=amd64 signed-by=$keys] $mirror $suite main"
	done >"$apt/sources.list"
	cat >"$apt/apt.conf" <<-END
		Dir::State "$apt"; Dir::State::lists "lists"; Dir::State::status "$apt/status";
		Dir::Cache "$apt"; Dir::Cache::archives "archives";
		Dir::Etc::sourcelist "$apt/sources.list"; Dir::Etc::sourceparts "/dev/null"; Dir::Etc::preferencesparts "/dev/null";
		APT::Sandbox::User "root"; APT::Update::Error-Mode "any";
		Acquire::Languages "none"; Acquire::PDiffs "false"; Acquire::Retries "1";
		Acquire::http::Timeout "20"; Acquire::https::Timeout "20";
	END
	kernel_apt timeout 600 apt-get -qq update && touch "$apt/fetched"
}

# kernel_newest SERIES: the version in the names of that series' newest packages, of the flavour for virtual machines,
# which is the smallest; of "6.12-all" that which has all modules.
kernel_newest()
{
	local series=${1%-all} flavour=-cloud-amd64
	[ "$series" = "$1" ] || flavour=[0-9]-amd64
	kernel_apt apt-cache search --names-only "^linux-image-${series//./\\.}\\.[0-9][^ ]*$flavour\$" |
		sed 's/^linux-image-\([^ ]*\) .*/\1/' | sort -V | tail -n 1
}

# kernel_fetch SERIES: downloads its packages and unpacks them, not installed, into $cache/SERIES. Newer ones have the
# kernel and its modules in packages of their own.
kernel_fetch()
{
	local new=$cache/$1.new version part file packages=()
	kernel_index || return 1
	version=$(kernel_newest "$1")
	[ -n "$version" ] || return 1
	for part in image binary modules; do
		[ -z "$(kernel_apt apt-cache madison "linux-$part-$version")" ] || packages+=("linux-$part-$version")
	done
	rm -rf "$new"
	mkdir -p "$new/packages"
	(cd "$new/packages" && kernel_apt timeout 600 apt-get -qq download "${packages[@]}") || return 1
	for file in "$new"/packages/*.deb; do
		dpkg-deb -x "$file" "$new" || return 1
	done
	# where newer ones have it
	mkdir -p "$new/boot"
	file=$new/usr/lib/modules/$version/vmlinuz
	[ ! -e "$file" ] || mv "$file" "$new/boot/vmlinuz-$version"
	ls "$new"/boot/vmlinuz-* || return 1
	rm -rf "$new/packages" "$cache/${1:?}"
	mv "$new" "$cache/$1"
}

# kernel_of SERIES: the path of a kernel of that series, which is fetched when it is not there; 1 where it cannot be had.
kernel_of()
{
	mkdir -p "$cache"
	if ! ls "$cache/$1"/boot/vmlinuz-* >/dev/null 2>&1; then
		# one at a time, each with the same folder of apt
		(flock 9 && { ls "$cache/$1"/boot/vmlinuz-* || kernel_fetch "$1"; }) >"$cache/$1.fetched" 2>&1 9>"$cache/lock" || return 1
	fi
	ls "$cache/$1"/boot/vmlinuz-* | head -n 1
}
