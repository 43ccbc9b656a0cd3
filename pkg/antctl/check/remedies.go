// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import "strings"

// Remedies say what to do about a cache that is unavailable, by what its reason contains. docs/operate/troubleshooting.md has the same rows, with the causes.
var Remedies = map[string]string{
	"tunnelCsum is true":                 "set tunnelCsum: false",
	"the fast path needs Ethernet":       "choose an Ethernet device with transportInterface",
	"is a bpffs mounted there?":          "mount a bpffs on the Node (mount -t bpf bpf /sys/fs/bpf)",
	"load ONCache programs":              "use a newer kernel; with -v=2 the agent logs what this one refuses",
	"needs Linux 5.5":                    "use a newer kernel",
	"is the module nf_conntrack loaded?": "load the module (modprobe nf_conntrack), or make /proc/sys writable for the agent",
	"leaves no room for clsact":          "replace the uplink's ingress qdisc by clsact, or use Linux 6.6",
	"cannot be recorded":                 "make room for /var/run/antrea",
}

// remedy returns what the user can do about a reason.
func remedy(reason string) string {
	for part, text := range Remedies {
		if strings.Contains(reason, part) {
			return text + ", then restart the agent"
		}
	}
	return `remove the cause, then restart the agent (docs/operate/troubleshooting.md#state-unavailable)`
}
