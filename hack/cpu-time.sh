#!/usr/bin/env bash
# Copyright 2026 The antrea-oncache Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs a command and writes its CPU time in whole seconds into a file: cpu-time.sh FILE COMMAND... The time includes all processes that the
# command has started, virtual machines and daemons as well, where a control group can be made (root). Elsewhere only those count for which
# it has waited. Processes that a failed command has left in its group are told to end, and killed after a minute: they would run beside the
# next stages. A stage that hung leaves most of its processes, since make ends only its shells.
set -uo pipefail

grace=60
file=$1
shift
group='' usage=''
# Version 1 or 2 of control groups; a machine may have both, with the controller in version 1.
if [ -e /sys/fs/cgroup/cpuacct/cgroup.procs ]; then
	group=/sys/fs/cgroup/cpuacct usage=cpuacct.usage
elif [ -e /sys/fs/cgroup/cgroup.procs ]; then
	group=/sys/fs/cgroup usage=cpu.stat
fi
group+=/antrea-cpu-time-$$
# A group that an ended program of the same number has left is empty: it can be used.
if [ -z "$usage" ] || ! { mkdir -p "$group" && ( echo "$BASHPID" >"$group/cgroup.procs" ); } 2>/dev/null; then
	TIMEFORMAT='%0U %0S'
	{ time "$@" 2>&3; } 3>&2 2>"$file"
	code=$?
	read -r user system <"$file"
	echo $((user + system)) >"$file"
	exit $code
fi

# read_usage prints the seconds.
read_usage() {
	if [ $usage = cpu.stat ]; then
		awk '/^usage_usec/ { print int($2 / 1000000) }' "$group/$usage"
	else
		awk '{ print int($1 / 1000000000) }' "$group/$usage"
	fi
}

# left lists the processes in the group.
left() {
	awk '$1 > 0' "$group/cgroup.procs"
}

# end_left COMMAND... ends them.
end_left() {
	local signal deadline
	for signal in TERM KILL; do
		[ -n "$(left)" ] || return 0
		echo "cpu-time: these processes of $* are left, and get $signal:" >&2
		# shellcheck disable=SC2046 # These are several.
		ps -o pid=,args= $(left) >&2
		# shellcheck disable=SC2046
		kill -$signal $(left) 2>/dev/null
		deadline=$((SECONDS + grace))
		while [ -n "$(left)" ] && [ $SECONDS -lt $deadline ]; do sleep 0.1; done
	done
}

before=$(read_usage)
(
	echo "$BASHPID" >"$group/cgroup.procs"
	exec "$@"
)
code=$?
[ $code = 0 ] || end_left "$@"
echo $(($(read_usage) - before)) >"$file"
# Processes that the command has left keep the group.
rmdir "$group" 2>/dev/null
exit $code
