// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ofctl

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// Messages of Open vSwitch 3.1.
func TestRetry(t *testing.T) {
	failed := errors.New("exit status 1")
	for stderr, want := range map[string]int{
		"ovs-ofctl: /run/br-int.mgmt: failed to open socket (Broken pipe)":               attempts,
		"ovs-ofctl: unix:/run/br-int.mgmt: failed to connect to socket (Broken pipe)":    attempts,
		"ovs-ofctl: /run/br-int.mgmt: failed to open socket (Connection reset by peer)":  attempts,
		"ovs-ofctl: /run/br-int.mgmt: failed to open socket (No such file or directory)": 1,
		"ovs-ofctl: br-int is not a bridge or a socket":                                  1,
		"ovs-ofctl: OpenFlow packet receive failed (Connection reset by peer)":           1,
		"ovs-appctl: /run/ovs-vswitchd.ctl: failed to connect to socket (Broken pipe)":   1,
	} {
		runs := 0
		require.ErrorIs(t, Retry(t.Context(), func() (string, error) { runs++; return stderr, failed }), failed)
		require.Equal(t, want, runs, stderr)
		runs = 0
		require.NoError(t, Retry(t.Context(), func() (string, error) {
			if runs++; runs < want {
				return stderr, failed
			}
			return "", nil
		}))
		require.Equal(t, want, runs, stderr)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		runs = 0
		require.ErrorIs(t, Retry(ctx, func() (string, error) { runs++; return stderr, failed }), failed)
		require.Equal(t, 1, runs, stderr)
	}
}
