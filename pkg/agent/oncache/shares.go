// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
)

// watchShares divides the cache among the Pods, at once and once per lease. It never waits for Open vSwitch, even indirectly.
func (m *Manager) watchShares(stopCh <-chan struct{}) {
	tick := time.NewTicker(m.config.Lease)
	defer tick.Stop()
	for {
		if err := recovery.Call(boundaryName, recovery.Part("ONCache shares"), func() error { return m.balancer.Review(time.Now()) }); err != nil {
			m.failures.add(operationShares)
			klog.ErrorS(err, "Could not divide the cache among the Pods, trying again", "after", m.config.Lease)
		}
		select {
		case <-stopCh:
			return
		case <-tick.C:
		}
	}
}
