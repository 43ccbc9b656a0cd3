// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
	"github.com/antrea-oncache/antrea/multicluster/change"
	"github.com/antrea-oncache/antrea/multicluster/commonarea"
	"github.com/antrea-oncache/antrea/multicluster/source"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

const (
	// checkInterval is the time between two looks at everything without a change, settle the time in which changes collect. The Secret of the
	// ClusterSet is read as often.
	checkInterval = 10 * time.Second
	settle        = 100 * time.Millisecond
)

var backoff = retry.Backoff{Min: time.Second, Max: 10 * time.Second}

// Settings are parts of the configuration file.
type Settings struct {
	// ServiceCIDR is this cluster's; invalid if the controller must discover it.
	ServiceCIDR netip.Prefix
	// PodCIDRs are told to the other clusters.
	PodCIDRs []string
	// ExternalGatewayIP makes the ExternalIP of a Node its Gateway's address.
	ExternalGatewayIP bool
}

// Config contains what a Controller needs.
type Config struct {
	Kube    kubernetes.Interface
	Dynamic dynamic.Interface
	// Namespace is the controller's own. The ClusterSet, its Secret, Gateways and ClusterInfoImports are there.
	Namespace string
	Settings  Settings
}

// Controller is the controller of a member.
type Controller struct {
	Config
	view *view
	// local wakes the goroutine that writes to this cluster, remote the one that writes to the leader.
	local, remote source.Waker
	writer        *change.Writer
	serviceCIDR   atomic.Pointer[netip.Prefix]

	// link is replaced, and leaving and memory are used, by the goroutine of Run only.
	link    atomic.Pointer[link]
	leaving []leaving
	memory  memory
}

// New returns a Controller that does nothing before Run.
func New(config Config) (*Controller, error) {
	c := &Controller{Config: config, local: source.NewWaker(), remote: source.NewWaker(), writer: change.NewWriter(config.Dynamic)}
	c.serviceCIDR.Store(&config.Settings.ServiceCIDR)
	var err error
	c.view, err = newView(config, c.changed)
	return c, err
}

func (c *Controller) changed() {
	c.local.Wake()
	c.remote.Wake()
}

// Run works until ctx ends. It does not leave the ClusterSet then.
func (c *Controller) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { source.RunAll(ctx, c.view.sources()...) })
	running.Go(func() { c.discover(ctx) })
	defer func() { c.disconnect(); c.stopLeaving(func(commonarea.Membership) bool { return true }) }()
	task := retry.NewTask("The synchronization of this member of a ClusterSet", checkInterval, backoff)
	for {
		again, err := c.sync(ctx)
		if ctx.Err() != nil {
			return
		}
		delay := task.Done(err)
		if again > 0 {
			delay = min(delay, again)
		}
		if c.local.Wait(ctx, delay, settle) != nil {
			return
		}
	}
}

// Synced returns an error while this cluster's objects are not read.
func (c *Controller) Synced() error { return c.view.synced() }

// discover finds the Service network, unless it is configured.
func (c *Controller) discover(ctx context.Context) {
	if c.Settings.ServiceCIDR.IsValid() {
		return
	}
	task := retry.NewTask("The discovery of the Service network", checkInterval, backoff)
	for {
		found, err := discoverServiceCIDR(ctx, c.Kube, c.Namespace)
		if err == nil {
			klog.InfoS("Discovered the Service network", "serviceCIDR", found)
			c.serviceCIDR.Store(&found)
			c.changed()
			return
		}
		if retry.Sleep(ctx, task.Done(err)) != nil {
			return
		}
	}
}

// sync connects to the leader that the ClusterSet names, and writes to this cluster what is due.
func (c *Controller) sync(ctx context.Context) (again time.Duration, err error) {
	if c.view.synced() != nil {
		return settle, nil
	}
	set, err := c.view.clusterSet()
	if err != nil {
		return 0, err
	}
	connecting := c.connect(ctx, set)
	s := c.snapshot(set)
	c.memory.look(s)
	if connecting != nil && s.connection.message == "" {
		s.connection.message = connecting.Error()
	}
	s.policies.refused = c.writer.Refused(clusterPolicies)
	changes, refusals := s.localChanges()
	changes, held := c.memory.hold(s, changes)
	again, err = c.writer.Write(ctx, changes)
	if held > 0 && (again == 0 || held < again) {
		again = held
	}
	if !maps.Equal(s.policies.refused, c.writer.Refused(clusterPolicies)) {
		c.local.Wake()
	}
	if l := c.link.Load(); l != nil && s.leader.ready {
		if failures := policyFailures(refusals); !maps.Equal(failures, *l.failures.Load()) {
			l.failures.Store(&failures)
			c.remote.Wake()
		}
	}
	return again, errors.Join(connecting, err)
}

func (c *Controller) snapshot(set *v1alpha2.ClusterSet) *snapshot {
	s := c.view.snapshot(set)
	s.now, s.namespace, s.settings, s.serviceCIDR = metav1.Now(), c.Namespace, c.Settings, *c.serviceCIDR.Load()
	l := c.link.Load()
	if l == nil || set == nil || l.area.Membership != membershipOf(set) {
		return s
	}
	s.connection.up, s.connection.message = l.area.State()
	if l.area.Synced() == nil {
		s.leader = leader{ready: true, imports: l.area.Imports.List(), unreadable: l.area.Imports.Unreadable(), exports: l.area.Exports.List(), refused: *l.refused.Load()}
		c.view.addNamesakes(s)
	}
	return s
}

func membershipOf(set *v1alpha2.ClusterSet) commonarea.Membership {
	leader := set.Spec.Leaders[0]
	return commonarea.Membership{
		ClusterSetID: set.Name, ClusterID: set.Spec.ClusterID, LeaderClusterID: leader.ClusterID, Server: leader.Server, Namespace: set.Spec.Namespace,
	}
}

// export writes to the leader until ctx ends.
func (c *Controller) export(ctx context.Context, l *link) {
	area, teller := l.area, newTeller()
	writer := change.NewWriter(area.Client)
	task := retry.NewTask("The export to the leader", checkInterval, backoff, "server", area.Server, "namespace", area.Namespace)
	for {
		var again time.Duration
		set, err := c.view.clusterSet()
		if err == nil && set != nil && membershipOf(set) == area.Membership {
			again, err = writer.Write(ctx, c.snapshot(set).exportChanges())
			if now := writer.Refused(resourceExports); !maps.Equal(now, *l.refused.Load()) {
				l.refused.Store(&now)
				c.local.Wake()
			}
			err = errors.Join(err, teller.tell(ctx, area, *l.failures.Load()))
		}
		if ctx.Err() != nil {
			return
		}
		delay := task.Done(err)
		if again > 0 {
			delay = min(delay, again)
		}
		if c.remote.Wait(ctx, delay, settle) != nil {
			return
		}
	}
}

// credentials reads the Secret of a ClusterSet.
func (c *Controller) credentials(ctx context.Context, set *v1alpha2.ClusterSet) (commonarea.Credentials, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	name := set.Spec.Leaders[0].Secret
	secret, err := c.Kube.CoreV1().Secrets(c.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return commonarea.Credentials{}, fmt.Errorf("reading the Secret %s/%s, which ClusterSet %s names: %w", c.Namespace, name, set.Name, err)
	}
	return commonarea.Credentials{Token: string(secret.Data["token"]), CA: string(secret.Data["ca.crt"])}, nil
}
