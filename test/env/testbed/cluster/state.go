// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"fmt"
	"os"
)

// State is the information that another process on the same machine needs to enter a running cluster.
type State struct {
	Nodes []NodeState `json:"nodes"`
}

// NodeState describes a Node.
type NodeState struct {
	Name string `json:"name"`
	IP   string `json:"ip"`
	// Enter is the beginning of a command line; the program and arguments appended to it run on the Node, in this environment
	// ("KEY=value").
	Enter []string `json:"enter"`
	Env   []string `json:"env"`
}

// State describes the cluster.
func (c *Cluster) State() State {
	var state State
	for _, n := range c.Nodes {
		ns := fmt.Sprintf("/proc/%d/task/%d/ns/", os.Getpid(), n.thread.ID())
		state.Nodes = append(state.Nodes, NodeState{
			Name: n.Name, IP: n.IPs[0].String(), Env: n.env,
			Enter: []string{"nsenter", "--net=" + ns + "net", "--uts=" + ns + "uts", "--mount=" + ns + "mnt", "--"},
		})
	}
	return state
}

// Write writes the state to a file.
func (s State) Write(path string) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	tmp := path + ".new"
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// ReadState reads what Write has written.
func ReadState(path string) (State, error) {
	var s State
	data, err := os.ReadFile(path)
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(data, &s)
}
