// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// syncTimeout is the time for which a client waits for the controller's first complete result. Without that wait, an
// agent that asks too early would take policies that the controller has not seen yet for deleted.
const syncTimeout = 10 * time.Second

// Readiness reports whether this controller may answer.
type Readiness struct {
	// Synced is closed once all objects of the Kubernetes API are read.
	Synced <-chan struct{}
	// Serving returns an error while another controller serves.
	Serving func() error
}

// Ready returns nil when this controller may answer. It waits a while for that.
func (r Readiness) Ready(ctx context.Context) error { return r.wait(ctx) }

// wait returns nil when this controller may answer.
func (r Readiness) wait(ctx context.Context) error {
	timer := time.NewTimer(syncTimeout)
	defer timer.Stop()
	select {
	case <-r.Synced:
		return r.refuseOnStandby()
	case <-ctx.Done():
		return apierrors.NewServiceUnavailable(ctx.Err().Error())
	case <-timer.C:
		return apierrors.NewServiceUnavailable("antrea-controller has not read all objects of the Kubernetes API yet")
	}
}

func (r Readiness) refuseOnStandby() error {
	if err := r.Serving(); err != nil {
		return apierrors.NewServiceUnavailable(err.Error())
	}
	return nil
}
