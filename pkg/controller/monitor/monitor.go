// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

const (
	// writeInterval is Antrea's.
	writeInterval = time.Minute
	// relistInterval is after how long deleted or foreign AntreaAgentInfos are noticed.
	relistInterval = 10 * time.Minute
	// standbyInterval is the interval at which a standby controller checks whether it serves now.
	standbyInterval = 2 * time.Second
	requestTimeout  = 10 * time.Second
)

var backoff = retry.Backoff{Min: 2 * time.Second, Max: time.Minute}

// Monitor writes the objects. All fields are required.
type Monitor struct {
	Kube    kubernetes.Interface
	Dynamic dynamic.Interface
	Querier *Querier
	// Serving returns an error while another controller serves, which writes the objects.
	Serving func() error
	// SetNode, unless it is nil, learns whether the cluster has a Node.
	SetNode func(name string, exists bool)

	nodes *nodes
	// wake has a value when Nodes have come or gone.
	wake chan struct{}
}

// Run writes until ctx ends.
func (m *Monitor) Run(ctx context.Context) {
	m.nodes, m.wake = newNodes(), make(chan struct{}, 1)
	stop, err := m.watchNodes(ctx)
	if err != nil {
		klog.ErrorS(err, "The objects of agents and controller are not written")
		return
	}
	defer stop()
	var running sync.WaitGroup
	running.Go(func() { m.runAgents(ctx) })
	running.Go(func() { m.runController(ctx) })
	running.Wait()
}

func (m *Monitor) changed() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// runAgents keeps the AntreaAgentInfos until ctx ends.
func (m *Monitor) runAgents(ctx context.Context) {
	task := retry.NewTask("The creation and deletion of AntreaAgentInfos", relistInterval, backoff)
	for ctx.Err() == nil {
		if m.Serving() != nil {
			m.nodes.forget()
			_ = retry.Sleep(ctx, standbyInterval) // The loop's condition sees that ctx has ended.
			continue
		}
		err := m.syncAgents(ctx)
		if ctx.Err() != nil {
			return
		}
		timer := time.NewTimer(task.Done(err))
		wake := m.wake
		if err != nil {
			// The delay after a failure counts for all Nodes.
			wake = nil
		}
		select {
		case <-ctx.Done():
		case <-wake:
		case <-timer.C:
			m.nodes.forget()
		}
		timer.Stop()
	}
}

// runController writes the AntreaControllerInfo until ctx ends.
func (m *Monitor) runController(ctx context.Context) {
	task := retry.NewTask("The update of the AntreaControllerInfo", writeInterval, backoff)
	for ctx.Err() == nil {
		wait := standbyInterval
		if m.Serving() == nil {
			err := m.writeController(ctx)
			if ctx.Err() != nil {
				return
			}
			wait = task.Done(err)
		}
		_ = retry.Sleep(ctx, wait) // The loop's condition sees that ctx has ended.
	}
}

// writeController makes the object, or brings it up to date.
func (m *Monitor) writeController(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	infos := m.Dynamic.Resource(crd.ControllerInfos)
	info := m.Querier.ControllerInfo()
	object, err := infos.Get(ctx, v1beta1.AntreaControllerInfoName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		object = crd.New(v1beta1.AntreaControllerInfoKind, v1beta1.AntreaControllerInfoName)
		if err = crd.Fill(object, &info); err == nil {
			_, err = infos.Create(ctx, object, metav1.CreateOptions{})
		}
		err = crd.Missing(err, crd.ControllerInfos)
	case err == nil:
		if err = crd.Fill(object, &info); err == nil {
			_, err = infos.Update(ctx, object, metav1.UpdateOptions{})
		}
	}
	if err != nil {
		return fmt.Errorf("writing AntreaControllerInfo %s: %w", v1beta1.AntreaControllerInfoName, err)
	}
	return nil
}
