// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ovsconfig

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ovn-kubernetes/libovsdb/model"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

func (b *bridgeClient) GetOVSOtherConfig() (map[string]string, error) {
	var config map[string]string
	err := b.do("read Open_vSwitch other_config", func(s *session) error {
		root, err := s.root()
		if err == nil {
			config = maps.Clone(root.OtherConfig)
		}
		return err
	})
	return config, err
}

func (b *bridgeClient) SetOVSOtherConfig(kv map[string]string) error {
	return b.do(fmt.Sprintf("set Open_vSwitch other_config %v", kv), func(s *session) error {
		root, err := s.root()
		if err != nil || len(kv) == 0 {
			return err
		}
		ops, err := setKeys(s, root, &root.OtherConfig, kv)
		if err != nil {
			return err
		}
		_, err = s.transact(ops...)
		return err
	})
}

func (b *bridgeClient) DeleteOVSOtherConfig(keys ...string) error {
	return b.do("delete Open_vSwitch other_config keys "+strings.Join(keys, ", "), func(s *session) error {
		root, err := s.root()
		if err != nil || len(keys) == 0 {
			return err
		}
		ops, err := s.Where(root).Mutate(root,
			model.Mutation{Field: &root.OtherConfig, Mutator: ovsdb.MutateOperationDelete, Value: keys})
		if err != nil {
			return err
		}
		_, err = s.transact(ops...)
		return err
	})
}

// Version fails when the program that started OVS did not write its version (ovs-ctl does).
func (b *bridgeClient) Version() (string, error) {
	var version string
	err := b.do("read the OVS version", func(s *session) error {
		root, err := s.root()
		if err != nil {
			return err
		}
		if root.OVSVersion == nil {
			return errors.New("column ovs_version of table Open_vSwitch is empty; start_ovs or ovs-ctl sets it")
		}
		version = *root.OVSVersion
		return nil
	})
	return version, err
}

// insertDatapath returns the operations that make the datapath's row, unless it exists: vswitchd reports capabilities only
// for datapaths that are in the database.
func (b *bridgeClient) insertDatapath(s *session, root *rootRow) ([]ovsdb.Operation, error) {
	if _, ok := root.Datapaths[b.datapathType]; ok {
		return nil, nil
	}
	// libovsdb's encoding loses a row without any column ("omitempty"), hence the external_ids.
	ops, err := s.Create(&datapathRow{UUID: "newdatapath", ExternalIDs: map[string]string{"created-by": "antrea-agent"}})
	if err != nil {
		return nil, err
	}
	link, err := s.Where(root).Mutate(root, model.Mutation{
		Field: &root.Datapaths, Mutator: ovsdb.MutateOperationInsert, Value: map[string]string{b.datapathType: "newdatapath"},
	})
	return append(ops, link...), err
}

// Capabilities waits until vswitchd has reported them.
func (b *bridgeClient) Capabilities() (map[string]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), b.timeout)
	defer cancel()
	var capabilities map[string]string
	operation := fmt.Sprintf("read the capabilities of datapath %q", b.datapathType)
	err := b.wait(ctx, operation, func(s *session) (bool, error) {
		root, err := s.root()
		if err != nil {
			return false, err
		}
		uuid, ok := root.Datapaths[b.datapathType]
		if !ok {
			return false, fmt.Errorf("table Datapath has no such row, only %v; creating the bridge makes it",
				slices.Sorted(maps.Keys(root.Datapaths)))
		}
		row := &datapathRow{UUID: uuid}
		if err := s.follow(row, "datapath "+uuid); err != nil {
			return false, err
		}
		capabilities = maps.Clone(row.Capabilities)
		return len(capabilities) > 0, nil
	})
	return capabilities, err
}
