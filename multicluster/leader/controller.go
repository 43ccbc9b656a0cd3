// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
	"github.com/antrea-oncache/antrea/multicluster/change"
	"github.com/antrea-oncache/antrea/multicluster/source"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

// settle is the time in which changes collect.
const settle = 50 * time.Millisecond

var backoff = retry.Backoff{Min: time.Second, Max: checkInterval}

// Controller is the controller of the leader.
type Controller struct {
	namespace string
	core      *core
	wake      source.Waker
	writer    *change.Writer
	sets      *source.Source[v1alpha2.ClusterSet]
	announces *source.Source[v1alpha1.MemberClusterAnnounce]
	exports   *source.Source[v1alpha1.ResourceExport]
	imports   *source.Source[v1alpha1.ResourceImport]
}

// New returns a Controller for the Common Area in a Namespace; it does nothing before Run.
func New(client dynamic.Interface, namespace string) (*Controller, error) {
	c := &Controller{namespace: namespace, core: newCore(), wake: source.NewWaker(), writer: change.NewWriter(client)}
	area := source.Selection{Namespace: namespace}
	var errs [4]error
	c.sets, errs[0] = source.New[v1alpha2.ClusterSet](client, v1alpha2.ClusterSets, area, c.wake.Wake)
	c.announces, errs[1] = source.New[v1alpha1.MemberClusterAnnounce](client, v1alpha1.MemberClusterAnnounces, area, c.wake.Wake)
	c.exports, errs[2] = source.New[v1alpha1.ResourceExport](client, v1alpha1.ResourceExports, area, c.wake.Wake)
	c.imports, errs[3] = source.New[v1alpha1.ResourceImport](client, v1alpha1.ResourceImports, area, c.wake.Wake)
	return c, errors.Join(errs[:]...)
}

func (c *Controller) sources() []source.Runner {
	return []source.Runner{c.sets, c.announces, c.exports, c.imports}
}

// Synced returns an error that names what is not read yet.
func (c *Controller) Synced() error {
	for _, s := range c.sources() {
		if err := s.Synced(); err != nil {
			return err
		}
	}
	return nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { source.RunAll(ctx, c.sources()...) })
	task := retry.NewTask("The synchronization of the leader of a ClusterSet", checkInterval, backoff)
	for {
		delay := settle
		if c.Synced() == nil {
			again, err := c.sync(ctx)
			if ctx.Err() != nil {
				return
			}
			if delay = task.Done(err); again > 0 {
				delay = min(delay, again)
			}
		}
		if c.wake.Wait(ctx, delay, settle) != nil {
			return
		}
	}
}

func (c *Controller) sync(ctx context.Context) (again time.Duration, err error) {
	set, err := c.clusterSet()
	if err != nil {
		return 0, err
	}
	return c.writer.Write(ctx, c.core.plan(&snapshot{
		now: time.Now(), namespace: c.namespace, set: set, announces: c.announces.List(), exports: c.exports.List(), imports: c.imports.List(),
		malformed: c.imports.Malformed(),
	}))
}

// clusterSet returns the ClusterSet that this cluster leads, or nil. It fails if there is one that it cannot lead.
func (c *Controller) clusterSet() (*v1alpha2.ClusterSet, error) {
	all := c.sets.List()
	switch {
	case len(c.sets.Unreadable()) > 0:
		return nil, fmt.Errorf("ClusterSet %s does not have the form of a ClusterSet", c.sets.Unreadable()[0])
	case len(all) == 0:
		return nil, nil
	case len(all) > 1:
		return nil, fmt.Errorf("there are the ClusterSets %s and %s, allowed: one", all[0].Name, all[1].Name)
	}
	leads := func(l v1alpha2.LeaderClusterInfo) bool { return l.ClusterID == all[0].Spec.ClusterID }
	if !slices.ContainsFunc(all[0].Spec.Leaders, leads) {
		return nil, fmt.Errorf("ClusterSet %s has clusterID %q, which is not among its leaders; the leader's controller runs in this Namespace", all[0].Name, all[0].Spec.ClusterID)
	}
	return all[0], nil
}
