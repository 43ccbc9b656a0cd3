// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ovsconfig

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ovn-kubernetes/libovsdb/model"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/antrea-oncache/antrea/pkg/macaddr"
)

// DefaultDatapathType is the kernel datapath.
const DefaultDatapathType = "system"

// failModeSecure keeps vswitchd from installing a NORMAL flow of its own before the agent's flows are there.
const failModeSecure = "secure"

// bridgeProtocols are the versions that the agent (OpenFlow 1.3) and people with ovs-ofctl (default 1.0) use; 1.5 is for
// tools that expect Antrea's bridge.
var bridgeProtocols = []string{"OpenFlow10", "OpenFlow13", "OpenFlow15"}

type bridgeClient struct {
	conn         *Connection
	name         string
	datapathType string
	// timeout is operationTimeout; tests shorten it.
	timeout time.Duration
	foreign foreignPorts

	// mu guards noted, the external_ids of the bridge as this client has last read or set them. If another program deletes the bridge, they
	// return with it: the next agent needs them.
	mu    sync.Mutex
	noted map[string]string
}

// Option modifies the client that NewBridgeClient returns.
type Option func(*bridgeClient)

// WithDatapathType makes Create use another datapath than DefaultDatapathType; "netdev" is the userspace one.
func WithDatapathType(datapathType string) Option {
	return func(b *bridgeClient) { b.datapathType = datapathType }
}

// NewBridgeClient returns the client of one bridge. It does not create the bridge. Close closes conn.
func NewBridgeClient(conn *Connection, bridgeName string, opts ...Option) BridgeClient {
	b := &bridgeClient{conn: conn, name: bridgeName, datapathType: DefaultDatapathType, timeout: operationTimeout}
	for _, opt := range opts {
		opt(b)
	}
	return b
}

func (b *bridgeClient) Close() { b.conn.Close() }

func (b *bridgeClient) Create(ctx context.Context) error {
	want := 0
	err := b.wait(ctx, fmt.Sprintf("create bridge %q", b.name), func(s *session) (bool, error) {
		var err error
		want, err = b.writeBridge(s)
		return true, err
	})
	if err != nil {
		return err
	}
	// vswitchd copies next_cfg to cur_cfg when it has applied it. The datapath id alone proves nothing, because it stays in the
	// database after a vswitchd has died.
	operation := fmt.Sprintf("wait for ovs-vswitchd to configure bridge %q with datapath type %q", b.name, b.datapathType)
	return b.wait(ctx, operation, func(s *session) (bool, error) {
		root, err := s.root()
		if err != nil {
			return false, err
		}
		br, err := s.mustBridge(b.name)
		if err != nil {
			return false, err
		}
		return root.CurCfg >= want && br.DatapathID != nil, nil
	})
}

// writeBridge makes or corrects the bridge's row and returns the configuration number that vswitchd must reach.
func (b *bridgeClient) writeBridge(s *session) (int, error) {
	root, err := s.root()
	if err != nil {
		return 0, err
	}
	br, found, err := s.bridge(b.name)
	if err != nil {
		return 0, err
	}
	var ops []ovsdb.Operation
	if found {
		ops, err = b.correctBridge(s, br)
	} else {
		ops, err = b.insertBridge(s, root)
	}
	if err != nil {
		return 0, err
	}
	datapath, err := b.insertDatapath(s, root)
	if err != nil {
		return 0, err
	}
	ops = append(ops, datapath...)
	bump, err := s.Where(root).Mutate(root, model.Mutation{Field: &root.NextCfg, Mutator: ovsdb.MutateOperationAdd, Value: 1})
	if err != nil {
		return 0, err
	}
	results, err := s.transact(append(ops, bump...)...)
	if err != nil {
		if violation := (*ovsdb.ConstraintViolation)(nil); !found && errors.As(err, &violation) {
			// An earlier attempt has created it, but its answer came too late. The row will arrive in the copy.
			err = fmt.Errorf("%w: %w", errIncomplete, err)
		}
		return 0, err
	}
	if found && results[0].Count == 0 {
		return 0, fmt.Errorf("%w: bridge %q was removed before its row was written", errIncomplete, b.name)
	}
	if root, err = s.root(); err != nil {
		return 0, err
	}
	return root.NextCfg, nil
}

func (b *bridgeClient) insertBridge(s *session, root *rootRow) ([]ovsdb.Operation, error) {
	failMode := failModeSecure
	// Without its own MAC address the bridge uses the lowest one of its ports, and its datapath id changes with the ports.
	ops, err := s.Create(&bridgeRow{
		UUID: "newbridge", Name: b.name, DatapathType: b.datapathType, Protocols: bridgeProtocols,
		FailMode: &failMode, OtherConfig: map[string]string{"hwaddr": macaddr.Random().String()}, ExternalIDs: b.notes(),
	})
	if err != nil {
		return nil, err
	}
	link, err := s.Where(root).Mutate(root,
		model.Mutation{Field: &root.Bridges, Mutator: ovsdb.MutateOperationInsert, Value: []string{"newbridge"}})
	return append(ops, link...), err
}

