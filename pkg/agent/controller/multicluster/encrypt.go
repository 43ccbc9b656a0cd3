// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package multicluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/pkg/agent/upkeep"
	"github.com/antrea-oncache/antrea/pkg/agent/wireguard"
)

const (
	// publishTimeout bounds the time in which the public key is written.
	publishTimeout = 5 * time.Second
	// lookInterval is the time between two looks at the device without an event.
	lookInterval = 10 * time.Second
)

// Device is the part of wireguard.ClusterDevice that the controller needs.
type Device interface {
	Set(address netip.Addr, peers []wireguard.ClusterPeer) (own wgtypes.Key, failed map[string]error, err error)
	Remove() error
}

// Upkeep looks at the device soon after others may have changed it.
func (c *Controller) Upkeep() upkeep.Part {
	return upkeep.Part{Name: "WireGuard between clusters", Every: lookInterval, Events: upkeep.Links | upkeep.Addresses | upkeep.Routes, Repair: func(context.Context) error {
		c.poke()
		return nil
	}}
}

// seal prepares the encryption of what the decision lets cross, and closes the clusters for which that fails. Then the decision may be brought into
// force.
func (c *Controller) seal(d *decision) error {
	c.key = ""
	if d.secret == nil {
		return nil
	}
	c.guarded = union(c.guarded, d.secret.guarded)
	if err := c.Host.GuardClusters(c.guarded); err != nil {
		for cluster := range d.secret.imports {
			d.close(cluster, err)
		}
		d.accuse(err)
		return err
	}
	if !d.source.IsValid() {
		return nil
	}
	own, failed, err := c.Device.Set(d.source, d.secret.peers)
	if err != nil {
		d.accuse(err)
	}
	errs := []error{err}
	for cluster, why := range failed {
		d.close(cluster, why)
		errs = append(errs, fmt.Errorf("cluster %s: %w", cluster, why))
	}
	if own != (wgtypes.Key{}) {
		c.key = own.String()
	}
	return first(errs)
}

// accuse makes a problem of the Gateway, if it is of this Node: the fault concerns all clusters, also clusters that are not known yet.
func (d *decision) accuse(why error) {
	if d.source.IsValid() {
		d.refused[object{v1alpha1.GatewayKind, d.gateway}] = fmt.Errorf("packets between clusters are not all encrypted, and others are dropped: %w", why)
	}
}

// release removes what only former decisions needed for encryption.
func (c *Controller) release(d *decision) error {
	if d.secret == nil {
		return nil
	}
	err := c.Host.GuardClusters(d.secret.guarded)
	if err == nil {
		c.guarded = d.secret.guarded
	}
	if !d.source.IsValid() {
		err = errors.Join(err, c.Device.Remove())
	}
	return err
}

// publish writes the public key into the Gateway of this Node, from which other clusters learn it. Without encryption it removes a former agent's. While there
// is no device, the former key stays.
func (c *Controller) publish(ctx context.Context, d *decision) error {
	if !d.source.IsValid() || d.published == c.key || d.secret != nil && c.key == "" {
		return nil
	}
	info := &v1alpha1.WireGuardInfo{PublicKey: c.key}
	if c.key == "" {
		info = nil
	}
	patch, err := json.Marshal(map[string]any{"wireGuard": info})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	if _, err := c.Objects.Resource(v1alpha1.Gateways).Namespace(c.Namespace).Patch(ctx, d.gateway, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("write the public key into Gateway %s: %w", d.gateway, err)
	}
	klog.InfoS("The Gateway has this public key for packets from other clusters", "gateway", d.gateway, "key", c.key)
	return nil
}
