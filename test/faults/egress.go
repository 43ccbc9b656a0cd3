// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// egressName is the name of the Egress of the unrelated Pods, and of its pool.
const egressName = "outward"

// egressAddress is the only address of the pool.
var egressAddress = netip.MustParseAddr("192.168.77.210")

// makeEgress makes the Egress of the unrelated Pods, and waits until both Nodes know which of their packets it concerns: the source is there before.
func (w *world) makeEgress(ctx context.Context) (err error) {
	if w.objects, err = dynamic.NewForConfig(w.Config); err != nil {
		return err
	}
	pool := crd.New(v1beta1.ExternalIPPoolKind, egressName)
	egress := crd.New(v1beta1.EgressKind, egressName)
	if err := errors.Join(
		crd.Fill(pool, &v1beta1.ExternalIPPool{Spec: v1beta1.ExternalIPPoolSpec{
			IPRanges: []v1beta1.IPRange{{Start: egressAddress.String(), End: egressAddress.String()}},
		}}),
		crd.Fill(egress, &v1beta1.Egress{Spec: v1beta1.EgressSpec{
			ExternalIPPool: egressName, AppliedTo: v1beta1.AppliedTo{PodSelector: selector("stranger")},
		}})); err != nil {
		return err
	}
	pool.Object["status"], egress.Object["status"] = nil, nil
	if _, err := w.objects.Resource(crd.ExternalIPPools).Create(ctx, pool, metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := w.objects.Resource(crd.Egresses).Create(ctx, egress, metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := w.egressOwner(ctx); err != nil {
		return err
	}
	for _, n := range w.Nodes {
		if err := eventually(ctx, n.Name+" to know the Pods of Egress "+egressName, func() error {
			flows, err := n.Exec(ctx, "ovs-ofctl", "-O", "OpenFlow15", "--names", "--no-stats", "dump-flows", "br-int", "table=EgressMark")
			if err == nil && !strings.Contains(flows, "in_port=") {
				err = fmt.Errorf("no flow of a Pod:\n%s", flows)
			}
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// selectEgressNode lets only one Node have the address, or all of them if it is nil.
func (w *world) selectEgressNode(ctx context.Context, only *cluster.Node) error {
	labels := map[string]any{corev1.LabelHostname: nil}
	if only != nil {
		labels[corev1.LabelHostname] = only.Name
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"nodeSelector": map[string]any{"matchLabels": labels}}})
	if err != nil {
		return err
	}
	_, err = w.objects.Resource(crd.ExternalIPPools).Patch(ctx, egressName, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// egressOwner waits until one Node has the address, and returns it.
func (w *world) egressOwner(ctx context.Context) (owner *cluster.Node, err error) {
	err = eventually(ctx, fmt.Sprintf("one Node to have the Egress address %s", egressAddress), func() error {
		owners, err := w.egressOwners(ctx)
		switch {
		case err != nil:
			return err
		case len(owners) != 1:
			return fmt.Errorf("%d Nodes have it", len(owners))
		}
		owner = owners[0]
		return nil
	})
	return owner, err
}

// egressOwners returns the Nodes that have the address.
func (w *world) egressOwners(ctx context.Context) (owners []*cluster.Node, err error) {
	for _, n := range w.Nodes {
		addresses, err := n.Exec(ctx, "ip", "-o", "address", "show", "to", egressAddress.String())
		if err != nil {
			return nil, err
		}
		if strings.Contains(addresses, config.EgressDevice) {
			owners = append(owners, n)
		}
	}
	return owners, nil
}
