// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Command antrea-cni is the CNI plugin that container runtimes execute, installed as "antrea". It passes ADD, CHECK and DEL
// to the agent on the same Node, which does all the work, and answers VERSION itself. CNI 1.1 also has STATUS, which tells
// whether the agent listens, and GC, which has nothing to do: the agent releases unused resources when it starts.
package main

import (
	"os"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/version"

	cnipb "github.com/antrea-oncache/antrea/pkg/apis/cni/v1beta1"
	projectversion "github.com/antrea-oncache/antrea/pkg/version"
)

const (
	defaultSocket = "/var/run/antrea/cni.sock"
	// socketEnv makes tests independent of the Node's agent.
	socketEnv = "ANTREA_CNI_SOCKET_OVERRIDE"
)

func main() {
	socket := os.Getenv(socketEnv)
	if socket == "" {
		socket = defaultSocket
	}
	p := &plugin{socket: socket, stdout: os.Stdout}
	skel.PluginMainFuncs(
		skel.CNIFuncs{Add: p.add, Check: p.check, Del: p.del, Status: p.status},
		version.PluginSupports(cnipb.SupportedCNIVersions...),
		"antrea-cni "+projectversion.GetFullVersion())
}
