// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/bench/workload"
)

// agentsRun is the condition of host to host on Nodes with agents.
const agentsRun = "agents run"

// results converts the table to the benchmark's terms: the workloads in one network for each kind of device, and for each of the other
// ways and modes. Host to host and the overlay without the cache are the same in both networks; other ways have no host to host. Host to
// host on Nodes with agents has nothing else.
func (t *table) results() []result.Result {
	all := t.resultsOf("veth", "", map[result.State]row{result.Bare: bare, result.Off: overlay, result.On: oncache, result.Rewrite: rewrite})
	all = append(all, t.resultsOf("netkit", "", map[result.State]row{result.Bare: bare, result.Off: overlay, result.On: oncacheNetkit, result.Rewrite: rewriteNetkit})...)
	all = append(all, t.resultsOf("veth", agentsRun, map[result.State]row{result.Bare: hosted})...)
	for _, w := range ways {
		all = append(all, t.resultsOf("veth", w.condition, map[result.State]row{result.Off: w.off, result.On: w.on})...)
	}
	for _, m := range modes {
		all = append(all, t.resultsOf("veth", m.condition, map[result.State]row{result.Bare: m.bare, result.Off: m.off, result.On: m.on})...)
	}
	return all
}

// resultsOf makes the results of one network and condition, of the protocols that were measured there: with the gate on if there is a row
// for that. Rewriting may not have been measured.
func (t *table) resultsOf(network, condition string, rows map[result.State]row) (all []result.Result) {
	needed, cached := rows[result.On]
	if !cached {
		needed = rows[result.Bare]
	}
	for _, p := range withConnections {
		if t[needed][p] == 0 {
			continue
		}
		w := p.workload()
		r := result.Result{Workload: w.Name, Network: network, Tool: w.Tool, Flows: w.Flows, Bytes: w.Bytes, Condition: condition}
		m := result.Metric{Name: "instructions", Unit: "instructions/transaction", Less: true}
		for state, row := range rows {
			if n := t[row][p]; n != 0 {
				r.Add(m, state, 0, float64(n))
			}
		}
		all = append(all, r)
	}
	return all
}

// run makes the content of the result file.
func (t *table) run(started time.Time, source string) (*result.Run, error) {
	machine, err := result.ThisMachine()
	if err != nil {
		return nil, err
	}
	machine.Hypervisor = "emulated"
	run := &result.Run{
		Schema: result.Schema, Bed: bedName, Started: started.UTC(), Seconds: time.Since(started).Seconds(), Rounds: 1,
		Machine: machine, Results: t.results(), Networks: map[string]result.Network{},
		Limits: []string{"Time in this machine is a count of instructions: how long the run took by the clock is not known."},
	}
	run.Commit, run.Dirty = result.Commit(source)
	run.Tools = workload.Versions(run.Results)
	for _, r := range run.Results {
		run.Networks[r.Network] = workload.ClusterNetwork(r.Network, "one, which all Nodes share")
	}
	return run, nil
}
