// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsconfig"
)

var (
	_ PodPorts   = ovsconfig.BridgeClient(nil)
	_ PodFlows   = openflow.Client(nil)
	_ Interfaces = interfacestore.InterfaceStore(nil)
)

// fakePorts is a bridge in memory whose operations can fail.
type fakePorts struct {
	*ovsconfig.Fake
	mu       sync.Mutex
	failures map[string]error
	// before is called with the operation and the port before each change.
	before func(operation, name string)
}

func (f *fakePorts) fail(operation string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failures[operation] = err
}

func (f *fakePorts) failure(operation, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.before != nil {
		f.before(operation, name)
	}
	return f.failures[operation]
}

func (f *fakePorts) CreatePort(name string, externalIDs map[string]string) (string, error) {
	err := f.failure("CreatePort", name)
	uuid, createErr := f.Fake.CreatePort(name, externalIDs)
	if err != nil {
		return "", err // as when the answer to a committed transaction is lost
	}
	return uuid, createErr
}

func (f *fakePorts) DeletePort(name string) error {
	if err := f.failure("DeletePort", name); err != nil {
		return err
	}
	return f.Fake.DeletePort(name)
}

func (f *fakePorts) RequestOFPort(name string, ofPort uint32) error {
	if err := f.failure("RequestOFPort", name); err != nil {
		return err
	}
	return f.Fake.RequestOFPort(name, ofPort)
}

func (f *fakePorts) GetOFPort(ctx context.Context, name string) (uint32, error) {
	if err := f.failure("GetOFPort", name); err != nil {
		return 0, err
	}
	return f.Fake.GetOFPort(ctx, name)
}

func (f *fakePorts) GetPort(name string) (*ovsconfig.Port, bool, error) {
	if err := f.failure("GetPort", name); err != nil {
		return nil, false, err
	}
	return f.Fake.GetPort(name)
}

type podFlow struct {
	IPs    []netip.Addr
	MAC    string
	OFPort uint32
	// Closed is set when the flows drop.
	Closed bool
}

// fakeFlows is the OpenFlow pipeline in memory.
type fakeFlows struct {
	mu           sync.Mutex
	flows        map[string]podFlow
	installErr   error
	closeErr     error
	uninstallErr error
	before       func(operation, name string)
}

func (f *fakeFlows) InstallPodFlows(_ context.Context, name string, ips []netip.Addr, mac net.HardwareAddr, ofPort uint32) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.before != nil {
		f.before("InstallPodFlows", name)
	}
	// As when the answer to a bundle is lost: the flows exist in spite of the error.
	f.flows[name] = podFlow{IPs: slices.Clone(ips), MAC: mac.String(), OFPort: ofPort}
	return f.installErr
}

func (f *fakeFlows) ClosePodFlows(_ context.Context, name string, ips []netip.Addr, mac net.HardwareAddr, ofPort uint32) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closeErr != nil {
		return f.closeErr
	}
	f.flows[name] = podFlow{IPs: slices.Clone(ips), MAC: mac.String(), OFPort: ofPort, Closed: true}
	return nil
}

func (f *fakeFlows) UninstallPodFlows(_ context.Context, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.before != nil {
		f.before("UninstallPodFlows", name)
	}
	if f.uninstallErr != nil {
		return fmt.Errorf("flows of %s: %w", name, f.uninstallErr)
	}
	delete(f.flows, name)
	return nil
}

func (f *fakeFlows) set(change func(*fakeFlows)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *fakeFlows) all() map[string]podFlow {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.flows)
}
