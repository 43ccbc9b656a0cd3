// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ovsconfig

import (
	"fmt"
	"reflect"

	"github.com/ovn-kubernetes/libovsdb/client"
	"github.com/ovn-kubernetes/libovsdb/model"
)

// databaseName is the schema that ovs-vswitchd serves (ovs-vswitchd.conf.db(5)).
const databaseName = "Open_vSwitch"

// The models have the columns that are used here. All of them exist in every OVS from 2.13 on: libovsdb refuses to connect
// when the server lacks a column of a model.

type rootRow struct {
	UUID        string            `ovsdb:"_uuid"`
	Bridges     []string          `ovsdb:"bridges"`
	Datapaths   map[string]string `ovsdb:"datapaths"`
	OtherConfig map[string]string `ovsdb:"other_config"`
	OVSVersion  *string           `ovsdb:"ovs_version"`
	NextCfg     int               `ovsdb:"next_cfg"`
	CurCfg      int               `ovsdb:"cur_cfg"`
}

type bridgeRow struct {
	UUID         string            `ovsdb:"_uuid"`
	Name         string            `ovsdb:"name"`
	Ports        []string          `ovsdb:"ports"`
	Protocols    []string          `ovsdb:"protocols"`
	FailMode     *string           `ovsdb:"fail_mode"`
	DatapathType string            `ovsdb:"datapath_type"`
	DatapathID   *string           `ovsdb:"datapath_id"`
	OtherConfig  map[string]string `ovsdb:"other_config"`
	ExternalIDs  map[string]string `ovsdb:"external_ids"`
	FlowTables   map[int]string    `ovsdb:"flow_tables"`
	Mirrors      []string          `ovsdb:"mirrors"`
}

type mirrorRow struct {
	UUID          string   `ovsdb:"_uuid"`
	SelectAll     bool     `ovsdb:"select_all"`
	SelectSrcPort []string `ovsdb:"select_src_port"`
	SelectDstPort []string `ovsdb:"select_dst_port"`
}

type portRow struct {
	UUID        string            `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	Interfaces  []string          `ovsdb:"interfaces"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

type interfaceRow struct {
	UUID          string            `ovsdb:"_uuid"`
	Name          string            `ovsdb:"name"`
	Type          string            `ovsdb:"type"`
	MAC           *string           `ovsdb:"mac"`
	MTURequest    *int              `ovsdb:"mtu_request"`
	OFPort        *int              `ovsdb:"ofport"`
	OFPortRequest *int              `ovsdb:"ofport_request"`
	Options       map[string]string `ovsdb:"options"`
	Error         *string           `ovsdb:"error"`
}

type flowTableRow struct {
	UUID string  `ovsdb:"_uuid"`
	Name *string `ovsdb:"name"`
}

type datapathRow struct {
	UUID         string            `ovsdb:"_uuid"`
	Capabilities map[string]string `ovsdb:"capabilities"`
	ExternalIDs  map[string]string `ovsdb:"external_ids"`
}

func tables() map[string]model.Model {
	return map[string]model.Model{
		"Open_vSwitch": &rootRow{},
		"Bridge":       &bridgeRow{},
		"Port":         &portRow{},
		"Interface":    &interfaceRow{},
		"Flow_Table":   &flowTableRow{},
		"Datapath":     &datapathRow{},
		"Mirror":       &mirrorRow{},
	}
}

func newDatabaseModel() (model.ClientDBModel, error) {
	m, err := model.NewClientDBModel(databaseName, tables())
	if err != nil {
		return model.ClientDBModel{}, fmt.Errorf("build the OVSDB model: %w", err)
	}
	return m, nil
}

// monitorOptions requests only the columns of the models. Without them libovsdb monitors every column of the table and then
// drops each whole update that has a column which the model lacks (statistics, for example).
func monitorOptions() []client.MonitorOption {
	var opts []client.MonitorOption
	for _, row := range tables() {
		v := reflect.ValueOf(row).Elem()
		var columns []any
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("ovsdb") != "_uuid" {
				columns = append(columns, v.Field(i).Addr().Interface())
			}
		}
		opts = append(opts, client.WithTable(row, columns...))
	}
	return opts
}
