// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/env/testbed/daemon"
	"github.com/antrea-oncache/antrea/test/env/testbed/remote"
)

const (
	// kind is the daemon that `up` starts.
	kind            = "up"
	clusterFileName = "cluster.json"
)

// instance is the information that other commands need to use the testbed that is up.
type instance struct {
	Machine    string          `json:"machine"`
	Endpoint   remote.Endpoint `json:"endpoint"`
	Kubeconfig string          `json:"kubeconfig"`
}

// readInstance returns the testbed that is up, or daemon.ErrDown.
func readInstance() (i instance, running daemon.Running, nodes cluster.State, err error) {
	if running, err = daemon.Read(kind, &i); err != nil {
		return i, running, nodes, fmt.Errorf("testbed: %w", err)
	}
	nodes, err = cluster.ReadState(filepath.Join(running.Dir, clusterFileName))
	return i, running, nodes, err
}
