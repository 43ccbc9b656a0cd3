// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sigs.k8s.io/yaml"
)

const (
	cniSocket   = "/var/run/antrea/cni.sock"
	agentLog    = "antrea/antrea-agent.log" // below /var/log
	agentGrace  = 30 * time.Second
	apiPortName = "apiPort"
)

// agentConfig renders antrea-agent.conf from the cluster's options.
func (n *Node) agentConfig() ([]byte, error) {
	o := n.cluster.o
	conf := map[string]any{"clientConnection": map[string]any{"kubeconfig": agentKubeconfig}}
	gates := map[string]any{}
	for gate, enabled := range o.FeatureGates {
		gates[gate] = enabled
	}
	conf["featureGates"] = gates
	if o.TunnelType != "" {
		conf["tunnelType"] = o.TunnelType
	}
	if o.AgentConfig != nil {
		o.AgentConfig(n.Index, conf)
	}
	return yaml.Marshal(conf)
}

// WriteAgentConfig changes antrea-agent.conf of this Node; the agent reads it at its next start.
func (n *Node) WriteAgentConfig(change func(conf map[string]any)) error {
	conf, err := n.readAgentConfig()
	if err != nil {
		return err
	}
	change(conf)
	data, err := yaml.Marshal(conf)
	if err != nil {
		return err
	}
	return n.WriteFile(agentConfigPath, data)
}

// SetFeatureGates changes feature gates in antrea-agent.conf of this Node and leaves the others alone.
func (n *Node) SetFeatureGates(gates map[string]bool) error {
	return n.WriteAgentConfig(func(conf map[string]any) {
		old, _ := conf["featureGates"].(map[string]any)
		merged := maps.Clone(old)
		if merged == nil {
			merged = map[string]any{}
		}
		for gate, enabled := range gates {
			merged[gate] = enabled
		}
		conf["featureGates"] = merged
	})
}

func (n *Node) readAgentConfig() (map[string]any, error) {
	data, err := n.ReadFile(agentConfigPath)
	if err != nil {
		return nil, err
	}
	conf := map[string]any{}
	if err := yaml.Unmarshal(data, &conf); err != nil {
		return nil, fmt.Errorf("%s of %s: %w", agentConfigPath, n.Name, err)
	}
	return conf, nil
}

// StartAgent starts antrea-agent and does not wait for it. Every start appends to its log, <LogDir>/antrea/antrea-agent.log.
func (n *Node) StartAgent() error {
	if n.agent != nil && running(n.agent) == nil {
		return fmt.Errorf("%s: the agent is already running", n.Name)
	}
	path := n.AgentLog()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	args := append([]string{filepath.Join(n.cluster.o.BinDir, "antrea-agent"), "--config=" + agentConfigPath}, n.cluster.o.AgentArgs...)
	agent, err := n.start(invocation{args: args, log: log, container: agentContainer})
	if err != nil {
		return err
	}
	n.agent = agent
	return nil
}

// AgentLog is the path of the agent's log, in this process's file system.
func (n *Node) AgentLog() string { return filepath.Join(n.LogDir, agentLog) }

// StopAgent ends the agent with SIGTERM. A Node without a running agent is not an error.
func (n *Node) StopAgent() error {
	if n.agent == nil {
		return nil
	}
	return n.agent.Stop(agentGrace)
}

// KillAgent ends the agent with SIGKILL. It is an error if the agent has already exited.
func (n *Node) KillAgent() error {
	if n.agent == nil {
		return fmt.Errorf("%s: no agent was started", n.Name)
	}
	if err := running(n.agent); err != nil {
		return fmt.Errorf("%s: the agent exited before it was killed: %w", n.Name, err)
	}
	n.agent.Kill()
	return nil
}

// PauseAgent stops the agent's process, as an overloaded Node does, until ResumeAgent. It must not be ended in between.
func (n *Node) PauseAgent() error { return n.signalAgent(syscall.SIGSTOP) }

// ResumeAgent lets the agent's process continue.
func (n *Node) ResumeAgent() error { return n.signalAgent(syscall.SIGCONT) }

func (n *Node) signalAgent(signal syscall.Signal) error {
	if n.agent == nil {
		return fmt.Errorf("%s: no agent was started", n.Name)
	}
	if err := running(n.agent); err != nil {
		return fmt.Errorf("%s: %s: the agent has exited: %w", n.Name, signal, err)
	}
	return n.agent.Signal(signal)
}

// WaitAgentReady waits until the agent accepts CNI requests and its /readyz is ok, except for the check "watcher": that one
// needs an antrea-controller. It fails at once when the agent has ended.
func (n *Node) WaitAgentReady(ctx context.Context) error {
	if n.agent == nil {
		return fmt.Errorf("%s: no agent was started", n.Name)
	}
	conf, err := n.readAgentConfig()
	if err != nil {
		return err
	}
	port, ok := conf[apiPortName].(float64) // numbers of a YAML document become JSON numbers
	if !ok {
		port = 10350
	}
	client, end := n.httpClient()
	defer end()
	client.Timeout = 10 * time.Second
	url := fmt.Sprintf("https://127.0.0.1:%d/readyz?exclude=watcher", int(port))
	err = Eventually(ctx, n.Name+": waiting for the agent", func() error {
		if err := running(n.agent); err != nil {
			return err
		}
		if err := n.Do(func() error { return dialUnix(cniSocket) }); err != nil {
			return err
		}
		_, err := get(ctx, client, url, "")
		return err
	})
	if err != nil {
		return fmt.Errorf("%w; the end of %s:\n%s", err, n.AgentLog(), tail(n.AgentLog(), 15))
	}
	return nil
}

// RestartAgent ends the agent with SIGTERM, starts it, and waits until it has replaced all flows of its predecessor. That is ten
// seconds after its start; a measurement before that sees the transition.
func (n *Node) RestartAgent(ctx context.Context) error {
	if err := n.StopAgent(); err != nil {
		return err
	}
	before, err := n.round(ctx)
	if err != nil {
		return err
	}
	if err := n.StartAgent(); err != nil {
		return err
	}
	if err := n.WaitAgentReady(ctx); err != nil {
		return err
	}
	return Eventually(ctx, n.Name+": waiting for the agent's round of flows", func() error {
		now, err := n.round(ctx)
		if err == nil && now == before {
			err = fmt.Errorf("the round is still %s", now)
		}
		return err
	})
}

// round returns the last round of flows that an agent has completed, from Open vSwitch's database.
func (n *Node) round(ctx context.Context) (string, error) {
	return n.Exec(ctx, "ovs-vsctl", "--if-exists", "get", "bridge", "br-int", "external_ids:roundNum")
}

// DialContext makes a TCP connection from this space to an IP address and port; it fits http.Transport.
func (s *Space) DialContext(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = s.Do(func() error {
		conn, err = (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// tail returns the last lines of a file, or the reason why it cannot be read.
func tail(path string, lines int) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
