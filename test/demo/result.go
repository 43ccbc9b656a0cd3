// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"time"

	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/bench/workload"
)

// run makes the content of the result file of bed ovs.
func (d *demo) run(started time.Time) (*result.Run, error) {
	machine, err := result.ThisMachine()
	if err != nil {
		return nil, err
	}
	run := &result.Run{
		Schema: result.Schema, Bed: "ovs", Started: started.UTC(), Seconds: time.Since(started).Seconds(), Rounds: d.rounds, Machine: machine,
		Networks: map[string]result.Network{network: workload.ClusterNetwork("veth", "all Nodes share all")},
		Limits: []string{
			"Between what is measured with the gate off and with it on the agents are restarted: a minute lies between the two.",
			"Bare is between Nodes on which the agents run, with their iptables rules: the mean of one measurement next to off and one next to on.",
		},
	}
	if strings.Contains(machine.CPU, "TCG") { // QEMU's emulation
		run.Machine.Hypervisor = "emulated"
		run.Limits = append(run.Limits, "The machine is emulated, some tens of times slower than a real one: ratios say little more than which is faster.")
	}
	run.Commit, run.Dirty = result.Commit(".")
	for _, r := range d.rows {
		run.Results = append(run.Results, r.result)
	}
	run.Tools = workload.Versions(run.Results)
	return run, nil
}
