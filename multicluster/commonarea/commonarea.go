// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package commonarea is a member's connection to the Common Area: a Namespace of the leader's Kubernetes API. It announces the member there
// (announce.go), unless another cluster has its ID (namesake.go), and watches what concerns it. A leader that does not answer is asked for ever.
package commonarea

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/source"
)

const (
	// heartbeatInterval is the time between two announces, Timeout the age of the last accepted one at which the connection counts as down. The
	// leader uses the same times.
	heartbeatInterval = 10 * time.Second
	Timeout           = 30 * time.Second
	requestTimeout    = 10 * time.Second
	clientQPS         = 100
	clientBurst       = 200
)

// Membership says which member of which set this cluster is. The leader knows a member by it.
type Membership struct {
	ClusterSetID, ClusterID, LeaderClusterID string
	// Server is the URL of the leader's API, Namespace the Common Area.
	Server, Namespace string
}

// Credentials are the content of the Secret of a ClusterSet.
type Credentials struct {
	Token, CA string
}

// Area is the connection. Imports and Exports have nothing before the leader has accepted the first announce.
type Area struct {
	Membership
	Imports *source.Source[v1alpha1.ResourceImport]
	// Exports are the member's own.
	Exports *source.Source[v1alpha1.ResourceExport]
	// Client is for the leader's API.
	Client dynamic.Interface

	// clusterUID tells this cluster from others with its ID; empty if it is not known.
	clusterUID string
	// namesake belongs to the goroutine that announces.
	namesake namesake
	changed  func()
	mu       sync.Mutex
	state    state
}

// state is the result of the last announces.
type state struct {
	// accepted is the time of the last announce that the leader has accepted.
	accepted time.Time
	// failure is why it has not accepted the last one, empty if it has.
	failure string
}

// New returns a connection that does nothing before Run. clusterUID is the UID of the Namespace kube-system. It calls changed when State, Imports or Exports change.
func New(m Membership, credentials Credentials, clusterUID string, changed func()) (*Area, error) {
	server, err := url.Parse(m.Server)
	if err != nil || server.Scheme != "https" || server.Host == "" {
		return nil, fmt.Errorf("spec.leaders[0].server is %.200q, want a URL such as https://192.0.2.1:6443", m.Server)
	}
	if credentials.Token == "" || credentials.CA == "" {
		return nil, fmt.Errorf("the Secret of the ClusterSet must have the keys token and ca.crt")
	}
	client, err := dynamic.NewForConfig(&rest.Config{
		Host: m.Server, BearerToken: credentials.Token, TLSClientConfig: rest.TLSClientConfig{CAData: []byte(credentials.CA)},
		QPS: clientQPS, Burst: clientBurst, UserAgent: "antrea-mc-controller",
	})
	if err != nil {
		return nil, fmt.Errorf("connecting to the leader %s: %w", m.Server, err)
	}
	return NewFor(m, client, clusterUID, changed)
}

// NewFor returns a connection with a client of the leader's API.
func NewFor(m Membership, client dynamic.Interface, clusterUID string, changed func()) (*Area, error) {
	a := &Area{Membership: m, Client: client, clusterUID: clusterUID, changed: changed}
	var err error
	if a.Imports, err = source.New[v1alpha1.ResourceImport](client, v1alpha1.ResourceImports, source.Selection{Namespace: m.Namespace}, changed); err != nil {
		return nil, err
	}
	own := source.Selection{Namespace: m.Namespace, Labels: metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.SourceClusterIDLabel: m.ClusterID}})}
	a.Exports, err = source.New[v1alpha1.ResourceExport](client, v1alpha1.ResourceExports, own, changed)
	return a, err
}

// State reports whether the connection is up, and why not.
func (a *Area) State() (up bool, failure string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.state.accepted.IsZero() && time.Since(a.state.accepted) < Timeout, a.state.failure
}

// Synced returns an error while the leader has not shown everything.
func (a *Area) Synced() error {
	if err := a.Imports.Synced(); err != nil {
		return err
	}
	return a.Exports.Synced()
}

// Run announces the member and watches until ctx ends.
func (a *Area) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	accepted := make(chan struct{})
	running.Go(func() { a.announceForever(ctx, accepted) })
	select {
	case <-ctx.Done():
	case <-accepted:
		running.Go(func() { source.RunAll(ctx, a.Imports, a.Exports) })
		// The watches call changed for objects only.
		running.Go(func() { a.tellWhenSynced(ctx) })
	}
}

// tellWhenSynced calls changed when everything is read, also if that is nothing.
func (a *Area) tellWhenSynced(ctx context.Context) {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for a.Synced() != nil {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
	a.changed()
}