func (b *bridgeClient) correctBridge(s *session, br *bridgeRow) ([]ovsdb.Operation, error) {
	failMode := failModeSecure
	br.DatapathType, br.Protocols, br.FailMode = b.datapathType, bridgeProtocols, &failMode
	ops, err := s.Where(br).Update(br, &br.DatapathType, &br.Protocols, &br.FailMode)
	if err != nil || br.OtherConfig["hwaddr"] != "" {
		return ops, err
	}
	more, err := setKeys(s, br, &br.OtherConfig, map[string]string{"hwaddr": macaddr.Random().String()})
	return append(ops, more...), err
}

func (b *bridgeClient) Delete() error {
	return b.do(fmt.Sprintf("delete bridge %q", b.name), func(s *session) error {
		root, err := s.root()
		if err != nil {
			return err
		}
		br, found, err := s.bridge(b.name)
		if err != nil || !found {
			return err
		}
		// The rows of the bridge and its ports are deleted when nothing refers to them.
		ops, err := s.Where(root).Mutate(root,
			model.Mutation{Field: &root.Bridges, Mutator: ovsdb.MutateOperationDelete, Value: []string{br.UUID}})
		if err != nil {
			return err
		}
		return b.note(s, ops, func() { b.noted = nil })
	})
}

func (b *bridgeClient) GetExternalIDs() (map[string]string, error) {
	var ids map[string]string
	err := b.do(fmt.Sprintf("read external_ids of bridge %q", b.name), func(s *session) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		br, err := s.mustBridge(b.name)
		if err == nil {
			ids, b.noted = maps.Clone(br.ExternalIDs), maps.Clone(br.ExternalIDs)
		}
		return err
	})
	return ids, err
}

func (b *bridgeClient) SetExternalID(key, value string) error {
	return b.do(fmt.Sprintf("set external_ids:%s=%s on bridge %q", key, value, b.name), func(s *session) error {
		br, err := s.mustBridge(b.name)
		if err != nil {
			return err
		}
		ops, err := setKeys(s, br, &br.ExternalIDs, map[string]string{key: value})
		if err != nil {
			return err
		}
		return b.note(s, ops, func() {
			if b.noted == nil {
				b.noted = map[string]string{}
			}
			b.noted[key] = value
		})
	})
}

func (b *bridgeClient) DeleteExternalID(key string) error {
	return b.do(fmt.Sprintf("delete external_ids:%s of bridge %q", key, b.name), func(s *session) error {
		br, err := s.mustBridge(b.name)
		if err != nil {
			return err
		}
		ops, err := s.Where(br).Mutate(br,
			model.Mutation{Field: &br.ExternalIDs, Mutator: ovsdb.MutateOperationDelete, Value: []string{key}})
		if err != nil {
			return err
		}
		return b.note(s, ops, func() { delete(b.noted, key) })
	})
}

// note executes a transaction, and notes its effect if it succeeds.
func (b *bridgeClient) note(s *session, ops []ovsdb.Operation, effect func()) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := s.transact(ops...)
	if err == nil {
		effect()
	}
	return err
}

func (b *bridgeClient) notes() map[string]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.noted)
}

func (b *bridgeClient) TableNames() (map[uint8]string, error) {
	names := map[uint8]string{}
	err := b.do(fmt.Sprintf("read the names of the flow tables of bridge %q", b.name), func(s *session) error {
		clear(names)
		br, err := s.mustBridge(b.name)
		if err != nil {
			return err
		}
		for id, uuid := range br.FlowTables {
			row := &flowTableRow{UUID: uuid}
			found, err := s.get(row)
			if err != nil {
				return err
			}
			if found && row.Name != nil {
				names[uint8(id)] = *row.Name
			}
		}
		return nil
	})
	return names, err
}

// SetTableNames leaves the database unchanged when it already has these names.
func (b *bridgeClient) SetTableNames(names map[uint8]string) error {
	return b.do(fmt.Sprintf("name the %d flow tables of bridge %q", len(names), b.name), func(s *session) error {
		br, err := s.mustBridge(b.name)
		if err != nil {
			return err
		}
		same, err := s.hasTableNames(br, names)
		if err != nil || same {
			return err
		}
		var ops []ovsdb.Operation
		br.FlowTables = make(map[int]string, len(names))
		for _, id := range slices.Sorted(maps.Keys(names)) {
			name, ref := names[id], fmt.Sprintf("table%d", id)
			op, err := s.Create(&flowTableRow{UUID: ref, Name: &name})
			if err != nil {
				return err
			}
			ops = append(ops, op...)
			br.FlowTables[int(id)] = ref
		}
		link, err := s.Where(br).Update(br, &br.FlowTables)
		if err != nil {
			return err
		}
		_, err = s.transact(append(ops, link...)...)
		return err
	})
}

func (s *session) hasTableNames(br *bridgeRow, names map[uint8]string) (bool, error) {
	if len(br.FlowTables) != len(names) {
		return false, nil
	}
	for id, name := range names {
		row := &flowTableRow{UUID: br.FlowTables[int(id)]}
		if row.UUID == "" {
			return false, nil
		}
		if found, err := s.get(row); err != nil || !found || row.Name == nil || *row.Name != name {
			return false, err
		}
	}
	return true, nil
}
