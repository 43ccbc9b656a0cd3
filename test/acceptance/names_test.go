// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import "time"

// Images, which are on the Nodes.
const (
	agnhostImage = "registry.k8s.io/e2e-test-images/agnhost:2.40"
	toolboxImage = "antrea/toolbox:1.5-1"
	nginxImage   = "antrea/nginx:1.21.6-alpine"
)

// Names of the installation.
const (
	systemNamespace     = "kube-system"
	agentDaemonSet      = "antrea-agent"
	controller          = "antrea-controller"
	agentLabels         = "app=antrea,component=" + agentDaemonSet
	controllerLabels    = "app=antrea,component=" + controller
	agentContainer      = "antrea-agent"
	ovsContainer        = "antrea-ovs"
	antctlAccount       = "antctl"
	configMap           = "antrea-config"
	agentConfigKey      = "antrea-agent.conf"
	controllerConfigKey = "antrea-controller.conf"
	bridge              = "br-int"
	gateway             = "antrea-gw0"
	agentPort           = 10350
	controllerPort      = 10349
)

// Time limits.
const (
	podTimeout     = 90 * time.Second // until a Pod has an address, or is gone
	rolloutTimeout = 90 * time.Second // of agents and controller
	execTimeout    = time.Minute      // of a command in a Pod
	pollInterval   = 250 * time.Millisecond
)
