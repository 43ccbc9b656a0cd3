// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAffinityLimit(t *testing.T) {
	for _, test := range []struct {
		lists int
		want  uint32
	}{{0, 8192}, {1, 8192}, {4, 8192}, {5, 4096}, {8, 4096}, {9, 2048}, {512, 64}, {100_000, 64}} {
		require.Equal(t, test.want, affinityLimit(test.lists), "%d lists", test.lists)
	}
	port := &installedPort{ServicePort: &ServicePort{Affinity: time.Second, Frontends: []Frontend{{}, {Local: true}}}}
	b := bounds{limit: MaxAffinitiesOfList}
	var up []uint32
	for range 4 {
		b = b.after(nil, port)
		up = append(up, b.limit)
	}
	require.Equal(t, []uint32{8192, 8192, 4096, 4096}, up, "each port has two lists")
	b = b.after(port, nil).after(nil, port).after(port, nil).after(port, nil)
	require.Equal(t, bounds{4, 4096}, b, "it does not rise yet")
	b = b.after(port, nil)
	require.Equal(t, bounds{2, 8192}, b)
	require.Equal(t, b, b.after(nil, &installedPort{ServicePort: &ServicePort{Frontends: []Frontend{{}}}}), "a port without affinity")
}
