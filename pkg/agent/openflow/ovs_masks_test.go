// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
)

var megaflowLine = regexp.MustCompile(`(?m)^Megaflow: (.*)$`)

// masksOf returns the mask of each pass through the tables: the fields that the kernel's flow compares, each with its mask. Values are left out: in
// the state of connection tracking, signs.
func masksOf(w oftest.Walk) (masks []string) {
	for _, line := range megaflowLine.FindAllStringSubmatch(w.Text, -1) {
		var fields []string
		for field := range strings.SplitSeq(line[1], ",") {
			name, value, _ := strings.Cut(field, "=")
			_, mask, _ := strings.Cut(value, "/")
			if name == "ct_state" {
				mask = regexp.MustCompile(`[+-]`).ReplaceAllString(value, " ")
			}
			fields = append(fields, name+"/"+mask)
		}
		slices.Sort(fields)
		masks = append(masks, strings.Join(fields, ","))
	}
	return masks
}

// TestConnectionsNeedFewMasks: the kernel finds the first packet of a connection between Nodes by the same masks as all others. Each further mask costs
// every packet that comes to Open vSwitch.
func TestConnectionsNeedFewMasks(t *testing.T) {
	for name, features := range map[string]openflow.Features{"gate off": oftest.DefaultFeatures, "gate on": oftest.ONCacheFeatures, "openings": openingsFeatures} {
		t.Run(name, func(t *testing.T) {
			b := oftest.NewBridge(t, features)
			b.InstallAll()
			if features.Openings {
				require.NoError(t, b.C.InstallMarkFlows([]coherency.Mark{{InterfaceName: "pod-a", OFPort: oftest.PodAPort, Epoch: 7, Openings: true}}))
			}
			for name, test := range map[string]struct{ packet, mark string }{
				"out": {oftest.PodAToRemote, ",ct_mark=3"},
				"in":  {oftest.RemoteToPodA, ",ct_mark=1"},
			} {
				t.Run(name, func(t *testing.T) {
					opens, established := b.Trace(test.packet, oftest.CTNew), b.Trace(test.packet+test.mark, oftest.CTEstablished)
					require.Len(t, masksOf(established), 2, established.Text)
					require.Equal(t, masksOf(established), masksOf(opens), "%s\n%s", established.Text, opens.Text)
				})
			}
		})
	}
}
