// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/antrea-oncache/antrea/test/env/testbed/daemon"
	"github.com/antrea-oncache/antrea/test/env/testbed/remote"
)

// kind is the kind of the daemon that `up` starts. Clusters of different names are different daemons, so that tests do not use a user's cluster.
func kind() string { return kindOf(os.Getenv("CLUSTER_NAME")) }

// kindOf is the kind of the cluster with a name, which may be empty.
func kindOf(name string) string {
	if name != "" {
		return "cluster-" + name
	}
	return "cluster"
}

// instance is the information that other commands need to use the cluster that is up.
type instance struct {
	Kubeconfig string `json:"kubeconfig"`
	Nodes      []node `json:"nodes"`
	// Machine is the kind of the machine that all Nodes share, "" with kubelets.
	Machine string `json:"machine"`
	// Kubelets is nil if the Nodes have no kubelets.
	Kubelets *kubelets `json:"kubelets"`
}

// node is a Node: a program that runs at the endpoint after Enter and in the environment Env ("KEY=value") runs on the Node.
type node struct {
	Name     string          `json:"name"`
	IP       string          `json:"ip"`
	Endpoint remote.Endpoint `json:"endpoint"`
	Enter    []string        `json:"enter"`
	Env      []string        `json:"env"`
}

// kubelets describes a cluster whose Nodes have kubelets.
type kubelets struct {
	Kubectl string `json:"kubectl"`
	// NetNS is the path of the Nodes' network namespace, KubeconfigInside the kubeconfig for programs there.
	NetNS            string `json:"netns"`
	KubeconfigInside string `json:"kubeconfigInside"`
	// API is the address of the Kubernetes API for programs of the Nodes. KubeProxy reports whether kube-proxy is installed.
	API       string `json:"api"`
	KubeProxy bool   `json:"kubeProxy"`
}

// readInstance returns the cluster that is up, or daemon.ErrDown.
func readInstance() (i *instance, running daemon.Running, err error) {
	i = &instance{}
	running, err = daemon.Read(kind(), i)
	return i, running, err
}

// readKubelets does the same for a cluster with kubelets.
func readKubelets() (i *instance, running daemon.Running, err error) {
	if i, running, err = readInstance(); err == nil && i.Kubelets == nil {
		err = errors.New("the Nodes of the cluster that is up have no kubelets, which this command needs: use `down`, then `up --kubelets`")
	}
	return i, running, err
}

// node returns the Node with a name: "node-1", or "1" for short.
func (i *instance) node(name string) (node, error) {
	var names []string
	for _, n := range i.Nodes {
		if n.Name == name || n.Name == "node-"+name {
			return n, nil
		}
		names = append(names, n.Name)
	}
	return node{}, fmt.Errorf("there is no Node %q, the Nodes are %v", name, names)
}
