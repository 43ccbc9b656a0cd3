// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"strings"
)

// Names of containers of the chart.
const (
	agentContainer      = "antrea-agent"
	ovsContainer        = "antrea-ovs"
	controllerContainer = "antrea-controller"
)

// capabilities are the capabilities that the chart gives a container (the agent's: without privileged), by their names
// in Kubernetes. The programs of the container run on a Node with these and no others, not even the defaults of
// container runtimes.
var capabilities = map[string][]string{
	agentContainer:      {"BPF", "NET_ADMIN", "NET_RAW", "PERFMON", "SYS_ADMIN", "SYS_PTRACE"},
	ovsContainer:        {"SYS_NICE", "NET_ADMIN", "SYS_ADMIN", "IPC_LOCK"},
	controllerContainer: {},
}

// confined returns the command that runs args as the container does: by root, with the container's capabilities. No program that it starts gets more,
// since the bounding set has no others. The process keeps its number and gets the name of the program.
func confined(container string, args []string) []string {
	bounding := "--bounding-set=-all"
	for _, name := range capabilities[container] {
		bounding += ",+" + strings.ToLower(name)
	}
	return slices.Concat([]string{"setpriv", "--no-new-privs", "--inh-caps=-all", bounding, "--"}, args)
}
