// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/statefile"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// storedEgress has the part of an Egress that the plan needs, and its Pods on this Node.
type storedEgress struct {
	Name    string
	Created metav1.Time
	IP      string
	Pods    []types.NamespacedName
	// Pool is empty for none. It has Subnet, or Unusable says why its addresses cannot be used.
	Pool     string              `json:",omitempty"`
	Subnet   config.EgressSubnet `json:",omitzero"`
	Unusable string              `json:",omitempty"`
	// Bandwidth is nil for none.
	Bandwidth *v1beta1.Bandwidth `json:",omitempty"`
}

// storedState is the content of the file.
type storedState struct {
	Egresses []storedEgress
	// Except are destinations that flows may leave alone.
	Except []netip.Prefix `json:",omitempty"`
}

// storage keeps what is in force for the next agent, which may start without antrea-controller and without the Kubernetes API.
type storage struct {
	file string
	// except are destinations that Egresses leave alone, also in a former agent's flows while there may be some.
	except []netip.Prefix
	// content is the file's content; nil if that is not known.
	content []byte
}

// load returns the Egresses and the groups that a former agent has stored; nil if there are none that are usable. It sets except.
func (s *storage) load() (egresses map[string]*v1beta1.Egress, groups map[string]sets.Set[types.NamespacedName], subnets map[string]poolSubnet) {
	text, err := os.ReadFile(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	var stored storedState
	if err == nil {
		err = json.Unmarshal(text, &stored)
	}
	if err != nil {
		klog.ErrorS(err, "Until Egresses and their Pods are known, new connections of these Pods have the addresses of their Nodes: what a former agent has stored cannot be read", "file", s.file)
		return nil, nil, nil
	}
	egresses, groups, subnets = map[string]*v1beta1.Egress{}, map[string]sets.Set[types.NamespacedName]{}, map[string]poolSubnet{}
	for _, e := range stored.Egresses {
		object := &v1beta1.Egress{}
		object.Name, object.CreationTimestamp, object.Spec.EgressIP = e.Name, e.Created, e.IP
		object.Spec.Bandwidth, object.Spec.ExternalIPPool = e.Bandwidth, e.Pool
		subnet := poolSubnet{EgressSubnet: e.Subnet}
		if e.Unusable != "" {
			subnet.err = errors.New(e.Unusable)
		}
		subnets[e.Pool] = subnet
		egresses[e.Name], groups[e.Name] = object, sets.New(e.Pods...)
	}
	s.content, s.except = text, stored.Except
	return egresses, groups, subnets
}

// save stores what concerns this Node, if that has changed: Egresses of its Pods, and with its addresses.
func (s *storage) save(w *world) error {
	stored := storedState{Egresses: []storedEgress{}, Except: s.except}
	for _, e := range oldestFirst(w.egresses) {
		pods := w.groups[e.Name].UnsortedList()
		if len(pods) == 0 && !w.local.Has(addrOf(e)) {
			continue
		}
		slices.SortFunc(pods, func(a, b types.NamespacedName) int { return bytes.Compare([]byte(a.String()), []byte(b.String())) })
		entry := storedEgress{Name: e.Name, Created: e.CreationTimestamp, IP: e.Spec.EgressIP, Pods: pods, Bandwidth: e.Spec.Bandwidth, Pool: e.Spec.ExternalIPPool}
		if subnet, err := w.subnetOf(entry.Pool); err != nil {
			entry.Unusable = err.Error()
		} else {
			entry.Subnet = subnet
		}
		stored.Egresses = append(stored.Egresses, entry)
	}
	text, err := json.Marshal(stored)
	if err == nil && bytes.Equal(text, s.content) {
		return nil
	}
	if err == nil {
		err = statefile.Replace(s.file, text)
	}
	if err != nil {
		s.content = nil
		return fmt.Errorf("store the Pods of Egresses for the next agent: %w", err)
	}
	s.content = text
	return nil
}
