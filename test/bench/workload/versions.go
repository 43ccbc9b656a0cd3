// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"os/exec"
	"strings"

	"github.com/antrea-oncache/antrea/test/bench/result"
)

// packages are the Debian packages of tools, servers and network programs, by program.
var packages = map[string]string{
	"sockperf": "sockperf", "qperf": "qperf", "iperf3": "iperf3", "memcaslap": "libmemcached-tools", "memcached": "memcached",
	"pgbench": "postgresql", "wrk": "wrk", "ab": "apache2-utils", "nginx": "nginx-light", "perf": "linux-perf",
	"ip": "iproute2", "iptables": "iptables",
}

// servers are the programs that a tool measures.
var servers = map[string]string{"memcaslap": "memcached", "wrk": "nginx", "ab": "nginx"}

// Versions returns the versions of the results' tools and of their servers, by program.
func Versions(results []result.Result) map[string]string {
	versions := map[string]string{"traffic": "of this repository"}
	add := func(program string) {
		if name, ok := packages[program]; ok && versions[program] == "" {
			versions[program] = packageVersion(name)
		}
	}
	add("ip")
	add("iptables")
	for _, r := range results {
		add(r.Tool)
		add(servers[r.Tool])
	}
	return versions
}

func packageVersion(name string) string {
	out, err := exec.Command("dpkg-query", "-W", "-f", "${Version}", name).Output()
	if err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%s (Debian package %s)", strings.TrimSpace(string(out)), name)
}
