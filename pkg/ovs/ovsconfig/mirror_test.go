// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ovsconfig

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
)

func TestMirroredPorts(t *testing.T) {
	o := ovstest.Start(t)
	_, c := connect(t, o)
	require.NoError(t, c.Create(testContext(t)))
	for _, name := range []string{"pod1", "pod2", "pod3", "monitor"} {
		_, err := c.CreateInternalPort(name, 0, nil, nil)
		require.NoError(t, err)
	}
	requireMirrored := func(want ...string) {
		t.Helper()
		// The client sees a change by others a moment later.
		require.EventuallyWithT(t, func(collect *assert.CollectT) {
			got, err := c.MirroredPorts()
			assert.NoError(collect, err)
			assert.Equal(collect, want, got)
		}, 15*time.Second, 10*time.Millisecond)
	}
	requireMirrored()
	o.Vsctl("--", "--id=@a", "get", "Port", "pod1", "--", "--id=@b", "get", "Port", "pod2", "--", "--id=@out", "get", "Port", "monitor",
		"--", "--id=@m", "create", "Mirror", "name=one", "select_src_port=@a", "select_dst_port=@b", "output_port=@out",
		"--", "set", "Bridge", bridge, "mirrors=@m")
	requireMirrored("pod1", "pod2")
	o.Vsctl("set", "Mirror", "one", "select_all=true")
	requireMirrored("monitor", "pod1", "pod2", "pod3")
	o.Vsctl("clear", "Bridge", bridge, "mirrors")
	requireMirrored()
}
