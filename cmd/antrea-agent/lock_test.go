// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/antrea-oncache/antrea/pkg/agent/nodelock"
	"github.com/antrea-oncache/antrea/pkg/client/kubernetes"
)

// TestSecondAgentTouchesNothing: a second agent gives up before it contacts Open vSwitch and Kubernetes, and before it makes any
// file.
func TestSecondAgentTouchesNothing(t *testing.T) {
	t.Setenv("NODE_NAME", "node1")
	dir, err := os.MkdirTemp("", "lock") // a short path, for the socket
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ovsdb, err := net.Listen("unix", filepath.Join(dir, "db.sock"))
	require.NoError(t, err)
	var asked atomic.Int32
	go func() {
		for {
			conn, err := ovsdb.Accept()
			if err != nil {
				return
			}
			asked.Add(1)
			conn.Close()
		}
	}()
	defer ovsdb.Close()
	o, err := completeOptions(t, fmt.Sprintf("ovsRunDir: %s\ncniSocket: %s/cni.sock\nfeatureGates: {ONCache: true}\n", dir, dir))
	require.NoError(t, err)
	o.tokenFile, o.policyDir, o.statsFile = filepath.Join(dir, "token"), filepath.Join(dir, "networkpolicy"), filepath.Join(dir, "networkpolicystats")
	o.egressFile = filepath.Join(dir, "egresses")
	o.groupsFile, o.nodeRulesFile = filepath.Join(dir, "servicegroups"), filepath.Join(dir, "nodepolicyrules")
	unlock, err := nodelock.Lock(t.Context(), o.lockFile)
	require.NoError(t, err)
	defer unlock()
	kube := fake.NewClientset()

	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := run(ctx, o, &kubernetes.Clients{Config: apiConfig, Kube: kube, Reviews: kube})
		require.ErrorContains(t, err, o.lockFile)
		require.ErrorContains(t, err, fmt.Sprintf("process %d", os.Getpid()))
	})
	require.Empty(t, kube.Actions())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "only Open vSwitch's socket: %v", entries)
	require.Zero(t, asked.Load(), "connections to Open vSwitch")
}
