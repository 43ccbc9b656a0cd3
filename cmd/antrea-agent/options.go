// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/spf13/pflag"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	agentconfig "github.com/antrea-oncache/antrea/pkg/config/agent"
	"github.com/antrea-oncache/antrea/pkg/features"
)

// options is what the command line and the configuration file say, checked and complete.
type options struct {
	configFile string
	config     *agentconfig.AgentConfig
	gates      featuregate.FeatureGate
	// tokenFile receives the loopback token of the API server.
	tokenFile string
	// policyDir is where the last known policies are kept.
	policyDir string
	// lockFile is locked by the only agent of the Node.
	lockFile string
}

const (
	// defaultPolicyDir is Antrea's.
	defaultPolicyDir = "/var/run/antrea/networkpolicy"
	// defaultLockFile is in the directory that agents of one Node share, whatever their configuration and their container.
	defaultLockFile = "/var/run/antrea/antrea-agent.lock"
)

func newOptions() *options {
	return &options{tokenFile: apis.LoopbackTokenFile, policyDir: defaultPolicyDir, lockFile: defaultLockFile}
}

// builtGates are the gates that change what this version does.
var builtGates = []featuregate.Feature{features.ONCache}

func (o *options) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.configFile, "config", o.configFile, "The path to the configuration file")
}

// cutsConnections says that policies also end connections that were established before.
func (o *options) cutsConnections() bool {
	return o.config.NetworkPolicy.EstablishedConnections == "cut"
}

// complete reads the configuration file (without one, all defaults apply), and fails when it contains anything that the
// agent cannot do.
func (o *options) complete() error {
	var text []byte
	if o.configFile != "" {
		var err error
		if text, err = os.ReadFile(o.configFile); err != nil {
			return fmt.Errorf("reading the configuration file: %w", err)
		}
	}
	c, err := agentconfig.Parse(text)
	if err != nil {
		return fmt.Errorf("configuration file %s: %w", o.configFile, err)
	}
	gates, err := features.New(c.FeatureGates)
	if err != nil {
		return err
	}
	if err := validate(c, gates); err != nil {
		return fmt.Errorf("configuration file %s: %w", o.configFile, err)
	}
	for _, name := range gatesWithoutEffect(c.FeatureGates) {
		klog.InfoS("Feature gate is on but has no effect in this version", "featureGate", name)
	}
	o.config, o.gates = c, gates
	return nil
}

// gatesWithoutEffect returns the gates that the user switched on by name and that this version does not act on.
func gatesWithoutEffect(set map[string]bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(set)), func(name string) bool {
		return !set[name] || slices.Contains(builtGates, featuregate.Feature(name)) ||
			!slices.Contains(features.AgentGates(), featuregate.Feature(name))
	})
}
