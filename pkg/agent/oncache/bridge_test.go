// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsconfig"
)

func TestMirrored(t *testing.T) {
	for name, tc := range map[string]struct {
		mirror []string
		pod    bool
	}{
		"no mirror":          {nil, false},
		"the Pod's port":     {[]string{"pod"}, true},
		"another Pod's port": {[]string{"other"}, false},
		"the tunnel's port":  {[]string{config.DefaultTunPortName}, true},
		"the gateway's port": {[]string{"antrea-gw0"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			bridge := ovsconfig.NewFake("br-int")
			require.NoError(t, bridge.Create(t.Context()))
			bridge.Mirrored = tc.mirror
			is, err := Mirrored(bridge, config.DefaultTunPortName)
			require.NoError(t, err)
			require.Equal(t, tc.pod, is != nil && is("pod"))
		})
	}
}
