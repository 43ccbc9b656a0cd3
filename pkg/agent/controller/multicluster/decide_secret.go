// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package multicluster

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/pkg/agent/wireguard"
)

// secret is the part of a decision that is about encryption.
type secret struct {
	// guarded are the addresses of other clusters' gateway Nodes, in the device and outside, in order. No tunnel packet goes there in clear, or comes
	// from there.
	guarded []netip.Addr
	// peers are the clusters that have a key, if this Node is the gateway Node.
	peers []wireguard.ClusterPeer
	// imports are the objects of the clusters, by the clusters' names.
	imports map[string]object
}

// encrypt lets tunnel packets between clusters have addresses of the device that encrypts, as in Antrea: the first address of each cluster's Service network.
// The source of new connections is this cluster's. No way leads to a cluster without a key of its own. imports are the clusters' objects, in the same order,
// the oldest first: of two clusters with one key, the older one has it.
func (d *decision) encrypt(port uint16, own *gateway, imports []*v1alpha1.ClusterInfoImport) {
	d.secret = &secret{imports: map[string]object{}}
	isGateway := d.source.IsValid()
	if isGateway {
		d.source = own.services.Addr()
	}
	owners := map[wgtypes.Key]string{}
	for i := range d.clusters {
		c := &d.clusters[i]
		endpoint := c.Gateway
		c.Gateway = c.Networks[0].Addr()
		d.secret.guarded = append(d.secret.guarded, endpoint, c.Gateway)
		d.secret.imports[c.Name] = object{v1alpha1.ClusterInfoImportKind, imports[i].Name}
		key, err := readKey(imports[i].Spec.WireGuard, owners)
		if err != nil {
			d.close(c.Name, err)
			continue
		}
		owners[key] = c.Name
		if isGateway {
			c.Peer = c.Gateway
			d.secret.peers = append(d.secret.peers, wireguard.ClusterPeer{
				Cluster: c.Name, Key: key, Endpoint: netip.AddrPortFrom(endpoint, port), Address: c.Gateway,
			})
		}
	}
	d.secret.guarded = union(d.secret.guarded, nil)
}

func readKey(info *v1alpha1.WireGuardInfo, owners map[wgtypes.Key]string) (key wgtypes.Key, err error) {
	const field = "spec.wireGuard.publicKey"
	if info == nil || info.PublicKey == "" {
		return key, errors.New(field + " is empty: its gateway Node sets it once its agents have multicluster.trafficEncryptionMode wireGuard")
	}
	if key, err = wireguard.ParseKey(info.PublicKey); err != nil {
		return key, fmt.Errorf("%s is %q, want a key of WireGuard in base64: %w", field, shorten(info.PublicKey), err)
	}
	if owner := owners[key]; owner != "" {
		return key, fmt.Errorf("%s is the key %s of cluster %s, want one of its own", field, key, owner)
	}
	return key, nil
}

// close lets nothing for the cluster leave, because it would not be encrypted.
func (d *decision) close(cluster string, why error) {
	for i := range d.clusters {
		if d.clusters[i].Name == cluster {
			d.clusters[i].Peer = netip.Addr{}
		}
	}
	d.refused[d.secret.imports[cluster]] = fmt.Errorf("packets to it and from it are dropped, because they cannot be encrypted: %w", why)
}
