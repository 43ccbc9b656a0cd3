// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	controllerconfig "github.com/antrea-oncache/antrea/pkg/config/controller"
	"github.com/antrea-oncache/antrea/pkg/features"
)

const (
	defaultNamespace = "kube-system"
	defaultConfigMap = "antrea-config"
	// certificateDir has the certificate that a user provides.
	certificateDir = "/var/run/antrea/antrea-controller-tls"
)

// options is what the command line, the environment and the configuration file say, checked and complete.
type options struct {
	configFile string
	config     *controllerconfig.ControllerConfig
	gates      featuregate.FeatureGate
	// namespace is the controller's own, configMap that with the configuration of agents and controller.
	namespace, configMap string
	// tokenFile receives the loopback token of the API server.
	tokenFile      string
	certificateDir string
}

func newOptions() *options {
	o := &options{
		namespace: os.Getenv("POD_NAMESPACE"), configMap: os.Getenv("ANTREA_CONFIG_MAP_NAME"),
		tokenFile: apis.LoopbackTokenFile, certificateDir: certificateDir,
	}
	if o.namespace == "" {
		o.namespace = defaultNamespace
	}
	if o.configMap == "" {
		o.configMap = defaultConfigMap
	}
	return o
}

func (o *options) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.configFile, "config", o.configFile, "The path to the configuration file")
}

// complete reads the configuration file (without one, all defaults apply), and fails when it asks for something that the
// controller cannot do.
func (o *options) complete() error {
	var text []byte
	if o.configFile != "" {
		var err error
		if text, err = os.ReadFile(o.configFile); err != nil {
			return fmt.Errorf("reading the configuration file: %w", err)
		}
	}
	c, err := controllerconfig.Parse(text)
	if err != nil {
		return fmt.Errorf("configuration file %s: %w", o.configFile, err)
	}
	if err := controllerconfig.UnknownKeys(text); err != nil {
		klog.InfoS("The configuration file has keys that mean nothing to this version", "file", o.configFile, "keys", err.Error())
	}
	gates, err := features.New(c.FeatureGates)
	if err != nil {
		return err
	}
	if err := validate(c); err != nil {
		return fmt.Errorf("configuration file %s: %w", o.configFile, err)
	}
	for _, name := range slices.Sorted(maps.Keys(c.FeatureGates)) {
		if c.FeatureGates[name] && slices.Contains(features.ControllerGates(), featuregate.Feature(name)) {
			klog.InfoS("Feature gate is on but has no effect on the controller in this version", "featureGate", name)
		}
	}
	o.config, o.gates = c, gates
	return nil
}

// validate returns all that is wrong with the configuration.
func validate(c *controllerconfig.ControllerConfig) error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.APIPort < 1 || c.APIPort > 65535 {
		fail("apiPort: %d is not a port; allowed: 1 to 65535", c.APIPort)
	}
	if _, err := cliflag.TLSCipherSuites(splitList(c.TLSCipherSuites)); err != nil {
		fail("tlsCipherSuites: %w", err)
	}
	if _, err := cliflag.TLSVersion(c.TLSMinVersion); err != nil {
		fail("tlsMinVersion: %w", err)
	}
	for name, on := range map[string]bool{
		"nodeIPAM.enableNodeIPAM":                   c.NodeIPAM.EnableNodeIPAM,
		"clientCAFile":                              c.ClientCAFile != "",
		"multicluster.enableStretchedNetworkPolicy": c.Multicluster.EnableStretchedNetworkPolicy,
	} {
		if on {
			fail("%s: not supported by this version; leave it out", name)
		}
	}
	return errors.Join(errs...)
}

// splitList splits a comma-separated list; the empty text is an empty list.
func splitList(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}
