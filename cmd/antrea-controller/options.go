// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"os"

	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/apis"
	"github.com/antrea-oncache/antrea/pkg/config"
	controllerconfig "github.com/antrea-oncache/antrea/pkg/config/controller"
	"github.com/antrea-oncache/antrea/pkg/features"
)

const (
	defaultConfigMap = "antrea-config"
	// certificateDir has the certificate that a user provides.
	certificateDir = "/var/run/antrea/antrea-controller-tls"
)

// options are the settings of the environment, the configuration file and the command line, checked and complete.
type options struct {
	flags  config.Flags
	config *controllerconfig.ControllerConfig
	gates  featuregate.FeatureGate
	// configFile is empty when all defaults apply.
	configFile string
	// flagGates are the feature gates of the command line.
	flagGates map[string]bool
	// namespace is the controller's own; configMap has the configuration of agents and controller.
	namespace, configMap string
	// tokenFile receives the loopback token of the API server.
	tokenFile      string
	certificateDir string
}

func newOptions() *options {
	return &options{
		namespace: cmp.Or(os.Getenv("POD_NAMESPACE"), apis.DefaultNamespace),
		configMap: cmp.Or(os.Getenv("ANTREA_CONFIG_MAP_NAME"), defaultConfigMap),
		tokenFile: apis.LoopbackTokenFile, certificateDir: certificateDir,
	}
}

// complete reads the configuration file (without one, all defaults apply) and applies the flags, which win. It fails if they
// request something that the controller cannot do.
func (o *options) complete(configFile string) error {
	text, err := config.Read(configFile)
	if err != nil {
		return err
	}
	c, err := controllerconfig.Parse(text)
	if err != nil {
		return fmt.Errorf("configuration file %s: %w", configFile, err)
	}
	if err := controllerconfig.UnknownKeys(text); err != nil {
		klog.InfoS("The configuration file has keys that this version does not know", "file", configFile, "keys", err.Error())
	}
	if err := c.Override(&o.flags); err != nil {
		return err
	}
	if o.flagGates, err = o.flags.FeatureGates(); err != nil {
		return err
	}
	gates, err := features.New(c.FeatureGates)
	if err != nil {
		return fmt.Errorf("%s: %w", o.flags.Sources(configFile), err)
	}
	if err := c.Validate(gates); err != nil {
		return fmt.Errorf("%s: %w", o.flags.Sources(configFile), err)
	}
	for _, name := range features.ControllerGatesWithoutEffect(c.FeatureGates) {
		klog.InfoS("Feature gate is on but has no effect on the controller in this version", "featureGate", name)
	}
	for _, key := range c.WithoutEffect(gates) {
		klog.InfoS("Setting has no effect", "key", key)
	}
	o.config, o.gates, o.configFile = c, gates, configFile
	return nil
}
