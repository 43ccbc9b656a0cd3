// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"cmp"
	"os"
	"strconv"
	"time"

	"github.com/antrea-oncache/antrea/test/env/kubecluster/images"
)

// Images, which are on the Nodes.
const (
	agnhostImage = images.Agnhost
	toolboxImage = images.Toolbox
	nginxImage   = images.Nginx
)

// Names of the installation.
const (
	systemNamespace     = "kube-system"
	namespacePrefix     = "acceptance-" // of the Namespaces of cases
	agentDaemonSet      = "antrea-agent"
	controller          = "antrea-controller"
	agentLabels         = "app=antrea,component=" + agentDaemonSet
	controllerLabels    = "app=antrea,component=" + controller
	agentContainer      = "antrea-agent"
	ovsContainer        = "antrea-ovs"
	antctlRole          = "antctl"
	configMap           = "antrea-config"
	agentConfigKey      = "antrea-agent.conf"
	controllerConfigKey = "antrea-controller.conf"
	bridge              = "br-int"
	gateway             = "antrea-gw0"
	agentPort           = 10350
	controllerPort      = 10349
)

// Time limits. The limits of Pods, rollouts and commands are upstream's.
var (
	podTimeout     = limit(90 * time.Second) // until a Pod has an address, or is gone
	rolloutTimeout = limit(90 * time.Second) // of agents and controller
	execTimeout    = limit(time.Minute)      // of a command in a Pod
	gracefulExit   = limit(20 * time.Second) // of an agent that is told to end
	untilTimeout   = limit(5 * time.Minute)  // for traffic that outlasts what happens beside it
	policyDelay    = limit(10 * time.Second) // until a policy is in force, or a Service, or a flow
	statsDelay     = limit(2 * time.Minute)  // until both Nodes' agents have reported traffic, which they do once a minute
	bundleTimeout  = limit(90 * time.Second) // until a component has collected a support bundle, for which it takes 50 seconds at most
	fastTimeout    = limit(30 * time.Second) // until packets of a busy connection are seen on the fast path
	followTimeout  = limit(2 * time.Minute)  // until the controller uses a certificate that has changed in its Secret
	interruption   = limit(5 * time.Second)  // of a stream while an agent is replaced
)

const pollInterval = 250 * time.Millisecond

// slowness is a factor for all time limits, for machines that other programs keep busy.
var slowness = func() int {
	n, err := strconv.Atoi(cmp.Or(os.Getenv("ACCEPTANCE_SLOWNESS"), "1"))
	if err != nil || n < 1 {
		panic("ACCEPTANCE_SLOWNESS must be a whole number, at least 1")
	}
	return n
}()

func limit(d time.Duration) time.Duration { return time.Duration(slowness) * d }
