// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ofctl_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/ovs/ofctl"
)

// Messages of Open vSwitch 3.1.
func TestNothingSent(t *testing.T) {
	for stderr, want := range map[string]bool{
		"ovs-ofctl: /run/br-int.mgmt: failed to open socket (Broken pipe)":               true,
		"ovs-ofctl: unix:/run/br-int.mgmt: failed to connect to socket (Broken pipe)":    true,
		"ovs-ofctl: /run/br-int.mgmt: failed to open socket (Connection reset by peer)":  true,
		"ovs-ofctl: /run/br-int.mgmt: failed to open socket (No such file or directory)": false,
		"ovs-ofctl: br-int is not a bridge or a socket":                                  false,
		"ovs-appctl: /run/ovs-vswitchd.ctl: failed to connect to socket (Broken pipe)":   false,
		"ovs-ofctl: OpenFlow packet receive failed (Connection reset by peer)":           false,
	} {
		require.Equal(t, want, ofctl.NothingSent(stderr), stderr)
	}
}
