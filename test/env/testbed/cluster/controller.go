// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

const (
	controllerConfigPath = "/etc/antrea/antrea-controller.conf"
	controllerLog        = "antrea/antrea-controller.log" // below /var/log
	controllerGrace      = 30 * time.Second
	controllerService    = "antrea"
	controllerPort       = 10349
)

// ControllerAddress is the host that antrea-controller runs on.
var ControllerAddress = netip.MustParseAddr("192.168.77.2")

// controller is antrea-controller on a host of its own, which is not a Node. Agents find it by the Service that Antrea's manifest
// creates. The Kubernetes API cannot reach it, so there are no APIServices.
type controller struct {
	space   *Space
	process *Process
	logDir  string
	binDir  string
}

func newController(c *Cluster, env []string, kubeconfig []byte) (_ *controller, err error) {
	ctl := &controller{logDir: filepath.Join(c.o.LogDir, "controller"), binDir: c.o.BinDir}
	if err := os.MkdirAll(ctl.logDir, 0o755); err != nil {
		return nil, err
	}
	thread, err := newNamespaces(unix.CLONE_NEWNET|unix.CLONE_NEWNS, func() error { return nodeMounts(ctl.logDir) })
	if err != nil {
		return nil, fmt.Errorf("controller: %w", err)
	}
	ctl.space = newSpace("controller", thread, nil, append(env[:len(env):len(env)],
		"POD_NAME=antrea-controller-0", "POD_NAMESPACE="+agentPodNamespace, "KUBECONFIG="+agentKubeconfig))
	defer func() {
		if err != nil {
			thread.Close()
		}
	}()
	ns, err := ctl.space.netnsFile()
	if err != nil {
		return nil, err
	}
	defer ns.Close()
	if err := plugNode(c.Fabric, ctl.space.Name, int(ns.Fd())); err != nil {
		return nil, err
	}
	config, err := controllerConfig(c.o.FeatureGates)
	if err != nil {
		return nil, err
	}
	err = ctl.space.Do(func() error {
		if err := configureHost([]netip.Addr{ControllerAddress}, FabricGateway); err != nil {
			return err
		}
		return errors.Join(writeFile(agentKubeconfig, kubeconfig, 0o600), writeFile(controllerConfigPath, config, 0o644))
	})
	if err != nil {
		return nil, fmt.Errorf("controller: %w", err)
	}
	return ctl, nil
}

func controllerConfig(gates map[string]bool) ([]byte, error) {
	return yaml.Marshal(map[string]any{"clientConnection": map[string]any{"kubeconfig": agentKubeconfig}, "featureGates": gates})
}

// registerController creates the controller's Service and, as no controller of the control plane does it, its EndpointSlice.
func (c *Cluster) registerController(ctx context.Context) error {
	_, err := c.Client.CoreV1().Services(agentPodNamespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: controllerService, Labels: map[string]string{"app": "antrea"}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443, TargetPort: intstr.FromString("api")}}},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating Service %s: %w", controllerService, err)
	}
	port, ready, name := int32(controllerPort), true, ""
	_, err = c.Client.DiscoveryV1().EndpointSlices(agentPodNamespace).Create(ctx, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: controllerService, Labels: map[string]string{discoveryv1.LabelServiceName: controllerService}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{ControllerAddress.String()}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating EndpointSlice %s: %w", controllerService, err)
	}
	return nil
}

// Controller is the host that antrea-controller runs on, for antctl in controller mode and the like; nil without a controller.
func (c *Cluster) Controller() *Space {
	if c.controller == nil {
		return nil
	}
	return c.controller.space
}

// StartController starts antrea-controller and does not wait for it. Every start appends to its log,
// <LogDir>/controller/antrea/antrea-controller.log.
func (c *Cluster) StartController() error {
	ctl := c.controller
	if ctl == nil {
		return errors.New("the cluster was made without a controller")
	}
	if ctl.process != nil && running(ctl.process) == nil {
		return errors.New("the controller is already running")
	}
	path := c.ControllerLog()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	ctl.process, err = ctl.space.start(invocation{
		args: []string{filepath.Join(ctl.binDir, "antrea-controller"), "--config=" + controllerConfigPath}, log: log, container: controllerContainer,
	})
	return err
}

// ControllerLog is the path of the controller's log, in this process's file system.
func (c *Cluster) ControllerLog() string { return filepath.Join(c.controller.logDir, controllerLog) }

// StopController ends the controller with SIGTERM. A cluster without a running controller is not an error.
func (c *Cluster) StopController() error {
	if c.controller == nil || c.controller.process == nil {
		return nil
	}
	return c.controller.process.Stop(controllerGrace)
}

// KillController ends the controller with SIGKILL.
func (c *Cluster) KillController() {
	if c.controller != nil && c.controller.process != nil {
		c.controller.process.Kill()
	}
}

// WaitControllerReady waits until the controller has computed all policies. It fails at once when the controller has ended.
func (c *Cluster) WaitControllerReady(ctx context.Context) error {
	ctl := c.controller
	if ctl == nil || ctl.process == nil {
		return errors.New("no controller was started")
	}
	client, end := ctl.space.httpClient()
	defer end()
	client.Timeout = 10 * time.Second
	url := fmt.Sprintf("https://%s:%d/readyz", ControllerAddress, controllerPort)
	err := Eventually(ctx, "waiting for the controller", func() error {
		if err := running(ctl.process); err != nil {
			return err
		}
		_, err := get(ctx, client, url, "")
		return err
	})
	if err != nil {
		return fmt.Errorf("%w; the end of %s:\n%s", err, c.ControllerLog(), tail(c.ControllerLog(), 15))
	}
	return nil
}

func (c *controller) close() error {
	var err error
	if c.process != nil {
		err = c.process.Stop(controllerGrace)
	}
	c.space.stopAll()
	c.space.thread.Close()
	return err
}
